// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_parts.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>

#include "explorer/interventions/edit_list.h"
#include "explorer/interventions/parts_figure.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

constexpr double kLargestPartScale = 100.0;
constexpr double kPartScaleStep = 0.25;
constexpr int kButtonPadding = 8;  // both sides of the text

}  // namespace

InterventionParts::InterventionParts(PartEdits& edits)
    : edits_(edits),
      map_(new FigurePane(u"attention, MLPs and heads of the decoder"_s)),
      part_(new QComboBox),
      scale_(new QDoubleSpinBox),
      skip_(new QPushButton(u"S&kip"_s)),
      patch_(new QPushButton(u"&Patch"_s)),
      restore_(new QPushButton(u"R&estore"_s)),
      list_(new EditList(edits, u"edits of parts"_s)) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(map_, 1);
  column->addWidget(makeControls());
  column->addWidget(list_);
  map_->plot().setDescriber([this](const FigureHit& hit) {
    const std::optional<PartEdit> part = partAtHit(hit);
    return part ? describe(*part) : QString();
  });
  connect(&map_->plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (const auto part = partAtHit(hit)) Q_EMIT selectionRequested(*part);
  });
  connect(&edits_, &PartEdits::modelReset, this, &InterventionParts::draw);
  connect(&edits_, &PartEdits::scaleEntered, this, &InterventionParts::editRequested);
  connect(list_, &EditList::removalRequested, this, &InterventionParts::removeEdits);
}

QWidget* InterventionParts::makeControls() {
  part_->setAccessibleName(u"edited part"_s);
  part_->setToolTip(u"Part of the selected layer that is skipped or scaled"_s);
  scale_->setRange(-kLargestPartScale, kLargestPartScale);
  scale_->setSingleStep(kPartScaleStep);
  scale_->setDecimals(3);
  scale_->setKeyboardTracking(false);
  scale_->setPrefix(u"× "_s);
  scale_->setAccessibleName(u"scale of the part"_s);
  scale_->setToolTip(u"Factor of what the part adds to the residual stream: 0 skips it"_s);
  skip_->setToolTip(u"Without this part (0 or Delete on the map)"_s);
  patch_->setToolTip(
      u"Take its output from the second text, at the same positions (P on the map)"_s);
  restore_->setToolTip(u"Remove the edit of this part (1 on the map)"_s);
  auto* const controls = new QWidget;
  auto* const rows = new QVBoxLayout(controls);
  rows->setContentsMargins(12, 8, 12, 8);
  auto* const what = new QHBoxLayout;
  what->addWidget(part_, 1);
  what->addWidget(scale_);
  rows->addLayout(what);
  auto* const bar = new QHBoxLayout;
  rows->addLayout(bar);
  // The style's width of a button is too much for three of them in a small window.
  for (QPushButton* const button : {skip_, patch_, restore_}) {
    button->setMinimumWidth(button->fontMetrics().horizontalAdvance(button->text()) +
                            kButtonPadding);
  }
  bar->addWidget(skip_);
  bar->addWidget(patch_);
  bar->addWidget(restore_);
  bar->addStretch();
  connect(part_, &QComboBox::activated, this, [this](int index) {
    PartEdit part = selected_;
    part.part = static_cast<DecoderPart>(part_->itemData(index).toInt());
    if (part.part != DecoderPart::kHead) part.head = 0;
    Q_EMIT selectionRequested(part);
  });
  connect(scale_, &QDoubleSpinBox::valueChanged, this, &InterventionParts::requestScale);
  connect(skip_, &QPushButton::clicked, this, [this] { requestScale(0.0); });
  connect(patch_, &QPushButton::clicked, this, &InterventionParts::requestPatch);
  connect(restore_, &QPushButton::clicked, this, [this] { requestScale(1.0); });
  return controls;
}

void InterventionParts::show(const Subject& subject, const QString& message,
                             const Preferences& preferences) {
  subject_ = subject;
  layer_base_ = preferences.layer_base;
  map_->plot().setFigureStyle(screenStyle(*this, preferences));
  edits_.setLayerBase(layer_base_);
  for (QWidget* const widget :
       {static_cast<QWidget*>(part_), static_cast<QWidget*>(scale_), static_cast<QWidget*>(skip_),
        static_cast<QWidget*>(patch_), static_cast<QWidget*>(restore_)}) {
    widget->setEnabled(subject_.num_layers > 0);
  }
  if (subject_.num_layers == 0) {
    map_->show(std::nullopt, message);
    return;
  }
  draw();
}

void InterventionParts::select(const PartEdit& part) {
  selected_ = part;
  if (subject_.num_layers == 0) return;
  selected_.layer = std::clamp(part.layer, 0, subject_.num_layers - 1);
  selected_.head = std::clamp(part.head, 0, subject_.num_heads - 1);
  showSelected();
}

void InterventionParts::draw() {
  if (subject_.num_layers == 0) return;
  const bool is_measured = subject_.sublayers != nullptr || subject_.heads != nullptr;
  map_->show(partsFigure(edits_.edits(), subject_.num_layers, subject_.num_heads,
                         subject_.sublayers.get(), subject_.heads.get(), layer_base_),
             {}, is_measured ? u"Loss without each part"_s : u"Parts of the decoder"_s,
             u"Click a part to select it; crossed out: skipped, with a mark: scaled or patched. "
             u"The loss without each part is "
             u"measured by Run with 'loss without attention or MLP' or 'loss without each head'"_s);
  select(selected_);
}

void InterventionParts::showSelected() {
  part_->clear();
  for (const DecoderPart part :
       {DecoderPart::kAttention, DecoderPart::kMlp, DecoderPart::kLayer, DecoderPart::kHead}) {
    PartEdit named = selected_;
    named.part = part;
    part_->addItem(partText(named, layer_base_), static_cast<int>(part));
  }
  selectData(*part_, static_cast<int>(selected_.part));
  const PartEdit* const edit = edits_.find(selected_);
  const QSignalBlocker quiet(scale_);
  scale_->setValue(edit == nullptr ? 1.0 : edit->scale);
  skip_->setEnabled(edit == nullptr || edit->scale != 0.0);
  patch_->setEnabled(edit == nullptr || !edit->is_patched);
  restore_->setEnabled(edit != nullptr);
  const bool is_layer = selected_.part == DecoderPart::kLayer;
  map_->plot().setMarks(
      {{0, QRectF(columnOf(selected_) - 0.5, selected_.layer - 0.5, is_layer ? 2.0 : 1.0, 1.0),
        true}});
}

void InterventionParts::requestScale(double scale) {
  PartEdit edit = selected_;
  edit.scale = scale;
  request(edit);
}

void InterventionParts::requestPatch() {
  PartEdit edit = selected_;
  edit.is_patched = true;
  request(edit);
}

void InterventionParts::request(const PartEdit& edit) {
  const PartEdit* const now = edits_.find(edit);
  if (subject_.num_layers == 0 || (now == nullptr ? selected_ : *now) == edit) return;
  Q_EMIT editRequested(edit);
}

std::optional<PartEdit> InterventionParts::partAtHit(const FigureHit& hit) const {
  if (!hit.cell || subject_.num_layers == 0) return std::nullopt;
  return partAt(hit.cell->row, hit.cell->col);
}

QString InterventionParts::describe(const PartEdit& part) const {
  for (const Results* const sweep : {subject_.sublayers.get(), subject_.heads.get()}) {
    if (sweep == nullptr) continue;
    if (const ResultRow* const row = sweptPart(*sweep, part)) {
      return describePart(*row, part, layer_base_);
    }
  }
  const PartEdit* const edit = edits_.find(part);
  if (edit != nullptr && edit->is_patched) {
    return u"%1: patched from the second text"_s.arg(partText(part, layer_base_));
  }
  const double scale = edits_.scaleOf(part);
  return scale == 0.0 ? u"%1: skipped"_s.arg(partText(part, layer_base_))
                      : u"%1: scale %2"_s.arg(partText(part, layer_base_)).arg(scale);
}

void InterventionParts::walk(int layers, int columns) {
  const int layer = std::clamp(selected_.layer + layers, 0, subject_.num_layers - 1);
  const int column = std::clamp(
      columnOf(selected_) + columns, 0,
      columnOf({.part = DecoderPart::kHead, .layer = 0, .head = subject_.num_heads - 1}));
  const PartEdit part = partAt(layer, column);
  Q_EMIT selectionRequested(part);
  Q_EMIT status(describe(part));
}

void InterventionParts::keyPressEvent(QKeyEvent* event) {
  const bool is_plain = !(event->modifiers() & (Qt::ControlModifier | Qt::AltModifier));
  if (subject_.num_layers == 0 || !map_->plot().hasFocus() || !is_plain) {
    return QWidget::keyPressEvent(event);
  }
  const QPointF direction = arrowDirection(*event);
  // Layers ascend to the top.
  if (!direction.isNull()) {
    return walk(-static_cast<int>(direction.y()), static_cast<int>(direction.x()));
  }
  switch (event->key()) {
    case Qt::Key_0:
    case Qt::Key_Delete: return requestScale(0.0);
    case Qt::Key_1:
    case Qt::Key_Backspace: return requestScale(1.0);
    case Qt::Key_2: return requestScale(2.0);
    case Qt::Key_P: return requestPatch();
    case Qt::Key_BracketLeft: return requestScale(edits_.scaleOf(selected_) - kPartScaleStep);
    case Qt::Key_BracketRight: return requestScale(edits_.scaleOf(selected_) + kPartScaleStep);
    default: QWidget::keyPressEvent(event);
  }
}

void InterventionParts::removeEdits(const std::vector<int>& rows) {
  std::vector<PartEdit> gone;
  for (const int row : rows) gone.push_back(edits_.at(row));
  for (PartEdit& edit : gone) {
    edit.scale = 1.0;
    edit.is_patched = false;
    Q_EMIT editRequested(edit);
  }
}

}  // namespace lime::explorer
