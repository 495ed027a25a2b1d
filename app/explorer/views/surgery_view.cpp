// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/surgery_view.h"

#include <QAction>
#include <QComboBox>
#include <QCoreApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "analysis/edited_routers.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/router_layout.h"
#include "core/errors.h"
#include "explorer/models/router_figures.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/surgery_effect.h"
#include "explorer/views/surgery_routes.h"

namespace lime::explorer {
namespace {

constexpr int kLivePauseMs = 300;  // after the last edit, before it is run

/// Whether the routers of a document have weights that edits can scale.
bool hasRoutes(const Document& document) {
  if (!document.checkpoint) return false;
  const ModelConfig& config = document.checkpoint->config();
  return config.decoder == DecoderKind::kLime && has_static_router(config, 1);
}

}  // namespace

SurgeryView::SurgeryView(const ViewContext& context, QWidget* parent)
    : View(QStringLiteral("Surgery"), context, parent),
      run_(context.jobs),
      checkpoint_(nullptr),
      routes_(new SurgeryRoutes(edits_)),
      effect_(new SurgeryEffect),
      active_(&routes_->layers()),
      live_(new QTimer(this)) {
  run_.setPrograms(SurgeryPrograms::find(QCoreApplication::applicationDirPath()));
  live_->setSingleShot(true);
  live_->setInterval(kLivePauseMs);
  layOut();
  connectAll();
  connectWorkspace();
  listCheckpoints();
  activate(active_);
  rememberState();
}

SurgeryView::~SurgeryView() {
  // A window that goes takes the focus from its widgets, which tell of it.
  for (QObject* const child : findChildren<QObject*>()) child->disconnect(this);
}

void SurgeryView::layOut() {
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(12, 8, 12, 8);
  bar->setSpacing(8);
  checkpoint_ = addChoiceBox(*bar, QStringLiteral("&Checkpoint"),
                             QStringLiteral("The LIMe whose routes are edited"));
  checkpoint_->setMinimumContentsLength(12);
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
  QSplitter* const body = makeSplitter(Qt::Horizontal, {routes_, effect_}, {460, 580});
  QVBoxLayout* const page = fillWithColumn(*this);
  page->addLayout(bar);
  page->addWidget(body, 1);
  setFirstFocus(&routes_->layers().plot());
}

void SurgeryView::connectAll() {
  for (FigurePane* const pane :
       {&routes_->layers(), &routes_->weights(), &effect_->next(), &effect_->entropies()}) {
    connect(pane, &FigurePane::activated, this, [this, pane] { activate(pane); });
  }
  connect(routes_, &SurgeryRoutes::status, this, &View::status);
  connect(routes_, &SurgeryRoutes::selectionWanted, this, [this](const Selection& selection) {
    changeSelection(QStringLiteral("Choose a route"), selection);
  });
  connect(routes_, &SurgeryRoutes::scopeChosen, this,
          [this] { recordChange(QStringLiteral("Choose which routes")); });
  connect(routes_, &SurgeryRoutes::scaleWanted, this, &SurgeryView::scale);
  connect(effect_, &SurgeryEffect::status, this, &View::status);
  connect(effect_, &SurgeryEffect::runWanted, this, &SurgeryView::run);
  connect(effect_, &SurgeryEffect::stopWanted, this, [this] { run_.cancel(); });
  connect(effect_, &SurgeryEffect::textTyped, this,
          [this] { recordChange(QStringLiteral("Type a text")); });
  connect(effect_, &SurgeryEffect::choiceChanged, this, [this](const QString& what) {
    recordChange(what);
    showAnswers();
  });
  connect(effect_, &SurgeryEffect::lineWanted, this, &SurgeryView::lookAt);
  connect(&run_, &SurgeryRun::changed, this, &SurgeryView::showAnswers);
  connect(&run_, &SurgeryRun::progressed, this, [this] { effect_->showProgress(run_); });
  connect(live_, &QTimer::timeout, this, &SurgeryView::run);
  connect(checkpoint_, &QComboBox::activated, this, [this] {
    workspace().setCurrent(checkpoint_->currentData().toInt());
    chooseCheckpoint();
  });
}

void SurgeryView::connectWorkspace() {
  connect(&workspace(), &Workspace::documentAdded, this, [this] { listCheckpoints(); });
  connect(&workspace(), &Workspace::documentRemoved, this, [this] { listCheckpoints(); });
  connect(&workspace(), &Workspace::documentChanged, this, [this](int id) {
    const Document* const changed = workspace().find(id);
    if (changed != nullptr && id == shown_ && changed->state == DocumentState::kPresent) {
      shown_ = 0;  // another one may lie at its path
      run_.forget();
    }
    listCheckpoints();
  });
  connect(&workspace(), &Workspace::currentChanged, this, [this](int id) {
    if (checkpoint_->findData(id) < 0 || checkpoint_->currentData().toInt() == id) return;
    chooseData(*checkpoint_, id);
    chooseCheckpoint();
  });
  connect(&workspace(), &Workspace::selectionChanged, this, [this] {
    if (isVisible()) draw();
  });
}

void SurgeryView::listCheckpoints() {
  const QVariant wanted = checkpoint_->currentData();
  {
    const QSignalBlocker quiet(checkpoint_);
    checkpoint_->clear();
    for (const Document* const document : workspace().documentsOf(DocumentKind::kCheckpoint)) {
      if (hasRoutes(*document)) checkpoint_->addItem(document->label, document->id);
    }
    chooseData(*checkpoint_, wanted);
    checkpoint_->setEnabled(checkpoint_->count() > 0);
  }
  chooseCheckpoint();
}

const Document* SurgeryView::document() const {
  return workspace().find(checkpoint_->currentData().toInt());
}

void SurgeryView::chooseCheckpoint() {
  const Document* const chosen = document();
  const int id = chosen == nullptr ? 0 : chosen->id;
  if (id != shown_) {
    shown_ = 0;
    forgetRouters();
    problem_.clear();
    run_.forget();
    readRouters();
  }
  showAnswers();
  draw();
}

void SurgeryView::forgetRouters() {
  routes_->setRouters(nullptr, {}, {});
  routers_.reset();
}

void SurgeryView::readRouters() {
  const Document* const chosen = document();
  // Nothing is read for a view that nobody looks at.
  if (chosen == nullptr || !isVisible()) return;
  using Routers = std::shared_ptr<const RouterExploration>;
  shown_ = chosen->id;
  jobs().start<Routers>(
      this,
      {.title = QStringLiteral("Reading the router of %1").arg(chosen->label),
       .key = QStringLiteral("surgery/routers"),
       .is_shown = false},
      [checkpoint = chosen->checkpoint](const JobContext&) -> Routers {
        return std::make_shared<const RouterExploration>(*checkpoint);
      },
      [this](Routers routers) {
        forgetRouters();
        routers_ = std::make_unique<EditedRouters>(std::move(routers));
        applyEdits();
      },
      [this](const QString& problem) {
        problem_ = problem;
        draw();
      });
}

void SurgeryView::applyEdits() {
  const Document* const chosen = document();
  if (chosen == nullptr || !routers_) return;
  try {
    check_router_edits(edits_.edits(), chosen->checkpoint->config());
    problem_.clear();
  } catch (const Error& error) {
    // Of another model, or of a session before this one changed.
    problem_ = QStringLiteral("%1; the edits were left out").arg(toQString(error));
    edits_.setEdits({});
  }
  const RouterExploration& trained = routers_->trained();
  edits_.setShape(trained.num_layers(), trained.num_heads(), preferences().layer_base);
  routers_->set_edits(edits_.edits());
  draw();
  effect_->showNote(note());  // the answers are what they were
  if (!std::exchange(runs_when_read_, false)) return;
  run();
}

void SurgeryView::setEdits(const QString& text, std::vector<RouterEdit> edits) {
  recordChange(QStringLiteral("Type a text"));
  changeState(text, [&] {
    edits_.setEdits(std::move(edits));
    edit_file_.clear();
  });
  rememberState();
  applyEdits();
  if (effect_->runsLive() && question()) live_->start();
}

void SurgeryView::scale(const RouterEdit& edit) {
  const Document* const chosen = document();
  if (chosen == nullptr) return;
  try {
    check_router_edits({edit}, chosen->checkpoint->config());
  } catch (const Error& error) {
    problem_ = toQString(error);
    draw();  // the controls show the scale that there is
    showAnswers();
    return;
  }
  const QString routes = routesText(edit, preferences().layer_base);
  QString text = QStringLiteral("Scale %1").arg(routes);
  if (edit.scale == 0.0) text = QStringLiteral("Switch off %1").arg(routes);
  if (edit.scale == 1.0) text = QStringLiteral("Restore %1").arg(routes);
  setEdits(text, SurgeryEdits::with(edits_.edits(), edit));
}

Selection SurgeryView::chosen() const {
  Selection selection = completed(workspace().selection(), routers_->trained());
  // Layer 0 has no router.
  selection.layer = std::max(*selection.layer, 1);
  selection.source_head = selection.source_head.value_or(0);
  return selection;
}

void SurgeryView::draw() {
  routes_->setPreferences(preferences());
  routes_->setRouters(routers_.get(), routers_ ? chosen() : Selection(), emptyMessage());
  Q_EMIT figureChanged();
}

void SurgeryView::showAnswers() {
  effect_->setRunnable(document() != nullptr);
  effect_->showRun(run_, note(), preferences());
  for (QAction* const action : actions()) {
    if (action->data().toBool()) action->setEnabled(document() != nullptr);
  }
  Q_EMIT figureChanged();
}

QString SurgeryView::emptyMessage() const {
  if (!problem_.isEmpty()) return problem_;
  if (document() != nullptr) return QStringLiteral("Reading the routers ...");
  const bool has_checkpoint = !workspace().documentsOf(DocumentKind::kCheckpoint).empty();
  const QString what = QStringLiteral(
      "Open the folder of a LIMe. Then choose routes on its maps, switch them off or scale them, "
      "and run a text through the model to see what that does.");
  if (!has_checkpoint) return QStringLiteral("No checkpoint is open.\n\n") + what;
  return QStringLiteral(
             "None of the open checkpoints has routes to edit: a plain transformer has none, and "
             "dynamic or average routers have no weights of their own.\n\n") +
         what;
}

bool SurgeryView::isOutdated() const {
  const std::optional<SurgeryQuestion> now = question();
  const std::optional<SurgeryQuestion>& then = run_.question();
  return now && then && !now->isSameBut(*then);
}

QString SurgeryView::note() const {
  if (routers_ && !problem_.isEmpty()) return problem_;
  if (!run_.problem().isEmpty() && !run_.isRunning()) return run_.problem();
  if (isOutdated()) {
    return QStringLiteral(
        "These are the answers to other edits or another text; Run (Ctrl+Return) "
        "asks anew.");
  }
  if (run_.question() && run_.question()->edits.empty() && !run_.isRunning()) {
    return QStringLiteral("Nothing is edited yet: before and after are the same.");
  }
  return {};
}

void SurgeryView::activate(FigurePane* pane) {
  active_ = pane;
  for (FigurePane* const each :
       {&routes_->layers(), &routes_->weights(), &effect_->next(), &effect_->entropies()}) {
    each->setActive(each == pane);
  }
  Q_EMIT figureChanged();
}

std::optional<Figure> SurgeryView::figure() const {
  const Figure* const shown = active_->plot().figure();
  if (shown == nullptr) return std::nullopt;
  return *shown;
}

void SurgeryView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) {
    draw();
    showAnswers();
  }
  View::changeEvent(event);
}

void SurgeryView::showEvent(QShowEvent* event) {
  View::showEvent(event);
  if (shown_ == 0) readRouters();
  draw();
}

void SurgeryView::zoom(double factor) { active_->plot().zoom(factor); }
void SurgeryView::showAll() { active_->plot().showAll(); }

ViewKind surgeryViewKind() {
  return {.id = QStringLiteral("surgery"),
          .title = QStringLiteral("Surgery"),
          .question = QStringLiteral("What does the model do without some of its routes?"),
          .shows = hasRoutes,
          .make = [](const ViewContext& context, QWidget* parent) -> View* {
            return new SurgeryView(context, parent);
          }};
}

}  // namespace lime::explorer
