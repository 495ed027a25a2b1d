// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/bar_layout.h"

#include <QLabel>
#include <QWidget>
#include <algorithm>
#include <optional>
#include <utility>

namespace lime::explorer {
namespace {

constexpr int kLineSpacing = 6;
/// A box with long names gets no more before the others have room.
constexpr int kPreferredWidth = 200;

int leastWidth(const QLayoutItem& item) { return item.minimumSize().width(); }

int preferredWidth(const QLayoutItem& item) {
  return std::max(leastWidth(item), std::min(item.sizeHint().width(), kPreferredWidth));
}

bool expands(const QLayoutItem& item) {
  return item.expandingDirections().testFlag(Qt::Horizontal);
}

/// Returns the width up to which an item uses more room.
int mostWidth(const QLayoutItem& item) {
  return expands(item) ? item.maximumSize().width()
                       : std::max(leastWidth(item), item.sizeHint().width());
}

bool isLabel(const QLayoutItem& item) {
  const auto* const label = qobject_cast<const QLabel*>(item.widget());
  return label != nullptr && label->buddy() != nullptr;
}

}  // namespace

BarLayout::BarLayout(QWidget& bar) : QLayout(&bar) {}

BarLayout::~BarLayout() = default;

void BarLayout::addStretch() { addItem(new QSpacerItem(0, 0, QSizePolicy::Expanding)); }

void BarLayout::addItem(QLayoutItem* item) {
  items_.emplace_back(item);
  invalidate();
}

QLayoutItem* BarLayout::itemAt(int index) const {
  return index >= 0 && index < count() ? items_[static_cast<std::size_t>(index)].get() : nullptr;
}

QLayoutItem* BarLayout::takeAt(int index) {
  if (itemAt(index) == nullptr) return nullptr;
  QLayoutItem* const item = items_[static_cast<std::size_t>(index)].release();
  items_.erase(items_.begin() + index);
  invalidate();
  return item;
}

std::vector<BarLayout::Group> BarLayout::groups() const {
  std::vector<Group> groups;
  bool is_after_stretch = false;
  bool continues = false;
  for (const std::unique_ptr<QLayoutItem>& item : items_) {
    if (item->spacerItem() != nullptr) is_after_stretch = true;
    if (item->isEmpty()) continue;  // also a stretch
    if (!continues) groups.emplace_back();
    Group& group = groups.back();
    if (continues) {
      group.width += spacing();
      group.least += spacing();
    } else {
      group.is_after_stretch = std::exchange(is_after_stretch, false);
    }
    group.items.push_back(item.get());
    group.width += preferredWidth(*item);
    group.least += leastWidth(*item);
    continues = isLabel(*item);
  }
  return groups;
}

std::vector<BarLayout::Line> BarLayout::lines(int width) const {
  std::vector<Line> lines;
  for (Group& group : groups()) {
    int added = group.width + (lines.empty() || lines.back().groups.empty() ? 0 : spacing());
    if (lines.empty() || lines.back().width + added > width) {
      lines.emplace_back();
      added = group.width;
    }
    Line& line = lines.back();
    line.width += added;
    for (const QLayoutItem* const item : group.items) {
      line.height = std::max(line.height, item->sizeHint().height());
    }
    line.groups.push_back(std::move(group));
  }
  return lines;
}

void BarLayout::place(const Line& line, const QRect& rect, int top) const {
  std::vector<QLayoutItem*> items;
  std::vector<int> widths;
  int rest = rect.width() - line.width;
  std::optional<std::size_t> num_left;  // items before the stretch
  for (const Group& group : line.groups) {
    if (group.is_after_stretch && !items.empty() && !num_left) num_left = items.size();
    for (QLayoutItem* const item : group.items) {
      items.push_back(item);
      widths.push_back(preferredWidth(*item));
    }
  }
  for (const bool grows : {false, true}) {  // long names first, then what has no width of its own
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (expands(*items[i]) != grows) continue;
      const int most = std::max(widths[i], mostWidth(*items[i]));
      const int added = std::clamp(rest, leastWidth(*items[i]) - widths[i], most - widths[i]);
      widths[i] += added;
      rest -= added;
    }
  }
  int x = rect.left();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (num_left == i && rest > 0) x += rest;
    const int height = std::min(line.height, items[i]->sizeHint().height());
    items[i]->setGeometry(QRect(x, top + (line.height - height) / 2, widths[i], height));
    x += widths[i] + spacing();
  }
}

int BarLayout::heightForWidth(int width) const {
  const QMargins margins = contentsMargins();
  int height = 0;
  for (const Line& line : lines(width - margins.left() - margins.right())) {
    height += line.height + (height > 0 ? kLineSpacing : 0);
  }
  return height + margins.top() + margins.bottom();
}

QSize BarLayout::sizeHint() const {
  const QMargins margins = contentsMargins();
  QSize size(margins.left() + margins.right(), 0);
  for (const Line& line : lines(QLAYOUTSIZE_MAX)) {
    size += QSize(line.width, line.height);
  }
  return {size.width(), size.height() + margins.top() + margins.bottom()};
}

QSize BarLayout::minimumSize() const {
  const QMargins margins = contentsMargins();
  QSize size;
  for (const Group& group : groups()) {
    for (const QLayoutItem* const item : group.items) {
      size = size.expandedTo({group.least, item->sizeHint().height()});
    }
  }
  return size.grownBy(margins);
}

void BarLayout::setGeometry(const QRect& rect) {
  QLayout::setGeometry(rect);
  const QRect inner = rect.marginsRemoved(contentsMargins());
  int top = inner.top();
  for (const Line& line : lines(inner.width())) {
    place(line, inner, top);
    top += line.height + kLineSpacing;
  }
}

}  // namespace lime::explorer
