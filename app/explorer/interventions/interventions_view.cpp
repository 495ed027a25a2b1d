// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/interventions_view.h"

#include <QAction>
#include <QDir>
#include <QFileDialog>
#include <QSignalBlocker>
#include <QTimer>
#include <QToolButton>

#include "core/files/atomic_file.h"
#include "explorer/interventions/intervention_commands.h"
#include "explorer/interventions/intervention_effect.h"
#include "explorer/interventions/intervention_sides.h"
#include "explorer/interventions/run_bar.h"
#include "explorer/interventions/text_editor.h"
#include "explorer/models/figures.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/window/session.h"

namespace lime::explorer {
namespace {

constexpr int kLivePauseMs = 300;  // after the last edit, before it is run

const QString kEditFilter = u"Edits (*.json);;All (*)"_s;

}  // namespace

InterventionsView::InterventionsView(const ViewContext& context)
    : View(u"Interventions"_s, context),
      run_(context.jobs),
      checkpoint_(nullptr),
      sides_(new InterventionSides(edits_)),
      effect_(new InterventionEffect),
      live_(new QTimer(this)) {
  live_->setSingleShot(true);
  live_->setInterval(kLivePauseMs);
  layOut();
  connectAll();
  connectWorkspace();
  listCheckpoints();
  for (FigurePane* const pane : {&sides_->routes().layers(), &sides_->routes().weights(),
                                 &sides_->parts().map(), &effect_->next(), &effect_->entropies()}) {
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
  BarLayout* const bar = makeBar(*controls);
  checkpoint_ = addChoiceBox(*bar, u"&Checkpoint"_s, u"Checkpoint to edit"_s);
  checkpoint_->setMinimumContentsLength(12);
  addLabelled(*bar, u"Edi&t"_s, &sides_->kind());
  bar->addStretch();
  addActions();
  for (QAction* const action : actions()) {
    if (!action->data().toBool()) continue;
    auto* const button = new QToolButton;
    button->setDefaultAction(action);
    button->setFocusPolicy(Qt::TabFocus);
    bar->addWidget(button);
  }
  QSplitter* const body = makeSplitter(Qt::Horizontal, {sides_, effect_}, {460, 580});
  QVBoxLayout* const page = fillWithColumn(*this);
  page->addWidget(controls);
  page->addWidget(body, 1);
  setFirstFocus(sides_->firstFocus());
}

void InterventionsView::connectAll() {
  InterventionRoutes& routes = sides_->routes();
  connect(&routes, &InterventionRoutes::status, this, &View::status);
  connect(&routes, &InterventionRoutes::selectionRequested, this,
          [this](const Selection& selection) { changeSelection(u"Select a route"_s, selection); });
  connect(&routes, &InterventionRoutes::scopeSelected, this,
          [this] { recordChange(u"Select the scope of the edit"_s); });
  connect(&routes, &InterventionRoutes::scaleRequested, this, &InterventionsView::scale);
  InterventionParts& parts = sides_->parts();
  connect(&parts, &InterventionParts::status, this, &View::status);
  connect(&parts, &InterventionParts::selectionRequested, this, &InterventionsView::selectPart);
  connect(&parts, &InterventionParts::editRequested, this, &InterventionsView::editPart);
  connect(effect_, &InterventionEffect::partSelected, this, &InterventionsView::selectPart);
  connect(&sides_->kind(), &QComboBox::activated, this, [this] {
    changeState(u"Edit routes or parts"_s, [this] { sides_->selectKind(); });
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
    sides_->routes().setScope(RouteScope::kLayerSource);
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
  if (selected != nullptr) effect_->setHasRoutes(InterventionSides::hasRoutes(*selected));
  showAnswers();
  draw();
}

void InterventionsView::clearRouters() {
  sides_->routes().setRouters(nullptr, {}, {}, preferences());
  routers_.reset();
}

void InterventionsView::readRouters() {
  const Document* const selected = document();
  // A hidden view reads nothing.
  if (selected == nullptr || !isVisible()) return;
  using Routers = std::shared_ptr<const CheckpointRouters>;
  shown_ = selected->id;
  if (!InterventionSides::hasRoutes(*selected)) return applyEdits();
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
  if (selected == nullptr || (!routers_ && InterventionSides::hasRoutes(*selected))) return;
  try {
    checkEdits(edits_.now(), selected->checkpoint->config());
    problem_.clear();
  } catch (const Error& error) {
    // The checkpoint was rewritten.
    problem_ = u"%1; the edits were discarded"_s.arg(toQString(error));
    edits_.set({});
  }
  if (routers_) {
    const CheckpointRouters& trained = routers_->trained();
    edits_.routes.setShape(trained.num_layers(), trained.num_heads(), preferences().layer_base);
    routers_->set_edits(edits_.routes.edits());
  }
  draw();
  effect_->showNote(note());
  if (std::exchange(runs_when_read_, false)) run();
}

void InterventionsView::setEdits(const QString& text, DecoderEdits edits) {
  recordChange(u"Type a text"_s);
  changeState(text, [&] {
    edits_.set(std::move(edits));
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
  setEdits(actionText(edit, preferences().layer_base),
           {InterventionEdits::with(edits_.routes.edits(), edit), edits_.parts.edits()});
}

void InterventionsView::editPart(const PartEdit& edit) {
  if (document() == nullptr) return;
  setEdits(actionText(edit, preferences().layer_base),
           {edits_.routes.edits(), PartEdits::with(edits_.parts.edits(), edit)});
  if (edit.is_patched && effect_->secondLines().isEmpty()) effect_->editor().showSecondText();
}

void InterventionsView::selectPart(const PartEdit& part) {
  Selection selection = workspace().selection();
  selection.layer = part.layer;
  if (part.part == DecoderPart::kHead) selection.head = part.head;
  sides_->selectPart(part.part);
  changeSelection(u"Select a part"_s, selection);
  draw();
}

void InterventionsView::showSides() {
  sides_->show({.document = document(),
                .routers = routers_.get(),
                .selection = &workspace().selection(),
                .run = &run_,
                .message = emptyMessage()},
               preferences());
  setFirstFocus(sides_->firstFocus());
}

void InterventionsView::draw() {
  showSides();
  Q_EMIT figureChanged();
}

void InterventionsView::showAnswers() {
  effect_->runBar().setRunnable(document() != nullptr);
  const std::size_t colour = document() == nullptr ? 0 : modelColour(document()->colour);
  effect_->showRun(run_, note(), preferences(), colour);
  if (sides_->showsParts()) showSides();
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

QString InterventionsView::note() const {
  // Without routers, a LIMe shows it in their place.
  const Document* const selected = document();
  const bool is_shown =
      selected != nullptr && (routers_ || !InterventionSides::hasRoutes(*selected));
  if (is_shown && !problem_.isEmpty()) return problem_;
  return run_.note(currentRequest());
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
      [this] { setEdits(u"Reset the edits"_s, {}); });
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
  problem_ = requested->problem();
  if (!problem_.isEmpty()) return showAnswers();
  // The line stays where the text does.
  const std::optional<InterventionRequest>& before = run_.request();
  if (before && before->lines == requested->lines) requested->line = before->line;
  run_.start(*requested);
}

std::vector<Shortcut> InterventionsView::shortcuts() const {
  return InterventionSides::shortcuts();
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
    DecoderEdits edits = readEditsFile(toPath(path));
    if (selected != nullptr) checkEdits(edits, selected->checkpoint->config());
    setEdits(u"Load edits"_s, std::move(edits));
    edit_file_ = path;
  });
}

void InterventionsView::saveEdits(const QString& path) {
  attempt([&] {
    throw_if(edits_.isEmpty(),
             "save edits: there are no edits to save; ablate a route or a part first");
    write_file_atomically(toPath(path), editsFile(edits_.now()));
    edit_file_ = path;
  });
}

void InterventionsView::loadText(const QString& path) {
  attempt([&] {
    const QString text = readText(path);
    recordChange(u"Type a text"_s);
    changeState(u"Load a text"_s, [&] { effect_->editor().setText(text); });
    rememberState();
    effect_->editor().setFile(path);
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
      .edits = edits_.now(),
      .lines = lines,
      .second = edits_.now().patches() ? effect_->secondLines() : QStringList(),
      .score = effect_->runBar().score(),
      .line = std::min(effect_->editor().cursorLine(), static_cast<int>(lines.size()) - 1),
      .threads = preferences().threads,
      .sweep = sweptOver(effect_->site()),
      .sites = InterventionSides::hasRoutes(*selected) ? InterventionRequest().sites
                                                       : QStringList(u"hidden"_s)};
}

Json InterventionsView::state() const {
  Json state = {{"checkpoint", edits_.checkpoint()}};
  for (const Json& part : {edits_.state(), sides_->state(), effect_->state()}) state.update(part);
  return state;
}

void InterventionsView::restoreEdits(const Json& state) {
  const auto* const requested = workspace().documentAt(state.value("checkpoint", std::string()));
  if (requested != nullptr && requested != document()) {
    selectData(*checkpoint_, requested->id);
    selectCheckpoint();
  }
  if (edits_.setState(state)) edit_file_.clear();
}

void InterventionsView::setState(const Json& state) {
  const DecoderEdits before = edits_.now();
  restoreEdits(state);
  sides_->setState(state);
  effect_->setState(state);
  rememberState();
  runs_when_read_ = state.value("run", false);
  applyEdits();
  showAnswers();
  const bool is_changed = before != edits_.now();
  if (is_changed && effect_->runBar().runsLive() && currentRequest()) live_->start();
}

QStringList InterventionsView::commandLines() const {
  const Document* const selected = document();
  const std::optional<InterventionRequest> requested = currentRequest();
  if (selected == nullptr || (edits_.isEmpty() && !requested)) return {};
  InterventionCommand command;
  if (requested) command.request = *requested;
  command.request.edits = edits_.now();
  const auto& shown = run_.request();
  if (requested && shown && shown->lines == requested->lines) command.request.line = shown->line;
  command.text_file = effect_->editor().file();
  command.edit_file = edit_file_;
  command.site = effect_->site();
  command.figure_options = layerBaseOption();
  command.draws_entropies = panes().active() == &effect_->entropies();
  return interventionCommandLines(command);
}

}  // namespace lime::explorer
