// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/view_stack.h"

#include <QApplication>
#include <QDir>
#include <QEvent>
#include <QFileInfo>

#include "core/program/suggest.h"
#include "core/utf8.h"
#include "explorer/collapse/collapse_view.h"
#include "explorer/embeddings/embeddings_view.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/probes/probes_view.h"
#include "explorer/results/results_view.h"
#include "explorer/router/router_view.h"
#include "explorer/text/text_view.h"

namespace lime::explorer {
namespace {

constexpr int kColumnWidth = 560;
constexpr int kMostShown = 6;
constexpr int kDemoFoldersUp = 4;

QLabel* addText(QVBoxLayout& column, const QString& text, double scale = 1.0, bool muted = false) {
  auto* const label = new QLabel(text);
  label->setWordWrap(true);
  QFont font = label->font();
  font.setPointSizeF(font.pointSizeF() * scale);
  font.setWeight(scale > 1.2 ? QFont::DemiBold : QFont::Normal);
  label->setFont(font);
  if (muted) label->setForegroundRole(QPalette::PlaceholderText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column.addWidget(label);
  return label;
}

/// A line that does something when it is clicked, or Enter is pressed on it.
class LinkLine : public QLabel {
 public:
  LinkLine(const QString& words, const QString& toolTip) : words_(words) {
    setToolTip(toolTip);
    setAccessibleName(words);
    setTextFormat(Qt::RichText);
    setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard);
    setFocusPolicy(Qt::StrongFocus);
    setContentsMargins(0, 4, 0, 4);
    write();
  }

 protected:
  void changeEvent(QEvent* event) override {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::EnabledChange) write();
    QLabel::changeEvent(event);
  }

 private:
  /// A label takes the colour of its links from the palette only when its text is set.
  void write() {
    const QString words = words_.toHtmlEscaped();
    const auto role = isEnabled() ? QPalette::Link : QPalette::PlaceholderText;
    setText(isEnabled() ? u"<a href='#' style='color: %1; text-decoration: none'>%2</a>"_s.arg(
                              palette().color(role).name(), words)
                        : words);
  }

  QString words_;
};

LinkLine* addLink(QVBoxLayout& column, const QString& text, const QString& toolTip) {
  auto* const link = new LinkLine(text, toolTip);
  column.addWidget(link, 0, Qt::AlignLeft);
  return link;
}

void clear(QVBoxLayout& column) {
  while (QLayoutItem* const item = column.takeAt(0)) {
    delete item->widget();
    delete item;
  }
}

/// @throws InvalidArgument  if `json` is no object, or has a name that is not among `known`.
void checkNames(const Json& json, const std::vector<std::string>& known, const std::string& where) {
  if (!json.is_object()) {
    throw InvalidArgument("{}: must be an object of names and values, got {}", where,
                          printable(json.dump()));
  }
  for (const auto& [name, value] : json.items()) {
    if (contains(known, name)) continue;
    throw InvalidArgument("{}: unknown setting '{}' (available: {})", where, printable(name),
                          join_words(known));
  }
}

/// Makes a view, for ViewKind::make.
template <typename Page>
View* makeView(const ViewContext& context) {
  return new Page(context);
}

/// Returns whether a document has results of one of `metrics`.
bool hasMetric(const Document& document, const std::vector<std::string>& metrics) {
  return document.results && contains(metrics, document.results->results.metric);
}

}  // namespace

StartPage::StartPage() {
  auto* const page = new QHBoxLayout(this);
  auto* const content = new QWidget;
  content->setMaximumWidth(kColumnWidth);
  auto* const column = new QVBoxLayout(content);
  column->setSpacing(6);
  column->addStretch(2);
  addText(*column, u"Where do representations collapse, and how does routing affect it?"_s, 1.7);
  addText(*column,
          u"Open a checkpoint folder to see its router, a capture of lime-capture to see its "
          u"layers, or results of lime-metrics as figures. Several can be compared."_s,
          1.0, true);
  column->addSpacing(12);
  auto* const open = addLink(*column, u"Open a capture or results (Ctrl+O)"_s,
                             u"A file written by lime-capture or lime-metrics"_s);
  connect(open, &QLabel::linkActivated, this, &StartPage::openWanted);
  setFocusProxy(open);
  auto* const folder = addLink(*column, u"Open a checkpoint folder (Ctrl+Shift+O)"_s,
                               u"A folder with config.json and weights in Hugging Face format"_s);
  connect(folder, &QLabel::linkActivated, this, &StartPage::openFolderWanted);
  addText(*column, u"or drop files and folders onto this window"_s, 1.0, true);
  column->addSpacing(12);
  demo_ = new QVBoxLayout;
  column->addLayout(demo_);
  column->addSpacing(12);
  recent_ = new QVBoxLayout;
  recent_->setSpacing(0);
  column->addLayout(recent_);
  column->addStretch(3);
  page->addStretch(1);
  page->addWidget(content, 4);
  page->addStretch(1);
  setDemo({});
}

void StartPage::setDemo(const QStringList& paths) {
  clear(*demo_);
  if (paths.isEmpty()) {
    addText(*demo_,
            u"For a demo, run scripts/demo.sh: it captures two small checkpoints in a minute."_s,
            1.0, true);
    return;
  }
  auto* const button = addLink(*demo_, u"Open the demo"_s, paths.join(u'\n'));
  connect(button, &QLabel::linkActivated, this, [this, paths] { Q_EMIT openPaths(paths); });
  addText(*demo_, u"two small models of arithmetic, a LLaMA and a LIMe, and their measurements"_s,
          1.0, true);
}

void StartPage::setRecent(const QStringList& paths) {
  clear(*recent_);
  if (!paths.isEmpty()) addText(*recent_, u"Recent files"_s, 1.0, true);
  for (const QString& path : paths.mid(0, kMostShown)) {
    const QFileInfo file(path);
    auto* const button = addLink(*recent_, file.fileName(), path);
    button->setEnabled(file.exists());
    connect(button, &QLabel::linkActivated, this, [this, path] { Q_EMIT openPaths({path}); });
  }
}

QStringList findDemo(const QString& programFolder) {
  QStringList roots = {QDir::currentPath()};
  QDir above(programFolder);
  for (int i = 0; i < kDemoFoldersUp; ++i) {
    roots << above.absolutePath();
    if (!above.cdUp()) break;
  }
  const QStringList wanted = {
      u"data/aet-llama"_s,   u"data/aet-lime"_s,   u"out/aet-llama.h5"_s,      u"out/aet-lime.h5"_s,
      u"out/entropy.json"_s, u"out/router.json"_s, u"out/small-numbers.json"_s};
  for (const QString& root : roots) {
    QStringList found;
    for (const QString& path : wanted) {
      const QString whole = QDir(root).filePath(path);
      if (QFileInfo::exists(whole)) found << QDir::cleanPath(whole);
    }
    if (!found.isEmpty()) return found;
  }
  return {};
}

const std::vector<ViewKind>& allViews() {
  static const std::vector<ViewKind> views = {
      {u"router"_s, u"Router"_s, u"Which layers and heads do the routers read, and how strongly?"_s,
       [](const Document& document) { return document.checkpoint != nullptr; },
       makeView<RouterView>},
      {u"collapse"_s, u"Collapse"_s, u"In which layers do the representations collapse?"_s,
       [](const Document& document) { return document.capture != nullptr; },
       makeView<CollapseView>},
      {u"embeddings"_s, u"Embeddings"_s,
       u"Which tokens are close to each other, and in which layers?"_s,
       [](const Document& document) {
         return document.capture != nullptr || hasMetric(document, {"tsne"});
       },
       makeView<EmbeddingsView>},
      {u"probes"_s, u"Probes"_s, u"What is linearly decodable from each layer?"_s,
       [](const Document& document) {
         return hasMetric(document, {"separability", "blimp"}) ||
                (document.capture && (canProbe(*document.capture, ProbeQuestion::kBlimp) ||
                                      canProbe(*document.capture, ProbeQuestion::kSeparability)));
       },
       makeView<ProbesView>},
      {u"text"_s, u"Text"_s,
       u"How does each token change from layer to layer, and what does it attend to?"_s,
       TextView::shows, makeView<TextView>},
      {u"interventions"_s, u"Interventions"_s,
       u"How do the predictions change without some of the routes?"_s, InterventionsView::shows,
       makeView<InterventionsView>},
      {u"results"_s, u"Results"_s, u"What are the results, as figures of a paper?"_s,
       [](const Document& document) { return document.results != nullptr; }, makeView<ResultsView>},
  };
  return views;
}

QString currentViewId(const QString& id) {
  if (id == "clouds"_L1) return u"embeddings"_s;
  if (id == "surgery"_L1) return u"interventions"_s;
  return id;
}

ViewStack::ViewStack(const ViewContext& context)
    : workspace_(context.workspace), start_(new StartPage), explain_(new ExplainButton(*this)) {
  setBackgroundRole(QPalette::Base);
  setAutoFillBackground(true);
  start_->setDemo(findDemo(QCoreApplication::applicationDirPath()));
  addWidget(start_);
  addViews(context);
}

void ViewStack::addViews(const ViewContext& context) {
  for (const ViewKind& kind : allViews()) {
    View* const view = kind.make(context);
    const int index = static_cast<int>(views_.size());
    views_.push_back(view);
    addWidget(view);
    connect(view, &View::status, this, &ViewStack::status);
    connect(view, &View::stateRestored, this, [this, index] { showIndex(index); });
    connect(view, &View::figureChanged, this, [this, view] {
      if (view == currentView()) Q_EMIT figureChanged();
    });
  }
}

View* ViewStack::currentView() const {
  return views_.empty() ? nullptr : views_[static_cast<std::size_t>(current_)];
}

bool ViewStack::showsStartPage() const { return currentWidget() == start_; }

void ViewStack::showIndex(int index) {
  if (index < 0 || index >= static_cast<int>(views_.size())) return;
  current_ = index;
  Q_EMIT currentViewChanged(index);
  showCurrent();
}

void ViewStack::showView(const QString& id) {
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].id == currentViewId(id)) showIndex(static_cast<int>(i));
  }
}

void ViewStack::showViewFor(const Document& document) {
  const std::vector<ViewKind>& kinds = allViews();
  if (kinds[static_cast<std::size_t>(current_)].shows(document)) return;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (!kinds[i].shows(document)) continue;
    showIndex(static_cast<int>(i));
    return;
  }
}

void ViewStack::showCurrent() {
  QWidget* const wanted = workspace_.isEmpty() ? static_cast<QWidget*>(start_) : currentView();
  if (currentWidget() != wanted) {
    const bool had_focus = isAncestorOf(QApplication::focusWidget());
    setCurrentWidget(wanted);
    explain_->setView(showsStartPage() ? QString()
                                       : allViews()[static_cast<std::size_t>(current_)].id);
    Q_EMIT status({});
    if (had_focus) takeFocus();
  }
  Q_EMIT figureChanged();
}

void ViewStack::resizeEvent(QResizeEvent* event) {
  QStackedWidget::resizeEvent(event);
  explain_->place();
}

void ViewStack::takeFocus() {
  if (showsStartPage()) {
    start_->setFocus();
  } else {
    currentView()->takeFocus();
  }
}

void ViewStack::checkStates(const Json& states) const {
  std::vector<std::string> ids = {"selection"};
  const std::vector<ViewKind>& kinds = allViews();
  for (const ViewKind& kind : kinds) ids.push_back(kind.id.toStdString());
  checkNames(states, ids, "state");
  if (states.contains("selection")) {
    checkNames(states.at("selection"), {"layer", "rows"}, "state: selection");
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string id = kinds[i].id.toStdString();
    if (!states.contains(id)) continue;
    std::vector<std::string> known;
    const Json state = views_[i]->state();
    for (const auto& [name, value] : state.items()) known.push_back(name);
    for (const std::string& name : views_[i]->furtherNames()) {
      if (!state.contains(name)) known.push_back(name);
    }
    checkNames(states.at(id), known, "state: " + id);
  }
}

void ViewStack::setStates(const Json& given) {
  Json states = given;
  for (const auto& [name, value] : given.items()) {
    const std::string id = currentViewId(toQString(name)).toStdString();
    if (id == name) continue;
    states.erase(name);
    states[id] = value;
  }
  checkStates(states);
  if (states.contains("selection")) select(states.at("selection"));
  const std::vector<ViewKind>& kinds = allViews();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string id = kinds[i].id.toStdString();
    if (states.contains(id)) views_[i]->setState(states.at(id));
  }
}

void ViewStack::select(const Json& wanted) {
  Selection selection = workspace_.selection();
  if (wanted.contains("layer")) selection.layer = wanted.at("layer").get<int>();
  const std::vector<const Document*> captures = workspace_.documentsOf(DocumentKind::kCapture);
  if (wanted.contains("rows") && !captures.empty()) {
    selection.tokens =
        tokensAt(*captures.front()->capture, wanted.at("rows").get<std::vector<std::int64_t>>());
  }
  workspace_.setSelection(selection);
}

}  // namespace lime::explorer
