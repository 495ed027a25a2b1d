// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/panel_ranges.h"

#include "explorer/models/workspace.h"

namespace lime::explorer {
namespace {

constexpr double kNearest = 1e-4;  // the part of an axis that is still shown

/// Returns `wanted` moved and cut so that it stays within `all`.
AxisWindow within(const AxisWindow& axis_window, const AxisWindow& all) {
  const double whole = all.high - all.low;
  if (axis_window.high - axis_window.low >= whole)
    return all;  // exact, where rounding would differ
  const double size = std::clamp(axis_window.high - axis_window.low, kNearest * whole, whole);
  const double middle = 0.5 * (axis_window.low + axis_window.high);
  const double low = std::clamp(middle - 0.5 * size, all.low, all.high - size);
  return {low, low + size};
}

AxisWindow windowOf(const PanelRange& range, Qt::Orientation axis) {
  return axis == Qt::Horizontal ? AxisWindow{range.x_low, range.x_high}
                                : AxisWindow{range.y_low, range.y_high};
}

void setWindow(PanelRange& range, Qt::Orientation axis, const AxisWindow& window) {
  (axis == Qt::Horizontal ? range.x_low : range.y_low) = window.low;
  (axis == Qt::Horizontal ? range.x_high : range.y_high) = window.high;
}

AxisWindow ordered(double a, double b) { return {std::min(a, b), std::max(a, b)}; }

}  // namespace

void PanelRanges::setNumPanels(std::size_t count) {
  if (count != zoom_.size()) zoom_.assign(count, std::nullopt);
}

void PanelRanges::setScene(FigureScene* scene) {
  scene_ = scene;
  if (scene == nullptr) return;
  all_.clear();
  for (std::size_t p = 0; p < zoom_.size(); ++p) {
    all_.push_back(hasAxes(p) ? scene_->range(p) : PanelRange{});
    keepWithin(p);
    apply(p);
  }
  for (const AxisLink& link : links_) onLinkChanged(link.quantity);
}

void PanelRanges::keepWithin(std::size_t panel) {
  if (!zoom_[panel]) return;
  for (const auto axis : {Qt::Horizontal, Qt::Vertical}) {
    setWindow(*zoom_[panel], axis,
              within(windowOf(*zoom_[panel], axis), windowOf(all_[panel], axis)));
  }
  if (*zoom_[panel] == all_[panel]) zoom_[panel].reset();
}

void PanelRanges::apply(std::size_t panel) {
  if (hasAxes(panel)) scene_->set_range(panel, at(panel));
  Q_EMIT changed();
}

void PanelRanges::set(std::size_t panel, PanelRange range) {
  zoom_[panel] = range;
  keepWithin(panel);
  apply(panel);
  notifyLinks(panel);
}

void PanelRanges::zoomAbout(const FigureHit& hit, const PanelRange& range, double factor,
                            Qt::KeyboardModifiers modifiers) {
  PanelRange zoomed = range;
  const auto scale = [&](Qt::Orientation axis, double fixed) {
    const AxisWindow window = windowOf(zoomed, axis);
    setWindow(zoomed, axis,
              {fixed - (fixed - window.low) / factor, fixed + (window.high - fixed) / factor});
  };
  if (!modifiers.testFlag(Qt::ShiftModifier)) scale(Qt::Horizontal, hit.x);
  if (!modifiers.testFlag(Qt::ControlModifier)) scale(Qt::Vertical, hit.y);
  set(hit.panel, zoomed);
}

void PanelRanges::showAll() {
  for (std::size_t p = 0; p < zoom_.size(); ++p) {
    if (hasAxes(p)) set(p, all_[p]);
  }
}

bool PanelRanges::isZoomed() const {
  return std::any_of(zoom_.begin(), zoom_.end(), [](const auto& zoom) { return zoom.has_value(); });
}

FigureWindows PanelRanges::windows() const {
  FigureWindows windows{zoom_, {}};
  for (const AxisLink& link : links_) {
    windows.linked.emplace_back(link.quantity, workspace_->window(link.quantity));
  }
  return windows;
}

void PanelRanges::setWindows(const FigureWindows& windows) {
  if (windows.panels.size() == zoom_.size()) {
    zoom_ = windows.panels;
    for (std::size_t p = 0; scene_ != nullptr && p < zoom_.size(); ++p) {
      keepWithin(p);  // the figure may be another one now
      apply(p);
    }
  }
  if (workspace_ == nullptr) return;
  for (const auto& [quantity, window] : windows.linked) workspace_->setWindow(quantity, window);
}

void PanelRanges::linkAxes(Workspace& workspace, std::vector<AxisLink> links) {
  if (workspace_ == nullptr) {
    connect(&workspace, &Workspace::windowChanged, this, &PanelRanges::onLinkChanged);
  }
  workspace_ = &workspace;
  links_ = std::move(links);
  for (const AxisLink& link : links_) onLinkChanged(link.quantity);
}

void PanelRanges::notifyLinks(std::size_t panel) {
  if (workspace_ == nullptr || notifying_) return;
  notifying_ = panel;
  for (const AxisLink& link : links_) {
    if (link.panel != panel) continue;
    const AxisWindow shown = windowOf(at(panel), link.axis);
    const auto value = [&](double c) { return link.origin + (link.is_reversed ? -c : c); };
    if (shown == windowOf(all_[panel], link.axis)) {
      workspace_->setWindow(link.quantity, std::nullopt);
    } else {
      workspace_->setWindow(link.quantity, ordered(value(shown.low), value(shown.high)));
    }
  }
  notifying_.reset();
}

void PanelRanges::onLinkChanged(const QString& quantity) {
  if (scene_ == nullptr || workspace_ == nullptr) return;
  for (const AxisLink& link : links_) {
    if (link.quantity != quantity || !hasAxes(link.panel) || notifying_ == link.panel) continue;
    AxisWindow shown = windowOf(all_[link.panel], link.axis);
    if (const std::optional<AxisWindow> window = workspace_->window(quantity)) {
      const auto coord = [&](double v) {
        return link.is_reversed ? link.origin - v : v - link.origin;
      };
      shown = within(ordered(coord(window->low), coord(window->high)), shown);
    }
    PanelRange range = at(link.panel);
    setWindow(range, link.axis, shown);
    zoom_[link.panel] = range == all_[link.panel] ? std::nullopt : std::optional(range);
    apply(link.panel);
  }
}

}  // namespace lime::explorer
