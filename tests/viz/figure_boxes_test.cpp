// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QFontMetricsF>
#include <QTransform>
#include <QXmlStreamReader>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "support/refusal.h"
#include "viz/figure_fixture.h"
#include "viz/map_panel.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

// Text of figures: no two boxes overlap, and none leaves the page.

namespace lime {
namespace {

struct TextBox {
  QString text;
  QRectF ink;  ///< of the letters, without line spacing
};

/// Returns the texts of an SVG, and its page.
std::pair<std::vector<TextBox>, QRectF> boxes_of(const std::string& svg) {
  std::vector<TextBox> boxes;
  QRectF page;
  QTransform transform;  // of the group
  QXmlStreamReader xml(QByteArray::fromStdString(svg));
  const auto number = [&](const char* name) {
    return xml.attributes().value(QLatin1String(name)).toDouble();
  };
  while (!xml.atEnd()) {
    if (xml.readNext() != QXmlStreamReader::StartElement) continue;
    if (xml.name() == u"svg") {
      const auto size = xml.attributes().value("viewBox").toString().split(' ');
      page = QRectF(0.0, 0.0, size.at(2).toDouble(), size.at(3).toDouble());
    } else if (xml.name() == u"g" && xml.attributes().hasAttribute("transform")) {
      QString matrix = xml.attributes().value("transform").toString();
      const auto parts = matrix.remove("matrix(").remove(')').split(',');
      const auto at = [&](qsizetype i) { return parts.at(i).toDouble(); };
      transform = QTransform(at(0), at(1), at(2), at(3), at(4), at(5));
    } else if (xml.name() == u"text") {
      QFont font(xml.attributes().value("font-family").toString());
      font.setPixelSize(static_cast<int>(number("font-size")));
      font.setWeight(static_cast<QFont::Weight>(number("font-weight")));
      const QPointF at(number("x"), number("y"));
      const QString text = xml.readElementText();
      if (text.trimmed().isEmpty()) continue;
      const QRectF ink = QFontMetricsF(font).tightBoundingRect(text).translated(at);
      boxes.push_back({text.trimmed(), transform.mapRect(ink)});
    }
  }
  return {boxes, page};
}

/// Returns what is wrong with the texts of `figure`; empty if nothing is.
/// @param gap  that adjacent texts need, tenths of a point.
std::string faults_of(const Figure& figure, const FigureStyle& style, double gap = 0.0) {
  const auto [boxes, page] = boxes_of(figure_to_svg(figure, style));
  EXPECT_FALSE(boxes.empty());
  std::string faults;
  const auto add = [&](const TextBox& box, const std::string& what) {
    faults += "  '" + box.text.toStdString() + "' " + what + '\n';
  };
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!page.contains(boxes[i].ink)) add(boxes[i], "leaves the page");
    for (std::size_t k = i + 1; k < boxes.size(); ++k) {
      if (!boxes[i].ink.adjusted(-gap, 0.0, gap, 0.0).intersects(boxes[k].ink)) continue;
      add(boxes[i], "overlaps '" + boxes[k].text.toStdString() + "'");
    }
  }
  return faults;
}

class FigureBoxesTest : public testing::FigureFixture {};

TEST_F(FigureBoxesTest, OverlapsAndPageEdgesAreFound) {
  Figure figure = make_figure(std::vector<FigureSource>{testing::sample_entropy()}, {});
  EXPECT_EQ(faults_of(figure, {}), "");
  figure.panels.front().x.ticks = {{0.0, "a long label"}, {0.1, "another label"}};
  EXPECT_NE(faults_of(figure, {}).find("'a long label' overlaps 'another label'"),
            std::string::npos);
  std::get<CurvePanel>(figure.panels.front().content).references = {
      {.y = 2.0, .label = std::string(300, 'x')}};
  EXPECT_NE(faults_of(figure, {}).find("leaves the page"), std::string::npos);
}

TEST_F(FigureBoxesTest, NumbersOfManyPartsDoNotTouchInNarrowPanels) {
  FigureSource source;
  source.results.metric = "router";
  for (const char* const label : {"AttnRes block", "DenseFormer", "mHC", "MUDD"}) {
    for (int layer = 0; layer <= 8; ++layer) {
      for (int read = 0; read <= 2 * layer; ++read) {
        source.results.rows.push_back({{col::kKind, "source_map"},
                                       {col::kLabel, label},
                                       {col::kLayer, layer},
                                       {col::kRead, layer < 8 ? "attention" : "final"},
                                       {col::kSource, read},
                                       {col::kShare, 0.1}});
      }
    }
  }
  const Figure figure =
      make_figure(std::vector<FigureSource>{source}, {.kind = "router-sources", .columns = 4});
  for (const char* const size : {"acl-page", "neurips", "120"}) {
    EXPECT_EQ(faults_of(figure, {.size = size}, 15.0), "") << size;
  }
}

TEST_F(FigureBoxesTest, ColourBarsOfLowPanelsSpanAllOfThem) {
  Figure figure;
  figure.panels.assign(3, map_panel(MatrixD::Random(8, 17), {"token", numbers_from(0, 17)},
                                    {"layer", numbers_from(0, 8)}));
  figure.colour_label = "entropy contribution (nats)";
  // As in a window: the height does not depend on the panels.
  for (const char* const size : {"180x60", "180x80", "100x50"}) {
    EXPECT_EQ(faults_of(figure, {.size = size}), "") << size;
  }
}

TEST_F(FigureBoxesTest, PanelsThatDoNotFitASlideAreRefused) {
  Figure figure = make_figure(std::vector<FigureSource>{testing::sample_series()}, {});
  ASSERT_EQ(figure.panels.size(), 12);
  const FigureStyle slide{.venue = Venue::kSlides};
  EXPECT_THAT(testing::refusal_of<InvalidArgument>([&] { figure_to_svg(figure, slide); }),
              ::testing::HasSubstr("the page is 142.9 mm high, the figure needs"));
  figure.panels.resize(8);
  EXPECT_EQ(faults_of(figure, slide), "");
}

TEST_F(FigureBoxesTest, NoTwoTextsOverlapOrLeaveThePageAtAnyVenue) {
  std::vector<FigureSource> sources = testing::sample_sources();
  for (const FigureSource& deep :
       {testing::sample_entropy(32), testing::sample_comparison(16), testing::sample_router(16, 8),
        testing::sample_separability(48), testing::sample_tsne(4), testing::sample_tsne(12),
        testing::sample_similarity(24), testing::sample_weighted_router(12),
        testing::sample_blimp(0), testing::sample_counterfactual(16), testing::sample_choices(24),
        testing::sample_series()}) {
    sources.push_back(deep);
  }
  for (const FigureSource& source : sources) {
    for (const Recipe* const recipe : recipes_of(source.results.metric)) {
      Figure figure;
      try {
        figure = make_figure(std::vector<FigureSource>{source}, {.kind = recipe->name});
      } catch (const NothingToShow&) {
        continue;
      }
      // Letters make titles longer; those of other sizes have more room.
      for (const auto& [size, has_letters] :
           {std::pair("auto", false), std::pair("acl-column", true), std::pair("acl-column", false),
            std::pair("acl-page", false), std::pair("icml-column", false),
            std::pair("icml-page", true), std::pair("neurips", false), std::pair("iclr", true),
            std::pair("a4-page", false), std::pair("poster", false)}) {
        const FigureStyle style{.size = size, .panel_letters = has_letters};
        EXPECT_EQ(faults_of(figure, style), "") << recipe->name << " of " << source.path << " at "
                                                << size << (has_letters ? " with letters" : "");
      }
      const FigureStyle poster{.venue = Venue::kPoster};
      EXPECT_EQ(faults_of(figure, poster), "") << recipe->name << " of " << source.path;
      try {
        const FigureStyle slide{.venue = Venue::kSlides};
        EXPECT_EQ(faults_of(figure, slide), "") << recipe->name << " of " << source.path;
      } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("the page is 142.9 mm high"))
            << recipe->name;
      }
    }
  }
}

}  // namespace
}  // namespace lime
