// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/text_view.h"

#include <cstdlib>

#include "analysis/lens/lens_analysis.h"
#include "explorer/models/capture_contents.h"
#include "explorer/text/attention_commands.h"
#include "explorer/text/attention_panes.h"
#include "explorer/text/sequence_list.h"
#include "explorer/text/token_map.h"
#include "explorer/text/token_strip.h"
#include "explorer/text/token_text.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/layer_stepper.h"

namespace lime::explorer {
namespace {

const QString kNoText = u"No capture of whole sequences is open."_s;
const QString kNoPattern =
    u"This capture contains no attention patterns.\n\nCapture the text again with attention "
    u"patterns (Ctrl+T). They need one number per token, head and key."_s;
const QString kNoLens =
    u"This capture contains no logit lens.\n\nCapture the text again with the logit lens (Ctrl+T). "
    u"It predicts the next token after each layer, and takes time if the vocabulary is large."_s;

}  // namespace

bool TextView::shows(const Document& document) {
  return document.capture && hasWholeSequences(*document.capture);
}

TextView::TextView(const ViewContext& context)
    : View(u"Text"_s, context),
      measurements_(context.workspace, context.jobs, context.preferences),
      rows_(context.workspace, context.jobs),
      problems_(makeNote(u"measurement problems"_s)),
      sequences_(new SequenceList(context.jobs)),
      text_(new TokenText(u"text, token by token"_s)),
      map_(new TokenMap(measurements_, context.workspace, context.preferences)),
      attention_(new AttentionPanes(measurements_)),
      strip_(new TokenStrip(measurements_, context.workspace, context.preferences)) {
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(makeControls());
  column->addWidget(problems_);
  text_->setMinimumHeight(60);
  QSplitter* const right =
      makeSplitter(Qt::Vertical, {text_, makeLower(), strip_}, {110, 340, 200});
  column->addWidget(makeSplitter(Qt::Horizontal, {sequences_, right}, {250, 760}), 1);
  setFirstFocus(text_);
  panes().add(*map_);
  map_->followJobs(jobs(), u"text/"_s);
  panes().add(attention_->pattern());
  panes().add(attention_->routed());
  panes().add(strip_->pane());
  connectAll();
  connectControls();
  addActions();
  listCaptures();
  refresh();
}

QWidget* TextView::makeControls() {
  auto* const widget = new QWidget;
  BarLayout* const bar = makeBar(*widget);
  capture_ = addChoiceBox(
      *bar, u"C&apture"_s,
      u"Capture of the text; others of the same text are drawn beside it in the heatmap"_s);
  site_ = addChoiceBox(*bar, u"S&ite"_s, u"Site of the activations"_s);
  measure_ = addChoiceBox(*bar, u"&Colour"_s, u"Measure that the colours of the tokens show"_s);
  for (const TokenMeasureName& token_measure_name : tokenMeasures()) {
    addChoice(*measure_, QString::fromUtf8(token_measure_name.title),
              toQString(std::string(token_measure_name.column.name)),
              toQString(std::string(token_measure_name.column.meaning)));
  }
  layer_slider_ = new LayerStepper(*bar, u"Layer of the coloured text and of the attention"_s);
  layer_slider_->setParent(this);
  return widget;
}

QWidget* TextView::makeLower() {
  auto* const widget = new QWidget;
  lower_kind_ = makeTabs({u"All layers"_s, u"Attention"_s}, u"layers or attention"_s);
  lower_kind_->setTabToolTip(0, u"The tokens in every layer"_s);
  lower_kind_->setTabToolTip(
      1, u"Attention in the layer, and the buffered layers that it reads (docs/attention.md)"_s);
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(8, 2, 12, 0);
  bar->addWidget(lower_kind_);
  bar->addStretch();
  bar->addWidget(attention_->headsBar());
  QVBoxLayout* const column = fillWithColumn(*widget);
  column->addLayout(bar);
  column->addWidget(map_, 1);
  column->addWidget(attention_, 1);
  attention_->hide();
  return widget;
}

void TextView::connectAll() {
  watchDocuments([this] {
    listCaptures();
    refresh();
  });
  connect(&workspace(), &Workspace::documentAdded, this, [this](int id) {
    // The new checkpoint may have the tokenizer that was missing.
    const Document* const added = workspace().find(id);
    const bool lacks_tokenizer = tokens() != nullptr && tokens()->checkpoint.empty();
    if (added != nullptr && added->checkpoint && lacks_tokenizer) measurements_.recompute();
  });
  connect(&workspace(), &Workspace::selectionChanged, this, &TextView::onSelectionChanged);
  connect(&rows_, &CaptureRows::ready, this, &TextView::onSelectionChanged);
  connect(&workspace(), &Workspace::currentChanged, this, [this](int id) {
    const bool is_offered = capture_->findData(id) >= 0;
    if (!is_offered || capture_->currentData() == QVariant(id)) return;
    selectData(*capture_, id);
    listSites();
    refresh();
  });
  connect(&measurements_, &TextMeasurements::changed, this, &TextView::draw);
  connect(&measurements_, &TextMeasurements::attentionChanged, this, &TextView::drawAttention);
  connect(&measurements_, &TextMeasurements::pinnedChanged, this, &TextView::drawPinned);
  connect(&measurements_, &TextMeasurements::routedChanged, this, [this] {
    attention_->drawRouted();
    Q_EMIT figureChanged();
  });
}

void TextView::connectControls() {
  const auto onActivated = [this](QComboBox* box, const QString& text, auto list) {
    connect(box, &QComboBox::activated, this, [this, text, list] {
      (this->*list)();
      recordChange(text);
      refresh();
    });
  };
  onActivated(capture_, u"Select the capture"_s, &TextView::listSites);
  onActivated(site_, u"Select the site"_s, &TextView::listLayers);
  onActivated(measure_, u"Colour the tokens"_s, &TextView::listLayers);
  connect(attention_, &AttentionPanes::headSelected, this, [this] {
    recordChange(u"Select the head"_s);
    drawAttention();
  });
  connect(lower_kind_, &QTabBar::currentChanged, this, [this] {
    recordChange(u"Layers or attention"_s);
    refresh();
    panes().activate(showsAttention() ? &attention_->pattern() : map_);
  });
  connect(layer_slider_, &LayerStepper::layerSelected, this, [this](int at) { selectLayer(at); });
  connect(sequences_, &SequenceList::sequenceSelected, this, &TextView::selectSequence);
  connect(strip_, &TokenStrip::layerSelected, this, [this](int layer) { selectLayer(layer); });
  const auto describe = [this](int token) {
    const std::optional<int> now = layer();
    const bool is_known = token >= 0 && tokens() != nullptr && now;
    Q_EMIT status(is_known ? describeToken(*tokens(), token, *now, preferences().layer_base)
                           : QString());
  };
  connect(text_, &TokenText::hovered, this, describe);
  connect(text_, &TokenText::selected, this, [this, describe](int token) {
    selectToken(token);
    describe(token);
  });
  connect(map_, &TokenMap::cellSelected, this, [this](int token, std::optional<int> layer) {
    Selection selection = selectionOf(token);
    if (layer) selection.layer = layer;
    changeState(u"Select a token and a layer"_s, [&] {
      pin(token);
      workspace().setSelection(selection);
    });
  });
  connect(attention_, &AttentionPanes::tokenSelected, this, &TextView::selectToken);
}

void TextView::addActions() {
  addLayerActions([this](int step) { layer_slider_->step(step); });
  addViewAction(u"Previous sequence"_s, {QKeySequence(Qt::ALT | Qt::Key_Up)},
                u"Show the previous sequence"_s, [this] { selectSequence(sequence_ - 1); });
  addViewAction(u"Next sequence"_s, {QKeySequence(Qt::ALT | Qt::Key_Down)},
                u"Show the next sequence"_s, [this] { selectSequence(sequence_ + 1); });
  addViewAction(u"Find a sequence"_s, QKeySequence::keyBindings(QKeySequence::Find),
                u"List only sequences that contain a text"_s,
                [this] { sequences_->focusSearch(); });
  addViewAction(u"Unpin the token"_s, {QKeySequence(Qt::Key_Escape)},
                u"Hide the strip of the pinned token"_s,
                [this] { changeState(u"Unpin the token"_s, [this] { pin(-1); }); });
  addRecomputeAction(u"Recompute the token measures, including cancelled and failed ones"_s,
                     [this] { measurements_.recompute(); });
}

const Document* TextView::capture() const {
  const Document* const document = workspace().find(capture_->currentData().toInt());
  return document != nullptr && document->capture ? document : nullptr;
}

const SequenceTokens* TextView::tokens() const {
  const Document* const document = capture();
  if (document == nullptr) return nullptr;
  const Answer<SequenceTokens>& answer = measurements_.tokens(document->id);
  return answer.result ? &*answer.result : nullptr;
}

std::vector<int> TextView::layers() const {
  const Document* const document = capture();
  if (document == nullptr) return {};
  const bool has_site = document->capture->has(site());
  return has_site ? document->capture->layers(site()) : std::vector<int>();
}

std::optional<int> TextView::layer() const {
  const std::vector<int> all = layers();
  if (all.empty()) return std::nullopt;
  const int requested = workspace().selection().layer.value_or(all.back());
  return *std::ranges::min_element(
      all, [&](int a, int b) { return std::abs(a - requested) < std::abs(b - requested); });
}

void TextView::refresh() {
  measure();
  draw();
}

void TextView::listCaptures() {
  const QVariant requested = capture_->currentData();
  capture_->clear();
  for (const Document* const document : workspace().documentsOf(DocumentKind::kCapture)) {
    if (shows(*document)) capture_->addItem(document->label, document->id);
  }
  selectData(*capture_, requested);
  listSites();
}

void TextView::listSites() {
  const QVariant requested = site_->currentData();
  const Document* const document = capture();
  sequences_->setCapture(document == nullptr ? nullptr : document->capture);
  QStringList names;
  if (document != nullptr) {
    rows_.of(*document);  // to be ready when tokens are selected
    for (const std::string& name : representationsOf(*document->capture)) names << toQString(name);
    sequence_ = std::clamp(sequence_, 0, std::max(0, sequences_->size() - 1));
  }
  setNames(*site_, names);
  if (!names.contains(requested.toString())) selectData(*site_, u"hidden"_s);
  listLayers();
}

void TextView::listLayers() {
  layer_slider_->setLayers(layers(), layer(), preferences().layer_base);
}

void TextView::measure() {
  // A hidden view computes nothing.
  if (!isVisible()) return;
  const Document* const document = site_->count() == 0 ? nullptr : capture();
  const std::optional<int> now = layer();
  measurements_.measure(document, site(), sequence_, now);
  std::optional<TextMeasurements::AttentionKey> attention;
  if (showsAttention() && document != nullptr && now) {
    attention = TextMeasurements::AttentionKey{document->capture, sequence_, *now};
  }
  measurements_.measureAttention(attention);
}

QString TextView::emptyMessage() const {
  const Document* const document = capture();
  if (document == nullptr) return kNoText;
  const bool needs_lens = measureName().starts_with("lens");
  if (needs_lens && !document->capture->has(kLensSite)) return kNoLens;
  if (measurements_.isMeasuring()) return u"Measuring ..."_s;
  return measurements_.tokens(document->id).problem;
}

void TextView::draw() {
  panes().setStyle(figureStyle());
  map_->setVisible(!showsAttention());
  attention_->setVisible(showsAttention());
  attention_->headsBar()->setVisible(showsAttention());
  listLayers();
  drawMap();
  drawText();
  drawAttention();
  drawPinned();
  listProblems();
  sequences_->setCurrent(sequence_);
  rememberState();
  Q_EMIT figureChanged();
}

void TextView::listProblems() {
  QStringList lines;
  for (const int id : measurements_.documents()) {
    const QString& problem = measurements_.tokens(id).problem;
    const Document* const document = workspace().find(id);
    if (document == nullptr || problem.isEmpty()) continue;
    lines << u"%1: %2"_s.arg(document->label, problem);
  }
  if (tokens() != nullptr && tokens()->checkpoint.empty()) {
    lines << u"The tokenizer of the capture was not found: open its checkpoint to see words "
             u"instead of ids."_s;
  }
  if (const Document* const document = capture()) {
    const TokenRows::Found& found = selectedTokens();
    if (found.is_other_text) {
      lines << u"The selected tokens are from a different text than %1."_s.arg(document->label);
    } else if (found.rows.empty() && found.absent > 0) {
      lines << u"%1 contains no rows of the selected tokens."_s.arg(document->label);
    }
  }
  setNote(*problems_, lines);
}

void TextView::drawMap() {
  map_->draw({.site = site(),
              .measure = measureName(),
              .title = measure_->currentText(),
              .sequence = sequence_,
              .layers = layers()},
             emptyMessage());
  map_->mark(layer(), token());
}

void TextView::drawText() {
  std::vector<TextToken> shown;
  const std::optional<int> now = layer();
  if (tokens() != nullptr && now) {
    shown = map_->coloured(valuesOfLayer(*tokens(), measureName(), *now));
    shown.resize(tokens()->texts.size());
    for (std::size_t i = 0; i < shown.size(); ++i) shown[i].text = tokens()->texts[i];
  }
  text_->setTokens(std::move(shown));
  text_->setCurrent(token());
}

void TextView::drawAttention() {
  attention_->listHeads(showsAttention());
  const Document* const document = capture();
  const Answer<AttentionPatterns>& answer = measurements_.attention();
  const bool is_known = showsAttention() && answer.result && tokens() != nullptr;
  const bool lacks =
      document != nullptr && layer() && !document->capture->has(kPatternSite, *layer());
  const QString message = document == nullptr         ? kNoText
                          : lacks                     ? kNoPattern
                          : !answer.problem.isEmpty() ? answer.problem
                                                      : u"Reading ..."_s;
  attention_->drawPattern(is_known ? tokens()->texts : std::vector<QString>(), message, query(),
                          preferences().layer_base);
  if (is_known && attention_->head() >= 0) {
    measurements_.measureRouted(std::pair<std::int64_t, std::int64_t>(attention_->head(), query()));
  } else {
    measurements_.measureRouted(std::nullopt);
  }
  attention_->drawRouted();
}

void TextView::drawPinned() {
  strip_->draw(tokens());
  Q_EMIT figureChanged();
}

void TextView::pin(int token) {
  if (token == strip_->token()) return;
  strip_->setToken(token);
  drawPinned();
}

void TextView::selectSequence(int sequence) {
  if (sequence < 0 || sequence >= sequences_->size() || sequence == sequence_) return;
  changeState(u"Select the sequence"_s, [&] {
    sequence_ = sequence;
    strip_->setToken(-1);
    refresh();
  });
}

Selection TextView::selectionOf(int token) const {
  const Document* const document = capture();
  Selection selection = workspace().selection();
  if (document == nullptr || token < 0) return selection;
  const std::int64_t first = document->capture->offsets()[static_cast<std::size_t>(sequence_)];
  selection.tokens = tokensAt(*document->capture, std::vector<std::int64_t>{first + token});
  return selection;
}

void TextView::selectToken(int token) {
  changeState(u"Select a token"_s, [&] {
    pin(token);
    workspace().setSelection(selectionOf(token));
  });
}

void TextView::onSelectionChanged() {
  const Document* const document = capture();
  const TokenSelection& selected = workspace().selection().tokens;
  // A token that was selected elsewhere is shown in its sequence, once its row is known.
  if (document != nullptr && selected != last_tokens_ && rows_.of(*document) != nullptr) {
    last_tokens_ = selected;
    const std::vector<std::int64_t>& rows = selectedTokens().rows;
    if (!rows.empty()) {
      const int before = std::exchange(
          sequence_, document->capture->rows().sequence[static_cast<std::size_t>(rows.front())]);
      if (sequence_ != before) strip_->setToken(-1);
    }
  }
  refresh();
}

const TokenRows::Found& TextView::selectedTokens() const {
  static const TokenRows::Found nothing;
  const Document* const document = capture();
  return document == nullptr ? nothing : rows_.find(*document, workspace().selection().tokens);
}

int TextView::token() const {
  const Document* const document = capture();
  if (document == nullptr) return -1;
  const auto at = static_cast<std::size_t>(sequence_);
  const std::vector<std::int64_t>& offsets = document->capture->offsets();
  if (at + 1 >= offsets.size()) return -1;
  const std::vector<std::int64_t>& rows = selectedTokens().rows;
  const auto first = std::ranges::lower_bound(rows, offsets[at]);
  const auto end = std::lower_bound(first, rows.end(), offsets[at + 1]);
  return end - first == 1 ? static_cast<int>(*first - offsets[at]) : -1;
}

int TextView::query() const {
  if (token() >= 0) return token();
  const Answer<AttentionPatterns>& answer = measurements_.attention();
  return answer.result ? static_cast<int>(answer.result->patterns.front().rows()) - 1 : 0;
}

std::optional<Figure> TextView::figure() const {
  const FigurePane* const shown_panes[] = {panes().active(), map_, &attention_->pattern()};
  for (const FigurePane* const pane : shown_panes) {
    const Figure* const shown = pane->plot().figure();
    if (shown != nullptr && pane->isVisibleTo(this)) return *shown;
  }
  return std::nullopt;
}

QStringList TextView::commandLines() const {
  if (!figure()) return {};
  if (panes().active() == &strip_->pane() && strip_->isVisible())
    return strip_->commandLines(sequence_);
  const QString checkpoint = tokens() == nullptr || tokens()->checkpoint.empty()
                                 ? QString()
                                 : toQString(tokens()->checkpoint);
  if (showsAttention()) {
    const Document* const document = capture();
    const Answer<AttentionPatterns>& attention = measurements_.attention();
    if (document == nullptr || !attention.result) return {};
    AttentionCommand command{.capture = document->path,
                             .label = document->label,
                             .layer = attention.result->layer,
                             .head = attention_->head(),
                             .sequence = sequence_,
                             .query = std::nullopt,
                             .checkpoint = toPath(checkpoint),
                             .layer_base = preferences().layer_base};
    if (measurements_.routed().result) command.query = query();
    return attentionCommandLines(command);
  }
  return map_->commandLines(checkpoint, layerBaseOption());
}

Json TextView::state() const {
  const Document* const shown = capture();
  return {{"capture", shown == nullptr ? std::string() : shown->path.string()},
          {"site", site()},
          {"measure", measureName()},
          {"sequence", sequence_},
          {"pinned", strip_->token()},
          {"attention", showsAttention()},
          {"head", attention_->head()}};
}

void TextView::setState(const Json& state) {
  if (const auto* const document = workspace().documentAt(state.value("capture", std::string()))) {
    selectData(*capture_, document->id);
  }
  sequence_ = std::max(0, state.value("sequence", sequence_));
  strip_->setToken(std::max(-1, state.value("pinned", strip_->token())));
  listSites();
  selectData(*site_, toQString(state.value("site", std::string())));
  selectData(*measure_, toQString(state.value("measure", std::string())));
  {
    const QSignalBlocker quiet(lower_kind_);
    lower_kind_->setCurrentIndex(state.value("attention", showsAttention()) ? 1 : 0);
  }
  attention_->setHead(state.value("head", attention_->head()));
  listLayers();
  refresh();
}

std::vector<Shortcut> TextView::shortcuts() const {
  return {{u"Move from token to token"_s, u"Left, Right in the text"_s},
          {u"Pin a token, to see it in all layers"_s, u"Click it"_s},
          {u"Unpin it"_s, u"Escape"_s}};
}

}  // namespace lime::explorer
