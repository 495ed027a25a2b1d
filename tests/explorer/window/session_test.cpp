// SPDX-License-Identifier: Apache-2.0
// What the window shows after it was closed and started again.
#include "explorer/window/session.h"

#include <QSettings>
#include <filesystem>

#include "analysis/tsne/tsne_analysis.h"
#include "analysis/write_capture.h"
#include "analysis/write_pairs.h"
#include "explorer/explorer_fixture.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/models/text.h"
#include "explorer/widgets/notice_bar.h"
#include "explorer/window/main_window.h"
#include "explorer/window/view_kinds.h"
#include "store/capture_reader.h"
#include "store/results_file.h"

namespace lime::explorer::testing {
namespace {

namespace fs = std::filesystem;

class SessionTest : public WorkspaceTest {
 protected:
  SessionTest() { QSettings().clear(); }

  static void finish(MainWindow& window) {
    ASSERT_TRUE(waitUntil([&] { return window.jobs().isIdle(); }));
  }
  static void openIn(MainWindow& window, const QStringList& paths) {
    window.workspace().open(paths);
    finish(window);
  }
  /// Shows every view, so that all have computed what they show.
  static void showAll(MainWindow& window) {
    for (const ViewKind& kind : allViews()) {
      window.showView(kind.id);
      finish(window);
    }
  }
  static void restore(MainWindow& window) {
    window.show();
    window.restoreSession();
    finish(window);
  }
  static Json statesOf(const MainWindow& window) {
    Json states = Json::object();
    for (const View* const view : window.views()) {
      states[view->title().toStdString()] = view->state();
    }
    return states;
  }
  static InterventionsView& interventionsOf(const MainWindow& window) {
    return *window.findChild<InterventionsView*>();
  }
  static QString noticeOf(const MainWindow& window) {
    const auto* const notice = window.findChild<NoticeBar*>();
    return notice->isVisibleTo(&window) ? notice->text() : QString();
  }
  static const Document& document(MainWindow& window, const QString& path) {
    return *window.workspace().documentAt(toPath(path));
  }

  QString captureOf(const std::string& name, std::uint64_t seed) {
    lime::testing::write_capture(folder_ / name, lime::testing::example_capture(seed));
    return toQString(folder_ / name);
  }
  QString pairsFile() {
    lime::testing::write_pairs(folder_ / "pairs.h5", lime::testing::example_pairs());
    return toQString(folder_ / "pairs.h5");
  }
  /// Writes results of t-SNE of a capture: two sites, one layer.
  QString embeddingsFile(const QString& capture) {
    const CaptureReader reader(toPath(capture));
    ClassRows rows;
    for (std::int64_t row = 0; row < reader.num_rows(); ++row) {
      rows.row.push_back(row);
      rows.class_id.push_back(0);
    }
    rows.class_names = {" is"};
    CaptureEmbeddings points = points_of("a", reader, rows);
    Results results;
    results.metric = "tsne";
    results.inputs = {{toPath(capture), std::string(64, '0'), "a"}};
    for (const std::string site : {"hidden", "values"}) {
      points.layers.push_back(
          {site, 0, lime::testing::random_matrix(reader.num_rows(), 2, 1), 0.5});
      results.rows.push_back({{col::kLabel, "a"}, {col::kSite, site}, {col::kLayer, 0}});
    }
    write_embeddings(folder_ / "tsne.embeddings.h5", {points});
    write_results(folder_ / "tsne.json", results);
    return toQString(folder_ / "tsne.json");
  }

  const Json ablation_ = {{{"layer", 2}, {"source", 1}, {"scale", 0.0}}};
};

TEST_F(SessionTest, AnAblationReturnsToItsCheckpoint) {
  const QString edited = checkpointFolder("lm-lime");
  const QString other = checkpointFolder("aet-lime");
  {
    MainWindow window;
    window.show();
    openIn(window, {edited, other});
    window.workspace().setCurrent(document(window, edited).id);
    window.setStates({{"interventions", {{"edits", ablation_}}}});
    EXPECT_EQ(interventionsOf(window).edits().checkpoint(), edited.toStdString());
    window.close();
  }
  MainWindow window;
  restore(window);
  EXPECT_TRUE(noticeOf(window).isEmpty()) << noticeOf(window).toStdString();
  const InterventionEdits& edits = interventionsOf(window).edits();
  EXPECT_EQ(edits.checkpoint(), edited.toStdString());
  ASSERT_EQ(edits.edits().size(), 1U);
  EXPECT_EQ(edits.edits().front().layer, 2);
  window.workspace().setCurrent(document(window, other).id);
  EXPECT_EQ(edits.checkpoint(), other.toStdString());
  EXPECT_TRUE(edits.edits().empty()) << "they are of another model";
}

TEST_F(SessionTest, EveryViewReturnsToItsDocumentsSitesAndSettings) {
  const QString first = checkpointFolder("first");
  const QString second = checkpointFolder("second");
  const QString a = captureOf("a.h5", 1);
  const QString b = captureOf("b.h5", 2);
  const QString embeddings = embeddingsFile(a);
  Json before;
  {
    MainWindow window;
    window.show();
    openIn(window, {first, second, a, b, pairsFile(), resultsFile(), embeddings});
    showAll(window);
    window.setStates(
        {{"router",
          {{"checkpoint", first.toStdString()},
           {"minus", second.toStdString()},
           {"sorted", true},
           {"weighting", ""},
           {"threshold", 0.25}}},
         {"collapse",
          {{"site", "hidden"}, {"measure", "curvature"}, {"sequences", 0}, {"layer", 1}}},
         {"embeddings", {{"site", "values"}, {"colour", "position"}}},
         {"probes", {{"probe", "blimp"}, {"shares", true}, {"wrong_only", true}}},
         {"text",
          {{"capture", a.toStdString()}, {"site", "values"}, {"sequence", 2}, {"measure", "norm"}}},
         {"interventions",
          {{"checkpoint", first.toStdString()},
           {"edits", ablation_},
           {"site", "routed_values"},
           {"text", "a b"}}},
         {"results", {{"metric", "entropy"}, {"hidden_sites", Json::array()}}}});
    finish(window);
    window.workspace().rename(document(window, b).id, u"mine"_s);
    window.workspace().setCurrent(document(window, embeddings).id);
    window.showView("text");
    finish(window);
    before = statesOf(window);
    EXPECT_EQ(before["Collapse"]["site"], "hidden");
    EXPECT_EQ(before["Embeddings"]["site"], "values");
    EXPECT_EQ(before["Probes"]["probe"], "blimp");
    EXPECT_EQ(before["Router"]["checkpoint"], first.toStdString());
    EXPECT_EQ(before["Text"]["capture"], a.toStdString());
    window.close();
  }
  MainWindow window;
  restore(window);
  // The capture of these results never existed, which the window says in any session.
  EXPECT_FALSE(noticeOf(window).contains("Not restored")) << noticeOf(window).toStdString();
  EXPECT_EQ(statesOf(window), before);
  EXPECT_EQ(document(window, b).label, u"mine"_s);
  showAll(window);
  EXPECT_EQ(statesOf(window), before) << "when every view has been shown";
}

TEST_F(SessionTest, AHiddenDocumentStaysHidden) {
  const QString shown = captureOf("a.h5", 1);
  const QString hidden = captureOf("b.h5", 2);
  {
    MainWindow window;
    openIn(window, {shown, hidden});
    window.workspace().setShown(document(window, hidden).id, false);
    window.workspace().setCurrent(document(window, shown).id);
    window.close();
  }
  MainWindow window;
  restore(window);
  EXPECT_TRUE(document(window, shown).is_shown);
  EXPECT_FALSE(document(window, hidden).is_shown);
  EXPECT_EQ(window.workspace().current(), document(window, shown).id);
}

TEST_F(SessionTest, SaysWhatIsNotRestoredAndKeepsTheEdits) {
  const QString edited = checkpointFolder("lm-lime");
  const QString other = checkpointFolder("aet-lime");
  const QString capture = captureOf("a.h5", 1);
  {
    MainWindow window;
    window.show();
    openIn(window, {edited, other, capture});
    window.setStates(
        {{"interventions", {{"checkpoint", edited.toStdString()}, {"edits", ablation_}}},
         {"text", {{"site", "values"}}}});
    window.close();
  }
  const fs::path elsewhere = folder_ / "elsewhere";
  fs::rename(toPath(edited), elsewhere);
  fs::remove(toPath(capture));
  {
    MainWindow window;
    restore(window);
    const QStringList lines = noticeOf(window).split(u'\n');
    EXPECT_EQ(lines.front(), "Not restored from the last session:");
    EXPECT_EQ(lines.filter(edited).size(), 1) << noticeOf(window).toStdString();
    EXPECT_EQ(lines.filter(capture).size(), 1) << noticeOf(window).toStdString();
    EXPECT_TRUE(lines.contains(u"Interventions: checkpoint"_s)) << noticeOf(window).toStdString();
    EXPECT_EQ(lines.filter("Text: capture").size(), 1) << noticeOf(window).toStdString();
    EXPECT_EQ(interventionsOf(window).edits().checkpoint(), other.toStdString());
    EXPECT_TRUE(interventionsOf(window).edits().edits().empty());
    window.close();
  }
  fs::rename(elsewhere, toPath(edited));
  MainWindow window;
  restore(window);
  EXPECT_TRUE(noticeOf(window).isEmpty()) << noticeOf(window).toStdString();
  openIn(window, {edited});
  EXPECT_EQ(interventionsOf(window).edits().checkpoint(), edited.toStdString());
  EXPECT_EQ(interventionsOf(window).edits().edits().size(), 1U);
}

TEST_F(SessionTest, AWindowThatClosesBeforeItIsRestoredLosesNothing) {
  const QString capture = captureOf("a.h5", 1);
  const QString checkpoint = checkpointFolder();
  {
    MainWindow window;
    openIn(window, {capture, checkpoint});
    window.setStates({{"collapse", {{"site", "hidden"}}}});
    window.close();
  }
  {
    MainWindow window;
    window.show();
    window.restoreSession();
    window.close();
  }
  MainWindow window;
  restore(window);
  EXPECT_EQ(window.workspace().documents().size(), 2U);
  EXPECT_EQ(statesOf(window)["Collapse"]["site"], "hidden");
}

TEST_F(SessionTest, ASettingOfAnotherVersionIsNamed) {
  {
    MainWindow window;
    openIn(window, {captureOf("a.h5", 1)});
    window.close();
  }
  QSettings settings;
  const QString key = u"session/views/collapse"_s;
  Json state = parse_json(settings.value(key).toString().toStdString(), "state");
  state["measure"] = "of_another_version";
  settings.setValue(key, toQString(state.dump()));
  MainWindow window;
  restore(window);
  EXPECT_EQ(noticeOf(window), "Not restored from the last session:\nCollapse: measure");
}

}  // namespace
}  // namespace lime::explorer::testing
