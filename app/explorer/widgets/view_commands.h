// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QPointer>
#include <QString>
#include <QUndoCommand>
#include <functional>
#include <vector>

#include "explorer/widgets/view.h"

namespace lime::explorer {

/// A step of undo of a view. Steps of equal text that follow each other within a second are one.
class ViewCommand : public QUndoCommand {
 public:
  ViewCommand(View& view, const QString& text);

  void undo() final;
  void redo() final;  ///< the first call, by QUndoStack::push(), does nothing: the change is made
  bool mergeWith(const QUndoCommand* other) final;

 protected:
  virtual void restore() = 0;
  virtual void repeat() = 0;
  /// Takes over the result of `next`, of the same class. @return false  if that is not possible
  virtual bool merge(const ViewCommand& next) = 0;
  View& view() { return *view_; }

 private:
  QPointer<View> view_;
  QElapsedTimer since_;
  bool is_done_ = false;
};

/// Changes the state of a view, and the selection. Keeps only the differences between states.
class StateCommand : public ViewCommand {
 public:
  StateCommand(View& view, Workspace& workspace, ViewState before, ViewState after,
               const QString& text);
  int id() const override { return 1; }

 protected:
  void restore() override { apply(before_); }
  void repeat() override { apply(after_); }
  bool merge(const ViewCommand& next) override;

 private:
  void apply(const ViewState& state);

  Workspace& workspace_;
  ViewState before_;
  ViewState after_;
};

/// Changes parts of a view that have no state: plots that were zoomed.
class PartsCommand : public ViewCommand {
 public:
  struct Part {
    QString name;
    std::function<void()> undo;
    std::function<void()> redo;
  };

  PartsCommand(View& view, const QString& text, Part part);
  int id() const override { return 2; }

 protected:
  void restore() override;
  void repeat() override;
  bool merge(const ViewCommand& next) override;

 private:
  std::vector<Part> parts_;
};

}  // namespace lime::explorer
