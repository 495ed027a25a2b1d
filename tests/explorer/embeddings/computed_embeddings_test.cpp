// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/computed_embeddings.h"

#include <QComboBox>
#include <QPushButton>
#include <QSlider>
#include <QToolButton>
#include <QToolTip>
#include <filesystem>

#include "explorer/embeddings/embedding_set.h"
#include "explorer/embeddings/embeddings_fixture.h"

namespace lime::explorer::testing {
namespace {

class ComputedEmbeddingsTest : public EmbeddingsViewTest {
 protected:
  /// Opens a capture of 100 random tokens in layers 0 and 1.
  void openCapture() {
    lime::testing::SmallCapture capture;
    capture.lengths = {60, 40};
    for (const int layer : {0, 1}) {
      capture.activations.push_back(
          {"hidden", layer,
           lime::testing::random_matrix(100, 6, static_cast<std::uint64_t>(layer + 1))});
    }
    lime::testing::write_capture(folder_ / "run.h5", capture);
    open({toQString(folder_ / "run.h5")});
  }
  EmbeddingRequest request() {
    EmbeddingRequest made;
    made.first_layer = 1;
    made.options.captures.captures = {folder_ / "run.h5"};
    made.options.captures.label = {"run"};
    made.options.captures.site = {"hidden"};
    made.options.align = true;
    made.options.tsne.iterations = 300;
    return made;
  }
  void compute() {
    auto* const button = view_.findChild<QPushButton*>();
    ASSERT_TRUE(waitUntil([&] { return button->isEnabled(); }));
    QTest::mouseClick(button, Qt::LeftButton);
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && !view_.canvases().empty(); }));
  }

  const JobContext context_{[](const Progress&) {}, {}, {}};
};

TEST_F(ComputedEmbeddingsTest, PrincipalComponentsComeFirstAndTsneLayerByLayer) {
  openCapture();
  std::vector<EmbeddingSet> parts;
  const EmbeddingSet all =
      computeEmbeddings(request(), workspace_.openInputs(), context_,
                        [&](EmbeddingSet part) { parts.push_back(std::move(part)); });
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].layers("hidden"), std::vector<int>{1}) << "the layer on display";
  EXPECT_EQ(parts[1].layers("hidden"), (std::vector<int>{0, 1}));
  EXPECT_EQ(parts[1].models[0].preliminary.size(), 2U);
  EXPECT_EQ(parts[2].models[0].preliminary.size(), 1U);
  EXPECT_TRUE(parts[3].models[0].preliminary.empty());
  EXPECT_EQ(*parts[3].models[0].coordinates("hidden", 1), *all.models[0].coordinates("hidden", 1));
  EXPECT_TRUE(all.models[0].preliminary.empty());
}

TEST_F(ComputedEmbeddingsTest, AreStoredBesideTheCaptureUntilItChanges) {
  openCapture();
  const auto numParts = [&] {
    int parts = 0;
    computeEmbeddings(request(), workspace_.openInputs(), context_, [&](EmbeddingSet) { ++parts; });
    return parts;
  };
  const EmbeddingSet first = computeEmbeddings(request(), workspace_.openInputs(), context_);
  const std::filesystem::path file = embeddingCacheOf(folder_ / "run.h5", false);
  EXPECT_EQ(file.filename(), "run.explorer-tsne.json");
  ASSERT_TRUE(std::filesystem::exists(file));
  EXPECT_EQ(numParts(), 0) << "they are read";
  const EmbeddingSet again = computeEmbeddings(request(), workspace_.openInputs(), context_);
  EXPECT_EQ(*again.models[0].coordinates("hidden", 0), *first.models[0].coordinates("hidden", 0));
  EXPECT_NE(again.models[0].sentences, nullptr);
  EmbeddingRequest other = request();
  other.options.tsne.perplexity = 10.0;
  int parts = 0;
  computeEmbeddings(other, workspace_.openInputs(), context_, [&](EmbeddingSet) { ++parts; });
  EXPECT_EQ(parts, 4) << "with other options";
  lime::testing::write_text(file, "{");
  EXPECT_EQ(numParts(), 4) << "a damaged file";
  std::filesystem::last_write_time(
      folder_ / "run.h5", std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_EQ(numParts(), 4) << "the capture is newer";
}

TEST_F(ComputedEmbeddingsTest, TokensWithoutClassesAreColouredByPosition) {
  openCapture();
  ASSERT_NO_FATAL_FAILURE(compute());
  EXPECT_EQ(childCalled<QComboBox>(view_, "Colour").currentText(), "position");
}

TEST_F(ComputedEmbeddingsTest, AViewOfTheCaptureShowsWhatWasStored) {
  openCapture();
  ASSERT_NO_FATAL_FAILURE(compute());
  JobRunner jobs;
  Workspace workspace(jobs);
  QUndoStack undo;
  EmbeddingsView view(ViewContext{workspace, jobs, undo, preferences_});
  view.resize(1000, 620);
  view.show();
  workspace.open({toQString(folder_ / "run.h5")});
  ASSERT_TRUE(waitUntil([&] { return jobs.isIdle() && !view.canvases().empty(); }));
  EXPECT_EQ(view.canvases().front()->size(), 100);
}

TEST_F(ComputedEmbeddingsTest, APlayButtonRunsThroughTheLayersAndStops) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  auto& play = childCalled<QToolButton>(view_, "play through layers");
  QTest::mouseClick(&play, Qt::LeftButton);
  EXPECT_EQ(play.text(), "Stop");
  ASSERT_TRUE(waitUntil([this] { return view_.findChild<QSlider*>()->value() == 100; }));
  ASSERT_TRUE(waitUntil([&] { return play.text() == "Play"; }));
}

TEST_F(ComputedEmbeddingsTest, TheTokenIsNamedAtThePointer) {
  ASSERT_NO_FATAL_FAILURE(openEmbeddings());
  QTest::mouseMove(&canvas(0), canvas(0).toPixel(5).toPoint());
  EXPECT_TRUE(QToolTip::text().contains("position")) << QToolTip::text().toStdString();
}

}  // namespace
}  // namespace lime::explorer::testing
