// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/view_commands.h"

#include <algorithm>
#include <utility>

#include "explorer/models/workspace.h"

namespace lime::explorer {
namespace {

constexpr qint64 kOneStepMs = 1000;

/// Removes what both states share: a step need not keep a long text twice.
void keepDifferences(Json& a, Json& b) {
  for (auto part = a.begin(); part != a.end();) {
    const auto other = b.find(part.key());
    if (other == b.end() || *other != *part) {
      ++part;
    } else {
      b.erase(other);
      part = a.erase(part);
    }
  }
}

}  // namespace

ViewCommand::ViewCommand(View& view, const QString& text) : QUndoCommand(text), view_(&view) {
  since_.start();
}

void ViewCommand::undo() {
  if (!view_) return;
  restore();
  Q_EMIT view_->stateRestored();
}

void ViewCommand::redo() {
  if (!std::exchange(is_done_, true) || !view_) return;
  repeat();
  Q_EMIT view_->stateRestored();
}

bool ViewCommand::mergeWith(const QUndoCommand* other) {
  const auto& next = static_cast<const ViewCommand&>(*other);
  if (next.view_ != view_ || next.text() != text() || since_.elapsed() > kOneStepMs) return false;
  if (!merge(next)) return false;
  since_.restart();
  return true;
}

StateCommand::StateCommand(View& view, Workspace& workspace, ViewState before, ViewState after,
                           const QString& text)
    : ViewCommand(view, text),
      workspace_(workspace),
      before_(std::move(before)),
      after_(std::move(after)) {
  if (before_.state == after_.state) {
    before_.state = after_.state = nullptr;
  } else {
    keepDifferences(before_.state, after_.state);
  }
}

void StateCommand::apply(const ViewState& state) {
  // A step that selected nothing leaves alone what was selected since by other views.
  if (before_.selection != after_.selection) workspace_.setSelection(state.selection);
  if (state.state.is_null()) return;
  Json whole = view().state();
  whole.update(state.state);
  view().setState(whole);
}

bool StateCommand::merge(const ViewCommand& other) {
  const auto& next = static_cast<const StateCommand&>(other);
  if (next.before_.state.is_null() != before_.state.is_null()) return false;
  for (const auto& [name, value] : next.before_.state.items()) {
    if (!before_.state.contains(name)) before_.state[name] = value;
  }
  if (!after_.state.is_null()) after_.state.update(next.after_.state);
  after_.selection = next.after_.selection;
  keepDifferences(before_.state, after_.state);
  setObsolete(before_ == after_);
  return true;
}

PartsCommand::PartsCommand(View& view, const QString& text, Part part) : ViewCommand(view, text) {
  parts_.push_back(std::move(part));
}

void PartsCommand::restore() {
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) part->undo();
}

void PartsCommand::repeat() {
  for (const Part& part : parts_) part.redo();
}

bool PartsCommand::merge(const ViewCommand& other) {
  for (const Part& part : static_cast<const PartsCommand&>(other).parts_) {
    const auto own = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const Part& one) { return one.name == part.name; });
    if (own == parts_.end()) {
      parts_.push_back(part);
    } else {
      own->redo = part.redo;
    }
  }
  return true;
}

}  // namespace lime::explorer
