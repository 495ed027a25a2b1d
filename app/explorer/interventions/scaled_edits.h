// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QModelIndex>
#include <QString>
#include <QVariant>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "explorer/models/table_model.h"

namespace lime::explorer {

/// Lists the edits of a checkpoint, one per thing that is edited; each has a scale that can be
/// typed. Keeps those of other checkpoints, also of closed ones.
/// @tparam Edit  has `scale`, names_same_as() and changes_nothing()
template <typename Edit> class ScaledEdits : public TableModel<Edit> {
 public:
  /// The edits of each checkpoint, by its path.
  using ByCheckpoint = std::map<std::string, std::vector<Edit>>;

  const std::vector<Edit>& edits() const { return this->rows(); }
  void setEdits(std::vector<Edit> edits) {
    if (edits != this->rows()) this->setRows(std::move(edits));
  }
  /// Lists the edits of another checkpoint. @param path  empty: of none
  void setCheckpoint(const std::string& path) {
    if (path == checkpoint_) return;
    ByCheckpoint all = this->all();
    checkpoint_ = path;
    setAll(std::move(all));
  }
  const std::string& checkpoint() const { return checkpoint_; }
  /// Returns and sets the edits of all checkpoints that have any.
  ByCheckpoint all() const {
    ByCheckpoint all = others_;
    if (!edits().empty()) all[checkpoint_] = edits();
    return all;
  }
  void setAll(ByCheckpoint all) {
    auto own = all.extract(checkpoint_);
    others_ = std::move(all);
    setEdits(own.empty() ? std::vector<Edit>() : std::move(own.mapped()));
  }

  /// Returns the edit of exactly what `edit` names; null without one.
  const Edit* find(const Edit& edit) const {
    const auto found =
        std::ranges::find_if(edits(), [&](const Edit& other) { return other.names_same_as(edit); });
    return found == edits().end() ? nullptr : &*found;
  }
  /// Returns the scale of exactly what `edit` names; 1 without an edit.
  double scaleOf(const Edit& edit) const {
    const Edit* const found = find(edit);
    return found == nullptr ? 1.0 : found->scale;
  }
  /// Returns `edits` with `edit` in place of the one that names the same; without it, if it changes
  /// nothing.
  static std::vector<Edit> with(std::vector<Edit> edits, const Edit& edit) {
    const auto found =
        std::ranges::find_if(edits, [&](const Edit& other) { return other.names_same_as(edit); });
    if (found == edits.end()) {
      if (!edit.changes_nothing()) edits.push_back(edit);
    } else if (edit.changes_nothing()) {
      edits.erase(found);
    } else {
      *found = edit;
    }
    return edits;
  }

  Qt::ItemFlags flags(const QModelIndex& index) const override {
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.isValid() && index.column() == kScaleColumn) flags |= Qt::ItemIsEditable;
    return flags;
  }
  bool setData(const QModelIndex& index, const QVariant& value, int role) override {
    if (role != Qt::EditRole || !index.isValid() || index.column() != kScaleColumn) return false;
    bool is_number = false;
    const double scale = value.toDouble(&is_number);
    if (!is_number || !std::isfinite(scale)) return false;
    Edit edit = this->at(index.row());
    edit.scale = scale;
    enter(edit);
    return true;
  }

 protected:
  static constexpr int kScaleColumn = 1;

  /// Returns the first two columns: what is edited, and its scale.
  static std::vector<TableColumn<Edit>> firstColumns(std::function<QString(const Edit&)> name,
                                                     std::function<QString(const Edit&)> scale,
                                                     const QString& help) {
    return {{.title = u"Edit"_s,
             .text = name,
             .tool_tip = name,
             .further =
                 [name](const Edit& edit, int role) {
                   return role == Qt::EditRole ? QVariant(name(edit)) : QVariant();
                 }},
            {.title = u"Scale"_s,
             .text = scale,
             .is_number = true,
             .help = help,
             .further = [](const Edit& edit, int role) {
               return role == Qt::EditRole ? QVariant(edit.scale) : QVariant();
             }}};
  }
  /// Called with an edit whose scale was typed into the table.
  virtual void enter(const Edit& edit) = 0;

 private:
  std::string checkpoint_;
  ByCheckpoint others_;
};

/// "× 0.5".
inline QString scaleText(double scale) { return u"× %1"_s.arg(scale, 0, 'g', 4); }

}  // namespace lime::explorer
