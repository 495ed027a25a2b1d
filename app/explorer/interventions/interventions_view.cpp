// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/interventions_view.h"

#include <QAction>
#include <QDir>
#include <QFile>
#include <QFileDialog>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>

#include "core/files/atomic_file.h"
#include "explorer/interventions/intervention_effect.h"
#include "explorer/interventions/intervention_parts.h"
#include "explorer/interventions/intervention_routes.h"
#include "explorer/interventions/run_bar.h"
#include "explorer/interventions/text_editor.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/window/session.h"

namespace lime::explorer {
namespace {

constexpr int kLivePauseMs = 300;  // after the last edit, before it is run
const QString kEditFilter = u"Edits (*.json);;All (*)"_s;

}  // namespace

bool InterventionsView::hasRoutes(const Document& document) {
  if (!document.checkpoint) return false;
  const ModelConfig& config = document.checkpoint->config();
  return config.routing == DepthRouting::kLime && has_static_router(config, 1);
}

InterventionsView::InterventionsView(const ViewContext& context)
    : View(u"Interventions"_s, context),
      run_(context.jobs),
      checkpoint_(nullptr),
      kind_(nullptr),
      sides_(new QStackedWidget),
      routes_(new InterventionRoutes(edits_)),
      parts_(new InterventionParts(part_edits_)),
      effect_(new InterventionEffect),
      live_(new QTimer(this)) {
  live_->setSingleShot(true);
  live_->setInterval(kLivePauseMs);
  layOut();
  connectAll();
  connectWorkspace();
  listCheckpoints();
  for (FigurePane* const pane : {&routes_->layers(), &routes_->weights(), &parts_->map(),
                                 &effect_->next(), &effect_->entropies()}) {
    panes().add(*pane);
  }
  rememberState();
}

InterventionsView::~InterventionsView() {
  // A window that is destroyed takes the focus from its widgets, which signal that.
  for (QObject* const child : findChildren<QObject*>()) child->disconnect(this);
}

void InterventionsView::layOut() {
  auto* const controls = new QWidget;
  QHBoxLayout* const bar = makeBar(*controls);
  checkpoint_ = addChoiceBox(*bar, u"&Checkpoint"_s, u"Checkpoint to edit"_s);
  checkpoint_->setMinimumContentsLength(12);
  kind_ = addChoiceBox(*bar, u"Edi&t"_s,
                       u"Routes between the layers of a LIMe, or its attention, MLPs and heads"_s);
  kind_->addItem(u"routes"_s);
  kind_->addItem(u"parts"_s);
  bar->addStretch();
  addActions();
  for (QAction* const action : actions()) {
    if (!action->data().toBool()) continue;
    auto* const button = new QToolButton;
    button->setDefaultAction(action);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::TabFocus);
    bar->addWidget(button);
  }
  sides_->addWidget(routes_);
  sides_->addWidget(parts_);
  QSplitter* const body = makeSplitter(Qt::Horizontal, {sides_, effect_}, {460, 580});
  QVBoxLayout* const page = fillWithColumn(*this);
  page->addWidget(controls);
  page->addWidget(body, 1);
  setFirstFocus(&routes_->layers().plot());
}

void InterventionsView::connectAll() {
  connect(routes_, &InterventionRoutes::status, this, &View::status);
  connect(routes_, &InterventionRoutes::selectionRequested, this,
          [this](const Selection& selection) { changeSelection(u"Select a route"_s, selection); });
  connect(routes_, &InterventionRoutes::scopeSelected, this,
          [this] { recordChange(u"Select the scope of the edit"_s); });
  connect(routes_, &InterventionRoutes::scaleRequested, this, &InterventionsView::scale);
  connect(parts_, &InterventionParts::status, this, &View::status);
  connect(parts_, &InterventionParts::selectionRequested, this, &InterventionsView::selectPart);
  connect(parts_, &InterventionParts::scaleRequested, this, &InterventionsView::scalePart);
  connect(effect_, &InterventionEffect::partSelected, this, &InterventionsView::selectPart);
  connect(kind_, &QComboBox::activated, this, [this] {
    changeState(u"Edit routes or parts"_s, [this] { wants_parts_ = kind_->currentIndex() == 1; });
    draw();
  });
  const auto onSetting = [this](const QString& what) {
    recordChange(what);
    showAnswers();
  };
  connect(effect_, &InterventionEffect::status, this, &View::status);
  connect(effect_, &InterventionEffect::lineRequested, &run_, &InterventionRun::showLine);
  connect(effect_, &InterventionEffect::siteChanged, this,
          [onSetting] { onSetting(u"Select the activations"_s); });
  connect(effect_, &InterventionEffect::routeSelected, this, [this](int layer, int source) {
    Selection selection = workspace().selection();
    std::tie(selection.layer, selection.source_layer) = std::pair(layer, source);
    routes_->setScope(RouteScope::kLayerSource);
    changeSelection(u"Select a route"_s, selection);
  });
  connect(&effect_->editor(), &TextEditor::textTyped, this,
          [this] { recordChange(u"Type a text"_s); });
  connect(&effect_->runBar(), &RunBar::runRequested, this,
          [this] { run_.isRunning() ? run_.cancel() : run(); });
  connect(&effect_->runBar(), &RunBar::settingChanged, this, onSetting);
  connect(&run_, &InterventionRun::changed, this, &InterventionsView::showAnswers);
  connect(&run_, &InterventionRun::progressed, this,
          [this] { effect_->runBar().showProgress(run_); });
  connect(live_, &QTimer::timeout, this, &InterventionsView::run);
  connect(checkpoint_, &QComboBox::activated, this, [this] {
    changeState(u"Select a checkpoint"_s, [this] {
      workspace().setCurrent(checkpoint_->currentData().toInt());
      selectCheckpoint();
    });
  });
}

void InterventionsView::connectWorkspace() {
  connect(&workspace(), &Workspace::documentAdded, this, [this] { listCheckpoints(); });
  connect(&workspace(), &Workspace::documentRemoved, this, [this] { listCheckpoints(); });
  connect(&workspace(), &Workspace::documentChanged, this, [this](int id) {
    const Document* const changed = workspace().find(id);
    if (changed != nullptr && id == shown_ && changed->state == DocumentState::kPresent) {
      shown_ = 0;  // another one may lie at its path
      run_.clear();
    }
    listCheckpoints();
  });
  connect(&workspace(), &Workspace::currentChanged, this, [this](int id) {
    if (checkpoint_->findData(id) < 0 || checkpoint_->currentData().toInt() == id) return;
    selectData(*checkpoint_, id);
    selectCheckpoint();
  });
  connect(&workspace(), &Workspace::selectionChanged, this, [this] {
    if (isVisible()) draw();
  });
}

void InterventionsView::listCheckpoints() {
  const QVariant requested = checkpoint_->currentData();
  {
    const QSignalBlocker quiet(checkpoint_);
    checkpoint_->clear();
    for (const Document* const document : workspace().documentsOf(DocumentKind::kCheckpoint)) {
      if (shows(*document)) checkpoint_->addItem(document->label, document->id);
    }
    selectData(*checkpoint_, requested);
    checkpoint_->setEnabled(checkpoint_->count() > 0);
  }
  selectCheckpoint();
}

const Document* InterventionsView::document() const {
  return workspace().find(checkpoint_->currentData().toInt());
}

void InterventionsView::selectCheckpoint() {
  const Document* const selected = document();
  const int id = selected == nullptr ? 0 : selected->id;
  const auto path = selected == nullptr ? std::filesystem::path() : selected->path;
  if (path != edits_.checkpoint()) {
    recordChange(u"Type a text"_s);
    edits_.setCheckpoint(path.string());
    part_edits_.setCheckpoint(path.string());
    edit_file_.clear();
    rememberState();
  }
  if (id != shown_) {
    shown_ = 0;
    clearRouters();
    problem_.clear();
    run_.clear();
    readRouters();
  }
  if (selected != nullptr) effect_->setHasRoutes(hasRoutes(*selected));
  showSide();
  showAnswers();
  draw();
}

void InterventionsView::clearRouters() {
  routes_->setRouters(nullptr, {}, {}, preferences());
  routers_.reset();
}

void InterventionsView::readRouters() {
  const Document* const selected = document();
  // A hidden view reads nothing.
  if (selected == nullptr || !isVisible()) return;
  using Routers = std::shared_ptr<const CheckpointRouters>;
  shown_ = selected->id;
  if (!hasRoutes(*selected)) return applyEdits();
  jobs().start<Routers>(
      this,
      {.title = u"Reading the router of %1"_s.arg(selected->label),
       .key = u"interventions/routers"_s,
       .is_shown = false},
      [checkpoint = selected->checkpoint](const JobContext&) -> Routers {
        return std::make_shared<const CheckpointRouters>(*checkpoint);
      },
      [this](Routers routers) {
        clearRouters();
        routers_ = std::make_unique<EditedRouters>(std::move(routers));
        applyEdits();
      },
      [this](const QString& problem) {
        problem_ = problem;
        draw();
      });
}

void InterventionsView::applyEdits() {
  const Document* const selected = document();
  if (selected == nullptr || (!routers_ && hasRoutes(*selected))) return;
  const ModelConfig& config = selected->checkpoint->config();
  try {
    check_router_edits(edits_.edits(), config);
    checkParts(part_edits_.edits(), config.num_hidden_layers, config.num_attention_heads);
    problem_.clear();
  } catch (const Error& error) {
    // The checkpoint was rewritten.
    problem_ = u"%1; the edits were discarded"_s.arg(toQString(error));
    edits_.setEdits({});
    part_edits_.setEdits({});
  }
  if (routers_) {
    const CheckpointRouters& trained = routers_->trained();
    edits_.setShape(trained.num_layers(), trained.num_heads(), preferences().layer_base);
    routers_->set_edits(edits_.edits());
  }
  draw();
  effect_->showNote(note());
  if (std::exchange(runs_when_read_, false)) run();
}

void InterventionsView::setEdits(const QString& text, std::vector<RouterEdit> edits,
                                 std::vector<PartEdit> parts) {
  recordChange(u"Type a text"_s);
  changeState(text, [&] {
    edits_.setEdits(std::move(edits));
    part_edits_.setEdits(std::move(parts));
    edit_file_.clear();
  });
  rememberState();
  applyEdits();
  if (effect_->runBar().runsLive() && currentRequest()) live_->start();
}

void InterventionsView::scale(const RouterEdit& edit) {
  const Document* const selected = document();
  if (selected == nullptr) return;
  try {
    check_router_edits({edit}, selected->checkpoint->config());
  } catch (const Error& error) {
    problem_ = toQString(error);
    draw();  // the controls show the present scale
    return showAnswers();
  }
  const QString routes = routesText(edit, preferences().layer_base);
  QString text = u"Scale %1"_s.arg(routes);
  if (edit.scale == 0.0) text = u"Ablate %1"_s.arg(routes);
  if (edit.scale == 1.0) text = u"Restore %1"_s.arg(routes);
  setEdits(text, InterventionEdits::with(edits_.edits(), edit), part_edits_.edits());
}

void InterventionsView::scalePart(const PartEdit& edit) {
  if (document() == nullptr) return;
  const QString part = partText(edit, preferences().layer_base);
  QString text = u"Scale %1"_s.arg(part);
  if (edit.scale == 0.0) text = u"Skip %1"_s.arg(part);
  if (edit.scale == 1.0) text = u"Restore %1"_s.arg(part);
  setEdits(text, edits_.edits(), PartEdits::with(part_edits_.edits(), edit));
}

void InterventionsView::selectPart(const PartEdit& part) {
  Selection selection = workspace().selection();
  selection.layer = part.layer;
  if (part.part == DecoderPart::kHead) selection.head = part.head;
  part_ = part.part;
  wants_parts_ = true;
  changeSelection(u"Select a part"_s, selection);
  draw();
}

bool InterventionsView::editsParts() const {
  const Document* const selected = document();
  if (selected == nullptr) return false;
  return !hasRoutes(*selected) || wants_parts_;
}

void InterventionsView::showSide() {
  const Document* const selected = document();
  kind_->setEnabled(selected != nullptr && hasRoutes(*selected));
  {
    const QSignalBlocker quiet(kind_);
    kind_->setCurrentIndex(editsParts() ? 1 : 0);
  }
  QWidget* const side = editsParts() ? static_cast<QWidget*>(parts_) : routes_;
  if (sides_->currentWidget() == side) return;
  sides_->setCurrentWidget(side);
  setFirstFocus(editsParts() ? &parts_->map().plot() : &routes_->layers().plot());
}

void InterventionsView::drawParts() {
  InterventionParts::Subject subject;
  const Document* const selected = document();
  if (selected != nullptr) {
    const ModelConfig& config = selected->checkpoint->config();
    subject = {.num_layers = static_cast<int>(config.num_hidden_layers),
               .num_heads = static_cast<int>(config.num_attention_heads),
               .sublayers = run_.sweep(u"sublayers"_s),
               .heads = run_.sweep(u"heads"_s)};
  }
  const Selection& selection = workspace().selection();
  PartEdit part{.part = part_, .layer = selection.layer.value_or(0)};
  if (part_ == DecoderPart::kHead) part.head = selection.head.value_or(0);
  parts_->show(subject, emptyMessage(), preferences());
  parts_->select(part);
}

Selection InterventionsView::selected() const {
  Selection selection = completed(workspace().selection(), routers_->trained());
  // Layer 0 has no router.
  selection.layer = std::max(*selection.layer, 1);
  selection.source_head = selection.source_head.value_or(0);
  return selection;
}

void InterventionsView::draw() {
  showSide();
  if (editsParts()) drawParts();
  routes_->setRouters(routers_.get(), routers_ ? selected() : Selection(), emptyMessage(),
                      preferences());
  Q_EMIT figureChanged();
}

void InterventionsView::showAnswers() {
  effect_->runBar().setRunnable(document() != nullptr);
  effect_->showRun(run_, note(), preferences());
  if (editsParts()) drawParts();
  for (QAction* const action : actions()) {
    if (action->data().toBool()) action->setEnabled(document() != nullptr);
  }
  Q_EMIT figureChanged();
}

QString InterventionsView::emptyMessage() const {
  if (!problem_.isEmpty()) return problem_;
  if (document() != nullptr) return u"Reading the routers ..."_s;
  const bool has_checkpoint = !workspace().documentsOf(DocumentKind::kCheckpoint).empty();
  const QString what =
      u"Open the folder of a checkpoint. Then select attention, MLPs, heads or routes in its maps, "
      u"skip or scale them, and run a text through both models to compare them."_s;
  if (!has_checkpoint) return u"No checkpoint is open.\n\n"_s + what;
  return u"No open checkpoint is ticked.\n\n"_s + what;
}

bool InterventionsView::isOutdated() const {
  const std::optional<InterventionRequest> now = currentRequest();
  const std::optional<InterventionRequest>& then = run_.request();
  return now && then && !now->isSameBut(*then);
}

QString InterventionsView::note() const {
  if (routers_ && !problem_.isEmpty()) return problem_;
  if (!run_.problem().isEmpty() && !run_.isRunning()) return run_.problem();
  if (isOutdated()) {
    return u"The results are for other edits, another text or other tokens; press Run "
           u"(Ctrl+Return) to update them."_s;
  }
  if (run_.request() && !run_.request()->hasEdits() && !run_.isRunning()) {
    return u"There are no edits yet: both models are the same."_s;
  }
  return {};
}

void InterventionsView::paletteChanged() {
  draw();
  showAnswers();
}

void InterventionsView::shown() {
  if (shown_ == 0) readRouters();
  draw();
}

void InterventionsView::showAll() {
  if (panes().active() != nullptr) panes().active()->plot().showAll();
}

void InterventionsView::addActions() {
  const auto add = [this](const char* text, const QKeySequence& shortcut, const char* tip,
                          bool has_button, auto&& action) {
    addViewAction(QString::fromUtf8(text), {shortcut}, QString::fromUtf8(tip), action)
        ->setData(has_button);
  };
  add("Run the text", QKeySequence(Qt::CTRL | Qt::Key_Return),
      "Run the text through the original and the edited model", false, [this] { run(); });
  add("Reset", QKeySequence(Qt::CTRL | Qt::Key_Backspace), "Remove all edits", true,
      [this] { setEdits(u"Reset the edits"_s, {}, {}); });
  add("Load edits...", QKeySequence(Qt::CTRL | Qt::Key_L),
      "Read edits from a file, as lime-capture --edit does", true, [this] {
        const QString path =
            QFileDialog::getOpenFileName(this, u"Load edits"_s, lastFolder(), kEditFilter);
        if (!path.isEmpty()) loadEdits(path);
      });
  add("Save edits...", QKeySequence(Qt::CTRL | Qt::Key_S),
      "Write the edits to a file for lime-capture and lime-generate --edit", true, [this] {
        const QString path = QFileDialog::getSaveFileName(
            this, u"Save edits"_s, QDir(lastFolder()).filePath("edit.json"), kEditFilter);
        if (!path.isEmpty()) saveEdits(path);
      });
  connect(&effect_->runBar(), &RunBar::fileRequested, this, [this] {
    const QString path =
        QFileDialog::getOpenFileName(this, u"Text"_s, lastFolder(), u"Text (*.txt);;All (*)"_s);
    if (!path.isEmpty()) loadText(path);
  });
  add("Previous line", QKeySequence(Qt::ALT | Qt::Key_Up), "Show the tokens of the previous line",
      false, [this] { run_.showLine(run_.request() ? run_.request()->line - 1 : 0); });
  add("Next line", QKeySequence(Qt::ALT | Qt::Key_Down), "Show the tokens of the next line", false,
      [this] { run_.showLine(run_.request() ? run_.request()->line + 1 : 0); });
}

void InterventionsView::run() {
  recordChange(u"Type a text"_s);
  std::optional<InterventionRequest> requested = currentRequest();
  problem_.clear();
  if (!requested) {
    if (document() != nullptr) problem_ = u"Type a text or select a file first."_s;
    return showAnswers();
  }
  // The line stays where the text does.
  const std::optional<InterventionRequest>& before = run_.request();
  if (before && before->lines == requested->lines) requested->line = before->line;
  run_.start(*requested);
}

std::vector<Shortcut> InterventionsView::shortcuts() const {
  return {{u"Previous or next layer or head"_s, u"Up, Down"_s},
          {u"Previous source, next source"_s, u"Left, Right"_s},
          {u"Extend or reduce the selected routes"_s, u"Space, Shift+Space"_s},
          {u"Ablate the selected routes"_s, u"0, Delete"_s},
          {u"Restore or double them"_s, u"1, 2"_s},
          {u"Scale them down, up"_s, u"[, ]"_s},
          {u"Skip, restore or double the selected part"_s, u"0, 1, 2"_s}};
}

void InterventionsView::attempt(const std::function<void()>& action) {
  problem_.clear();
  try {
    action();
  } catch (const Error& error) {
    problem_ = toQString(error);
  }
  showAnswers();
}

void InterventionsView::loadEdits(const QString& path) {
  attempt([&] {
    const Document* const selected = document();
    ExplorerEdits edits = readEditsFile(toPath(path));
    if (selected != nullptr) {
      const ModelConfig& config = selected->checkpoint->config();
      check_router_edits(edits.routes, config);
      checkParts(edits.parts, config.num_hidden_layers, config.num_attention_heads);
    }
    setEdits(u"Load edits"_s, std::move(edits.routes), std::move(edits.parts));
    edit_file_ = path;
  });
}

void InterventionsView::saveEdits(const QString& path) {
  attempt([&] {
    throw_if(!hasEdits(), "save edits: there are no edits to save; ablate a route or a part first");
    write_file_atomically(toPath(path), editsFile({edits_.edits(), part_edits_.edits()}));
    edit_file_ = path;
  });
}

void InterventionsView::loadText(const QString& path) {
  attempt([&] {
    const QString text = readText(path);
    recordChange(u"Type a text"_s);
    changeState(u"Load a text"_s, [&] { effect_->editor().setText(text); });
    rememberState();
    file_ = path;
  });
}

void InterventionsView::openText(const QString& path) {
  loadText(path);
  effect_->runBar().setRunsLive(true);
}

std::optional<InterventionRequest> InterventionsView::currentRequest() const {
  const Document* const selected = document();
  const QStringList lines = effect_->lines();
  if (selected == nullptr || lines.isEmpty()) return std::nullopt;
  return InterventionRequest{
      .checkpoint = selected->path,
      .edits = edits_.edits(),
      .parts = part_edits_.edits(),
      .lines = lines,
      .score = effect_->runBar().score(),
      .line = std::min(effect_->editor().cursorLine(), static_cast<int>(lines.size()) - 1),
      .threads = preferences().threads,
      .sweep = sweptOver(effect_->site()),
      .sites = hasRoutes(*selected) ? InterventionRequest().sites : QStringList(u"hidden"_s)};
}

Json InterventionsView::state() const {
  Json state = {{"checkpoint", edits_.checkpoint()},
                {"edits", editsToJson(edits_.all())},
                {"parts", partsToJson(part_edits_.all())},
                {"edits_parts", wants_parts_},
                {"part", enum_name(part_)},
                {"scope", enum_name(routes_->scope())}};
  state.update(effect_->state());
  return state;
}

void InterventionsView::restoreEdits(const Json& state) {
  const auto* const requested = workspace().documentAt(state.value("checkpoint", std::string()));
  if (requested != nullptr && requested != document()) {
    selectData(*checkpoint_, requested->id);
    selectCheckpoint();
  }
  if (state.contains("parts")) part_edits_.setAll(partsFromJson(state.at("parts")));
  if (!state.contains("edits")) return;
  const Json& edits = state.at("edits");
  edits_.setAll(
      editsFromJson(edits.is_array() ? Json::object({{edits_.checkpoint(), edits}}) : edits));
  edit_file_.clear();
}

void InterventionsView::setState(const Json& state) {
  const std::vector<RouterEdit> before = edits_.edits();
  const std::vector<PartEdit> parts_before = part_edits_.edits();
  restoreEdits(state);
  wants_parts_ = state.value("edits_parts", wants_parts_);
  if (const auto part = find_enum<DecoderPart>(state.value("part", std::string()))) part_ = *part;
  const auto scope = find_enum<RouteScope>(state.value("scope", std::string()));
  if (scope) routes_->setScope(*scope);
  effect_->setState(state);
  rememberState();
  runs_when_read_ = state.value("run", false);
  applyEdits();
  showAnswers();
  const bool is_changed = before != edits_.edits() || parts_before != part_edits_.edits();
  if (is_changed && effect_->runBar().runsLive() && currentRequest()) live_->start();
}

QStringList InterventionsView::commandLines() const {
  const Document* const selected = document();
  const std::optional<InterventionRequest> requested = currentRequest();
  if (selected == nullptr || (!hasEdits() && !requested)) return {};
  InterventionCommand command;
  if (requested) command.request = *requested;
  command.request.edits = edits_.edits();
  command.request.parts = part_edits_.edits();
  const auto& shown = run_.request();
  if (requested && shown && shown->lines == requested->lines) command.request.line = shown->line;
  QFile file(file_);
  const bool is_file = !file_.isEmpty() && file.open(QIODevice::ReadOnly) &&
                       QString::fromUtf8(file.readAll()) == effect_->editor().text();
  if (is_file) command.text_file = file_;
  command.edit_file = edit_file_;
  command.site = effect_->site();
  command.figure_options = layerBaseOption();
  command.draws_entropies = panes().active() == &effect_->entropies();
  return interventionCommandLines(command);
}

}  // namespace lime::explorer
