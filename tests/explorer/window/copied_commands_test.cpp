// SPDX-License-Identifier: Apache-2.0
// "Copy as command line" copies commands that draw the figure that the view shows.
#include <fmt/format.h>

#include <Eigen/Core>
#include <QComboBox>
#include <QTableView>
#include <QTest>
#include <QUndoStack>
#include <cmath>
#include <fstream>
#include <sstream>

#include "analysis/write_capture.h"
#include "analysis/write_pairs.h"
#include "explorer/collapse/collapse_view.h"
#include "explorer/embeddings/embeddings_view.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "explorer/probes/probes_view.h"
#include "explorer/results/results_view.h"
#include "explorer/router/router_panes.h"
#include "explorer/router/router_view.h"
#include "explorer/widgets/figure_view.h"
#include "support/test_data.h"
#include "viz/figure_file.h"

namespace lime::explorer::testing {
namespace {

using Table = std::vector<std::vector<std::string>>;

/// Returns the cells of a CSV without titles of panels, which a view writes above them.
Table cellsOf(std::istream& csv) {
  Table table;
  for (std::string line; std::getline(csv, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells;
    // A quoted title may contain commas.
    const std::size_t quote = line.find(",\"");
    if (quote != std::string::npos) line.erase(quote + 1, line.find('"', quote + 2) - quote);
    std::istringstream words(line);
    for (std::string cell; std::getline(words, cell, ',');) cells.push_back(cell);
    cells.erase(cells.begin() + 1);
    table.push_back(std::move(cells));
  }
  return table;
}

/// Replaces the coordinates of one panel by the distance from the centre, where the mean is 1. The
/// Embeddings view turns, moves and scales the layers of t-SNE, to follow points across layers.
void removeTurn(Table& table) {
  constexpr std::size_t kX = 2;
  const auto rows = static_cast<Eigen::Index>(table.size()) - 1;
  Eigen::MatrixXd points(rows, 2);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const auto& row = table[static_cast<std::size_t>(i) + 1];
    points.row(i) << std::stod(row[kX]), std::stod(row[kX + 1]);
  }
  const Eigen::RowVectorXd centre = points.colwise().mean();
  const Eigen::VectorXd distance = (points.rowwise() - centre).rowwise().norm();
  for (Eigen::Index i = 0; i < rows; ++i) {
    auto& row = table[static_cast<std::size_t>(i) + 1];
    row[kX] = fmt::format("{:.4f}", distance(i) / distance.mean());
    row[kX + 1] = "";
  }
}

bool isEqual(const std::string& a, const std::string& b) {
  if (a == b) return true;
  try {
    return std::abs(std::stod(a) - std::stod(b)) < 1e-9 * std::max(1.0, std::abs(std::stod(a)));
  } catch (const std::exception&) {
    return false;
  }
}

class CopiedCommandsTest : public WorkspaceTest {
 protected:
  /// Runs the commands of the view, and expects the numbers of its figure.
  void expectTheyDraw(const View& view) {
    const QStringList lines = view.commandLines();
    ASSERT_FALSE(lines.isEmpty());
    ASSERT_TRUE(lines.back().startsWith("lime-figure ")) << lines.back().toStdString();
    const std::string csv = (folder_ / "drawn.csv").string();
    for (QString line : lines) {
      if (line == lines.back()) line = line.section(" -o ", 0, 0) + " -o " + toQString(csv);
      ASSERT_NO_FATAL_FAILURE(run(line.toStdString()));
    }
    std::ifstream drawn(csv);
    std::istringstream shown(figure_to_csv(*view.figure()));
    Table a = cellsOf(shown);
    Table b = cellsOf(drawn);
    if (is_turned_) {
      removeTurn(a);
      removeTurn(b);
    }
    ASSERT_EQ(a.size(), b.size()) << lines.back().toStdString();
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size());
      for (std::size_t c = 0; c < a[i].size(); ++c) {
        // One in the last of the digits that removeTurn() keeps.
        EXPECT_TRUE(isEqual(a[i][c], b[i][c]) ||
                    (is_turned_ && std::abs(std::stod(a[i][c]) - std::stod(b[i][c])) < 1.5e-4))
            << a[i][c] << " is not " << b[i][c];
      }
    }
  }
  void run(const std::string& line) {
    const lime::testing::ProgramRun run = lime::testing::run_command(
        "cd '" + folder_.path().string() + "' && PATH='" LIME_PROGRAMS "':\"$PATH\" " + line);
    ASSERT_EQ(run.status, 0) << line << "\n" << run.errors;
  }
  /// Writes a capture of three words that two layers separate.
  QString wordsFile(const std::string& name, std::uint64_t seed = 1) {
    constexpr int kNumTokens = 90;
    lime::testing::SmallCapture capture;
    capture.lengths.assign(kNumTokens / 3, 3);
    capture.class_names = {" is", " are", " was"};
    for (int i = 0; i < kNumTokens; ++i)
      capture.class_id.push_back(static_cast<std::int16_t>(i % 3));
    for (const int layer : {0, 1}) {
      MatrixF rows =
          lime::testing::random_matrix(kNumTokens, 5, seed + static_cast<unsigned>(layer));
      for (int i = 0; i < kNumTokens; ++i) rows(i, i % 3) += 1.0F;
      capture.activations.push_back({"values", layer, rows});
    }
    lime::testing::write_capture(folder_ / name, capture);
    return toQString(folder_ / name);
  }
  static void expectNoRecipe(const View& view) {
    const QStringList lines = view.commandLines();
    EXPECT_TRUE(lines.isEmpty() || !lines.back().startsWith("lime-figure "))
        << lines.back().toStdString();
  }
  bool idle() {
    return waitUntil([this] { return jobs_.isIdle(); });
  }

  bool is_turned_ = false;  ///< see removeTurn()
  Preferences preferences_;
  QUndoStack undo_;
  ViewContext context_{workspace_, jobs_, undo_, preferences_};
};

TEST_F(CopiedCommandsTest, OfTheRouterDrawItsHeatmaps) {
  RouterView view(context_);
  view.resize(1000, 700);
  view.show();
  open({checkpointFolder()});
  ASSERT_TRUE(idle());
  expectTheyDraw(view);
  preferences_.layer_base = 1;
  auto& heads = childCalled<FigureView>(view, "map of the heads of a layer");
  heads.setFocus();
  QTest::mouseClick(&heads, Qt::LeftButton, {}, heads.panelArea(0).center().toPoint());
  expectTheyDraw(view);
  view.setState({{"detail", static_cast<int>(RouterDetail::kAllHeads)}});
  auto& all = childCalled<FigureView>(view, "weights of heads, or flow into a head");
  QTest::mouseClick(&all, Qt::LeftButton, {}, all.panelArea(0).center().toPoint());
  expectTheyDraw(view);
  QTest::mouseClick(&heads, Qt::LeftButton, {}, heads.panelArea(0).center().toPoint());
  for (const Json& state : {Json{{"signed", true}}, Json{{"normalised", false}},
                            Json{{"sorted", true}}, Json{{"threshold", 0.5}}}) {
    view.setState({{"signed", false}, {"normalised", true}, {"sorted", false}, {"threshold", 0.0}});
    expectTheyDraw(view);
    view.setState(state);
    expectNoRecipe(view);
  }
}

TEST_F(CopiedCommandsTest, OfCollapseLeaveOutCapturesThatAreRefused) {
  CollapseView view(context_);
  view.resize(1000, 700);
  view.show();
  captureFile("a.h5");
  lime::testing::write_capture(folder_ / "b.h5", lime::testing::example_capture(7));
  open({toQString(folder_ / "a.h5"), toQString(folder_ / "b.h5")});
  ASSERT_TRUE(idle());
  expectTheyDraw(view);
  view.setState(Json{{"measure", "effective_rank"}});
  ASSERT_TRUE(idle());
  expectTheyDraw(view);
  workspace_.setSelection({.layer = 1});
  ASSERT_TRUE(idle());
  expectTheyDraw(view);
}

TEST_F(CopiedCommandsTest, OfEmbeddingsDrawTheirLayersAndClasses) {
  EmbeddingsView view(context_);
  view.resize(1000, 700);
  view.show();
  const QString words = wordsFile("words.h5");
  is_turned_ = true;
  run("lime-metrics tsne words.h5 --perplexity 5 -o tsne.json");
  open({words, toQString(folder_ / "tsne.json")});
  ASSERT_TRUE(idle());
  ASSERT_TRUE(view.figure());
  expectTheyDraw(view);
  workspace_.setSelection({.layer = 1});
  ASSERT_TRUE(waitUntil([&] { return view.commandLines().back().contains("--layer 1 "); }));
  QTest::qWait(700);  // the points arrive
  expectTheyDraw(view);
  for (const char* const colour : {"token", "position", "sequence"}) {
    view.setState({{"colour", colour}});
    expectNoRecipe(view);
  }
  view.setState({{"colour", "class"}});
  preferences_.layer_base = 1;
  expectTheyDraw(view);
}

TEST_F(CopiedCommandsTest, OfProbesDrawTheirCurves) {
  ProbesView view(context_);
  view.resize(1000, 700);
  view.show();
  open({wordsFile("a.h5"), wordsFile("b.h5", 7)});
  ASSERT_TRUE(idle());
  ASSERT_TRUE(view.figure());
  expectTheyDraw(view);
  workspace_.setSelection({.layer = 1});
  ASSERT_TRUE(idle());
  expectTheyDraw(view);
  childCalled<FigureView>(view, "confusion matrix").setFocus();
  expectNoRecipe(view);
  childCalled<FigureView>(view, "accuracy over layers").setFocus();
  preferences_.layer_base = 1;
  view.setState(view.state());
  expectTheyDraw(view);
  workspace_.closeAll();
  lime::testing::write_pairs(folder_ / "pairs.h5", lime::testing::example_pairs());
  open({toQString(folder_ / "pairs.h5")});
  ASSERT_TRUE(idle());
  view.setState({{"probe", "blimp"}});
  ASSERT_TRUE(idle());
  ASSERT_TRUE(view.figure());
  expectTheyDraw(view);
  const auto& tasks = childCalled<QTableView>(view, "accuracy of tasks and layers");
  view.setState({{"task", tasks.model()->index(1, 0).data().toString().toStdString()}});
  ASSERT_TRUE(idle());
  expectTheyDraw(view);
}

TEST_F(CopiedCommandsTest, OfResultsNameWhatIsChecked) {
  ResultsView view(context_);
  view.resize(1000, 700);
  view.show();
  open({resultsFile("a.json"), resultsFile("b.json")});
  ASSERT_TRUE(view.figure()) << view.findChild<FigureView*>()->message().toStdString();
  expectTheyDraw(view);
}

}  // namespace
}  // namespace lime::explorer::testing
