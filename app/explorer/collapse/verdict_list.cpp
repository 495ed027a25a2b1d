// SPDX-License-Identifier: Apache-2.0
#include "explorer/collapse/verdict_list.h"

#include "explorer/models/document.h"

namespace lime::explorer {
namespace {

/// Returns a tool tip that wraps.
QString wrapped(const QString& text) { return u"<p>%1</p>"_s.arg(text.toHtmlEscaped()); }

QString layersText(int first, int last) {
  return first == last ? QString::number(first) : u"%1 to %2"_s.arg(first).arg(last);
}

}  // namespace

VerdictModel::VerdictModel() {
  using One = const VerdictRow&;
  const auto evidence = [](One row) { return wrapped(row.evidence); };
  setTable(
      {{u"Capture"_s, [](One row) { return row.label; }},
       {u"Layers"_s, [](One row) { return row.layers; }},
       {.title = u"Verdict"_s, .text = [](One row) { return row.verdict; }, .tool_tip = evidence}},
      {});
}

VerdictList::VerdictList(const CollapseMeasurements& measurements, const Workspace& workspace)
    : measurements_(measurements),
      workspace_(workspace),
      caption_(makeCaption(u"Why representations look collapsed, per range of layers"_s)),
      table_(makeTable(model_, u"verdicts on ranges of layers"_s)),
      against_random_(new QCheckBox(u"Compare with random &weights"_s)),
      evidence_(new QPlainTextEdit) {
  against_random_->setToolTip(wrapped(
      u"Says what is due to the architecture: captures the same tokens with random weights of the "
      u"same config, as CAPTURE.random-0.h5 beside the capture, and compares the verdicts"_s));
  connect(against_random_, &QCheckBox::clicked, this, &VerdictList::againstRandomChanged);
  table_->setAlternatingRowColors(true);
  evidence_->setAccessibleName(u"evidence of the selected verdict"_s);
  evidence_->setReadOnly(true);
  evidence_->setTabChangesFocus(true);
  evidence_->setFrameShape(QFrame::NoFrame);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (!index.isValid()) return;
            const VerdictRow& row = model_.at(index.row());
            Q_EMIT rangeSelected(row.document, row.first);
          });
  connect(table_, &QTableView::clicked, this, [this](const QModelIndex& index) {
    // The range of the cliff is current before the user has selected one.
    const VerdictRow& row = model_.at(index.row());
    if (!is_selected_) Q_EMIT rangeSelected(row.document, row.first);
  });
  QVBoxLayout* const column = fillWithColumn(*this);
  auto* const head = new QHBoxLayout;
  head->addWidget(caption_, 1);
  head->addWidget(against_random_);
  head->setContentsMargins(0, 0, 8, 0);
  column->addLayout(head);
  column->addWidget(makeSplitter(Qt::Horizontal, {table_, evidence_}, {2300, 2700}), 1);
}

std::vector<VerdictRow> VerdictList::rows(int layer_base) const {
  std::vector<VerdictRow> rows;
  for (const Document* const capture : measurements_.captures()) {
    const Answer<CollapseVerdicts>& answer = measurements_.verdictsOf(*capture);
    if (!answer.result) continue;
    for (const RangeVerdict& range : answer.result->ranges) {
      if (range.label != answer.result->ranges.front().label) continue;  // of random weights
      rows.push_back({.document = capture->id,
                      .label = workspace_.uniqueLabel(*capture),
                      .first = range.first,
                      .last = range.last,
                      .layers = layersText(range.first + layer_base, range.last + layer_base),
                      .verdict = toQString(range.sentence.verdict),
                      .evidence = toQString(range.sentence.evidence)});
    }
  }
  return rows;
}

QString VerdictList::explanation(const QString& evidence) const {
  QStringList parts;
  QStringList caveats;
  for (const Document* const capture : measurements_.captures()) {
    const Answer<CollapseVerdicts>& answer = measurements_.verdictsOf(*capture);
    if (!answer.problem.isEmpty()) {
      parts << u"%1: %2"_s.arg(workspace_.uniqueLabel(*capture), answer.problem);
    }
    if (!answer.result) continue;
    for (const std::string& caveat : answer.result->caveats) {
      const QString line = u"- "_s + toQString(caveat);
      if (!caveats.contains(line)) caveats << line;
    }
  }
  if (measurements_.isMeasuringVerdicts()) parts << u"Measuring ..."_s;
  if (!evidence.isEmpty()) {
    parts << evidence;
  } else if (!caveats.isEmpty()) {
    parts << u"Select a range to see the evidence."_s;
  }
  if (!caveats.isEmpty()) parts << u"What this cannot say:\n"_s + caveats.join(u'\n');
  return parts.join(u"\n\n"_s);
}

void VerdictList::draw(int document, std::optional<int> layer, std::optional<int> cliff,
                       int layer_base) {
  setVisible(!measurements_.captures().empty());
  table_->setColumnHidden(VerdictModel::kCapture, measurements_.captures().size() < 2);
  std::vector<VerdictRow> rows = this->rows(layer_base);
  if (rows != model_.rows()) {
    const QSignalBlocker quiet(table_->selectionModel());
    model_.setRows(std::move(rows));
    for (int column = 0; column < VerdictModel::kVerdict; ++column) {
      table_->resizeColumnToContents(column);
    }
  }
  is_selected_ = layer.has_value();
  showCurrent(document, layer ? layer : cliff);
}

void VerdictList::showCurrent(int document, std::optional<int> layer) {
  QModelIndex model_index;
  for (int row = 0; layer && row < model_.rowCount() && !model_index.isValid(); ++row) {
    const VerdictRow& verdict_row = model_.at(row);
    const bool is_there = verdict_row.document == document && verdict_row.first <= *layer &&
                          *layer <= verdict_row.last;
    if (is_there) model_index = model_.index(row, VerdictModel::kLayers);
  }
  if (model_index.row() != table_->currentIndex().row()) {
    setCurrentQuietly(*table_, model_index);
    if (model_index.isValid()) table_->scrollTo(model_index);
  }
  const QString text =
      explanation(model_index.isValid() ? model_.at(model_index.row()).evidence : QString());
  if (text != evidence_->toPlainText()) evidence_->setPlainText(text);
}

}  // namespace lime::explorer
