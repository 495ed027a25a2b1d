// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QTest>
#include <QUndoStack>

#include "analysis/tsne/embedding_alignment.h"
#include "analysis/write_capture.h"
#include "explorer/embeddings/embedding_canvas.h"
#include "explorer/embeddings/embeddings_view.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "store/capture_reader.h"
#include "store/results_file.h"

namespace lime::explorer::testing {

/// Results of t-SNE of two captures of one text: 16 points in layers 0 and 1.
class EmbeddingsViewTest : public WorkspaceTest {
 protected:
  EmbeddingsViewTest() {
    view_.resize(1000, 620);
    view_.show();
    QObject::connect(&view_, &View::status, [this](const QString& text) { status_ = text; });
  }

  CaptureEmbeddings embeddings(const std::string& label, const CaptureReader& capture,
                               std::uint64_t seed) const {
    ClassRows rows;
    for (std::int64_t row = 0; row < capture.num_rows(); ++row) {
      rows.row.push_back(row);
      rows.class_id.push_back(static_cast<std::int16_t>(row % 2));
    }
    rows.class_names = {" is", " are"};
    CaptureEmbeddings one = points_of(label, capture, rows);
    for (const int layer : {0, 1}) {
      one.layers.push_back({"hidden", layer,
                            lime::testing::random_matrix(capture.num_rows(), 2,
                                                         seed + static_cast<std::uint64_t>(layer)),
                            0.5});
    }
    return one;
  }

  QString embeddingsFile(const std::string& second_text = "same") {
    std::vector<CaptureEmbeddings> all;
    Results results;
    results.metric = "tsne";
    for (const auto& [name, seed] : {std::pair("a", 1), std::pair("b", 5)}) {
      const auto path = folder_ / (std::string(name) + ".h5");
      lime::testing::write_capture(
          path, lime::testing::example_capture(static_cast<std::uint64_t>(seed)));
      all.push_back(embeddings(name, CaptureReader(path), static_cast<std::uint64_t>(seed)));
      results.inputs.push_back({path.string(), std::string(64, '0'), name,
                                name == std::string("a") ? "same" : second_text});
      for (const int layer : {0, 1}) {
        results.rows.push_back({{col::kLabel, name}, {col::kSite, "hidden"}, {col::kLayer, layer}});
      }
    }
    write_embeddings(folder_ / "tsne.embeddings.h5", all);
    write_results(folder_ / "tsne.json", results);
    return toQString(folder_ / "tsne.json");
  }
  void openEmbeddings(const std::string& second_text = "same") {
    open({embeddingsFile(second_text)});
    ASSERT_TRUE(waitUntil([this] { return jobs_.isIdle() && view_.canvases().size() == 2U; }));
    QTest::qWait(0);
  }
  EmbeddingCanvas& canvas(std::size_t m) { return *view_.canvases()[m]; }

  void focus(std::size_t m) {
    view_.activateWindow();
    ASSERT_TRUE(QTest::qWaitForWindowActive(&view_));
    canvas(m).setFocus();
  }

  /// Draws a lasso around the points of a canvas, `radius` pixels about their common centre.
  void lasso(std::size_t m, const QRectF& around, Qt::KeyboardModifiers modifiers = {}) {
    EmbeddingCanvas& drawn = canvas(m);
    const std::vector<QPointF> corners = {around.topLeft(), around.topRight(), around.bottomRight(),
                                          around.bottomLeft()};
    QTest::mousePress(&drawn, Qt::LeftButton, modifiers, corners[0].toPoint());
    for (const QPointF& corner : corners) QTest::mouseMove(&drawn, corner.toPoint());
    QTest::mouseRelease(&drawn, Qt::LeftButton, modifiers, corners[0].toPoint());
  }

  Preferences preferences_;
  QUndoStack undo_;
  EmbeddingsView view_{ViewContext{workspace_, jobs_, undo_, preferences_}};
  QString status_;
};

}  // namespace lime::explorer::testing
