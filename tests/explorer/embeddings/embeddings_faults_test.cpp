// SPDX-License-Identifier: Apache-2.0
// Runs of t-SNE that diverged: the view names the layer and what to do.
#include <QLabel>
#include <QPushButton>
#include <algorithm>

#include "explorer/embeddings/embedding_loader.h"
#include "explorer/embeddings/embeddings_fixture.h"

namespace lime::explorer::testing {
namespace {

class EmbeddingsFaultsTest : public EmbeddingsViewTest {
 protected:
  /// Opens results of two models, of which the first has its second layer scaled by `factor`, as
  /// older versions could store it.
  void openWithFault(float factor) {
    const QString file = embeddingsFile();
    std::vector<CaptureEmbeddings> all;
    for (const char* const name : {"a", "b"}) {
      const CaptureReader capture(folder_ / (std::string(name) + ".h5"));
      all.push_back(embeddings(name, capture, name == std::string("a") ? 1 : 5));
    }
    all[0].layers[1].coordinates *= factor;
    write_embeddings(folder_ / "tsne.embeddings.h5", all);
    open({file});
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && view_.canvases().size() == 2U; }));
  }

  std::string note() { return childCalled<QLabel>(view_, "loading problems").text().toStdString(); }

  /// Returns the larger extent of the points of a canvas, in pixels.
  double extent(std::size_t m) {
    QPolygonF points;
    for (int i = 0; i < canvas(m).size(); ++i) points << canvas(m).toPixel(i);
    return std::max(points.boundingRect().width(), points.boundingRect().height());
  }

  void expectFault(float factor, const std::string& what) {
    ASSERT_NO_FATAL_FAILURE(openWithFault(factor));
    EXPECT_NE(note().find("a: site 'hidden', layer 1 diverged: "), std::string::npos) << note();
    EXPECT_NE(note().find(what), std::string::npos) << note();
    EXPECT_NE(note().find("; run lime-metrics tsne again"), std::string::npos) << note();
    EXPECT_EQ(note().find("b: "), std::string::npos) << note();
    const double room = std::min(canvas(0).width(), canvas(0).height());
    EXPECT_GT(extent(0), 0.5 * room);
    EXPECT_GT(extent(1), 0.5 * room);
  }

  /// Opens a capture of random rows in layer 0 and `second_layer`.
  void openCapture(const MatrixF& second_layer) {
    lime::testing::SmallCapture capture;
    capture.lengths = {second_layer.rows()};
    capture.activations = {
        {"hidden", 0, lime::testing::random_matrix(second_layer.rows(), second_layer.cols(), 1)},
        {"hidden", 1, second_layer}};
    lime::testing::write_capture(folder_ / "run.h5", capture);
    open({toQString(folder_ / "run.h5")});
  }
};

TEST_F(EmbeddingsFaultsTest, AStoredLayerWhosePointsCoincideIsNamed) {
  expectFault(1e-12F, "the points coincide (root mean square radius ");
}

TEST_F(EmbeddingsFaultsTest, AStoredLayerThatIsThrownApartIsNamed) {
  expectFault(1e10F, "the points are thrown apart (root mean square radius ");
}

TEST_F(EmbeddingsFaultsTest, AStoredLayerOfAnotherOrderOfMagnitudeIsNamed) {
  expectFault(2e-4F, "times that of the previous layer");
}

TEST_F(EmbeddingsFaultsTest, LayersAreNumberedAsOnTheSlider) {
  preferences_.layer_base = 1;
  ASSERT_NO_FATAL_FAILURE(openWithFault(1e-12F));
  EXPECT_NE(note().find("a: site 'hidden', layer 2 diverged: "), std::string::npos) << note();
}

TEST_F(EmbeddingsFaultsTest, SoundEmbeddingsHaveNoNote) {
  ASSERT_NO_FATAL_FAILURE(openWithFault(1.0F));
  EXPECT_EQ(note(), "");
}

TEST_F(EmbeddingsFaultsTest, AComputationThatDivergesNamesTheLayerAndARemedy) {
  openCapture(lime::testing::random_matrix(100, 6, 2));
  EmbeddingLoader loader(workspace_, jobs_);
  loader.compute(2, {.learning_rate = 1e7});
  ASSERT_TRUE(waitUntil([&] { return !loader.isBusy(); }));
  EXPECT_TRUE(loader.set().models.empty());
  const std::string message = loader.message().toStdString();
  EXPECT_NE(message.find("run.h5': site 'hidden': layer 0: tsne: the optimisation diverged"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("; use a learning rate below"), std::string::npos) << message;
}

TEST_F(EmbeddingsFaultsTest, TheViewShowsWhyAComputationFailedInPlaceOfEmbeddings) {
  openCapture(MatrixF::Constant(100, 6, 1.0F));
  auto* const button = view_.findChild<QPushButton*>();
  ASSERT_TRUE(waitUntil([&] { return button->isEnabled(); }));
  QTest::mouseClick(button, Qt::LeftButton);
  ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle(); }));
  EXPECT_TRUE(view_.canvases().empty());
  QString shown;
  for (const QLabel* const label : view_.findChildren<QLabel*>()) {
    if (label->isVisible()) shown += label->text();
  }
  EXPECT_TRUE(shown.contains("run.h5': site 'hidden': layer 1: tsne: all 100 rows are equal"))
      << shown.toStdString();
}

}  // namespace
}  // namespace lime::explorer::testing
