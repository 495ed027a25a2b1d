// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QFontDatabase>
#include <QImage>
#include <QXmlStreamReader>
#include <filesystem>

#include "core/errors.h"
#include "support/refusal.h"
#include "viz/figure_fixture.h"
#include "viz/figure_pgfplots.h"
#include "viz/recipes/attention_figures.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::sample_entropy;
using testing::sample_router;

std::string hex(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

class FigureFileTest : public testing::FigureFixture {
 protected:
  void drawn(const std::string& name, const Figure& figure, const FigureStyle& style = {}) {
    EXPECT_GT(content_of(write(name, figure, style)).size(), 1000U) << name;
  }

  Figure entropy_ = make_figure(std::vector<FigureSource>{sample_entropy(6)}, {});
};

TEST_F(FigureFileTest, EqualFiguresHaveEqualBytes) {
  for (const char* const kind : {"pdf", "svg", "png", "csv", "tex"}) {
    const auto first = content_of(write(std::string("first.") + kind, entropy_));
    EXPECT_EQ(first, content_of(write(std::string("second.") + kind, entropy_))) << kind;
    EXPECT_GT(first.size(), 200U) << kind;
  }
}

TEST_F(FigureFileTest, ProvenanceComesBack) {
  for (const char* const kind : {"pdf", "svg", "png"}) {
    const auto path = write(std::string("figure.") + kind, entropy_);
    EXPECT_EQ(read_figure_provenance(path), provenance_) << kind;
  }
  EXPECT_THROW(read_figure_provenance(write("figure.csv", entropy_)), FormatError);
}

TEST_F(FigureFileTest, NoFileHasTheControlCharactersOfALabel) {
  // U+0001, NUL, an escape sequence, C1, right-to-left override, and U+FFFF, which is not XML.
  const std::string label("L\x01M\0\x1B[31m\xC2\x9B\xE2\x80\xAE<&>\xEF\xBF\xBF", 20);
  FigureSource source = sample_entropy(6);
  for (ResultRow& row : source.results.rows) {
    if (row.text(col::kLabel) == "LIMe") row.set(col::kLabel, label);
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
  provenance_["command"] = "lime-figure '" + label + "' caf\xE9.json";
  const std::string raw("\x01\0\x1B\x9B\xAE\xBF", 6);
  for (const char* const kind : {"svg", "csv", "tex"}) {
    const FigureStyle style{.title = std::string(kind) == "csv" ? "" : label};
    const std::string text = content_of(write(std::string("figure.") + kind, figure, style));
    EXPECT_EQ(text.find_first_of(raw), std::string::npos) << kind;
    EXPECT_THAT(text, HasSubstr("x1b")) << kind;
    if (std::string(kind) != "svg") continue;
    QXmlStreamReader xml(QByteArray::fromStdString(text));
    while (!xml.atEnd()) xml.readNext();
    EXPECT_FALSE(xml.hasError()) << xml.errorString().toStdString();
  }
  for (const char* const kind : {"svg", "pdf", "png"}) {
    const Json stored = read_figure_provenance(write(std::string("again.") + kind, figure));
    EXPECT_THAT(stored["command"].get<std::string>(), HasSubstr("caf\xEF\xBF\xBD.json")) << kind;
  }
}

TEST_F(FigureFileTest, TextStaysTextAndFontsAreEmbedded) {
  EXPECT_THAT(content_of(write("figure.svg", entropy_)), HasSubstr(">layer</text>"));
  const std::string pdf = content_of(write("figure.pdf", entropy_));
  EXPECT_THAT(pdf, HasSubstr("/FontFile2"));
  EXPECT_THAT(pdf, HasSubstr("/ToUnicode"));
  EXPECT_THAT(pdf, HasSubstr("(D:20261121041033Z)"));
}

TEST_F(FigureFileTest, PngHasTheSizeThatWasAskedFor) {
  const QImage image(QString::fromStdString(
      write("figure.png", entropy_, {.size = "100x50", .dpi = 254}).string()));
  EXPECT_EQ(image.width(), 1000);
  EXPECT_EQ(image.height(), 500);
}

TEST_F(FigureFileTest, FewAndManyLayersAreDrawn) {
  drawn("one_layer.pdf", make_figure(std::vector<FigureSource>{sample_entropy(1)}, {}));
  drawn("many_layers.pdf", make_figure(std::vector<FigureSource>{sample_entropy(128)}, {}));
  drawn("deep_router.pdf", make_figure(std::vector<FigureSource>{sample_router(128, 1)}, {}));
  drawn("deep_heads.pdf",
        make_figure(std::vector<FigureSource>{sample_router(40, 1)}, {.kind = "router-heads"}));
}

TEST_F(FigureFileTest, ManyHeadsBecomeAPictureWithoutSeams) {
  // 128 heads of two layers each: 128 x 384 cells.
  const auto path =
      write("wide_router.pdf", make_figure(std::vector<FigureSource>{sample_router(3, 128)},
                                           {.kind = "router-signed", .layer = {2}}));
  EXPECT_THAT(content_of(path), HasSubstr("/Subtype /Image"));
}

TEST_F(FigureFileTest, AConstantSeriesHasARange) {
  Figure constant = entropy_;
  for (FigurePanel& panel : constant.panels) {
    for (Curve& curve : std::get<CurvePanel>(panel.content).curves) {
      curve.y.assign(curve.y.size(), 1.0);
      curve.low = curve.high = curve.y;
    }
  }
  drawn("constant.pdf", constant);
}

TEST_F(FigureFileTest, LongLabelsFindRoom) {
  FigureSource source = sample_entropy(6);
  for (ResultRow& row : source.results.rows) {
    row.set(col::kLabel, row.text(col::kLabel) + " with four kv heads and a very long name");
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
  const auto path = write("long.png", figure, {.size = "80"});
  const QImage image(QString::fromStdString(path.string()));
  // The legend needs two lines, and ends before the frame does.
  const auto short_path = write("short.png", entropy_, {.size = "80"});
  EXPECT_GT(image.height(), QImage(QString::fromStdString(short_path.string())).height());
  for (int y = 0; y < image.height(); ++y) {
    EXPECT_EQ(image.pixelColor(image.width() - 1, y), QColor(255, 255, 255)) << y;
  }
}

/// A pattern of 20 tokens called `stem`0 to `stem`19.
Figure pattern_of_tokens(const std::string& stem) {
  std::vector<std::string> texts;
  for (int t = 0; t < 20; ++t) texts.push_back(fmt::format("{}{}", stem, t));
  return figure_of_attention({attention_panel(MatrixD::Constant(20, 20, 0.05), texts)});
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(FigureFileTest, TokensHaveTheirTextsWhereThePanelHasRoom) {
  const auto svg = [&](const std::string& stem, const std::string& size) {
    return content_of(write("tokens.svg", pattern_of_tokens(stem), {.size = size}));
  };
  const std::string turned = "matrix(0,-1";  // like the label of the queries
  for (const auto& [stem, num_turned] : {std::pair("t", 1), std::pair("a token of ", 21)}) {
    const std::string page = svg(stem, "a4-page");
    EXPECT_EQ(count_of(page, fmt::format(">{}19</text>", stem)), 2);
    EXPECT_EQ(count_of(page, ">key</text>"), 1);
    EXPECT_EQ(count_of(page, "position"), 0);
    EXPECT_EQ(count_of(page, turned), num_turned) << stem;
  }
  const std::string small = svg("t", "50");
  EXPECT_EQ(count_of(small, ">t"), 0);
  EXPECT_EQ(count_of(small, ">key, position</text>"), 1);
  for (const char* const position : {">0</text>", ">5</text>", ">10</text>", ">15</text>"}) {
    EXPECT_EQ(count_of(small, position), 2) << "both axes have " << position;
  }
  const Figure figure = pattern_of_tokens("t");
  EXPECT_THAT(figure_to_pgfplots(figure, {.size = "a4-page"}), HasSubstr("{t19}"));
  EXPECT_THAT(figure_to_pgfplots(figure, {.size = "50"}), HasSubstr("xlabel={key, position}"));
}

TEST_F(FigureFileTest, LayersOfTokensHaveTheirTextsWhereThePanelHasRoom) {
  FigureSource source;
  source.results.metric = "tokens";
  for (int position = 0; position < 40; ++position) {
    source.results.rows.push_back({{col::kLabel, "LIMe"},
                                   {col::kLayer, 0},
                                   {col::kPosition, position},
                                   {col::kText, fmt::format("a token of {}", position)},
                                   {col::kEntropyContribution, 0.1 * position}});
  }
  const auto svg = [&](const std::string& size) {
    const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
    return content_of(write("tokens.svg", figure, {.size = size}));
  };
  const std::string page = svg("a4-page");
  EXPECT_EQ(count_of(page, ">a token of 39</text>"), 1) << "turned, there are 560 letters";
  EXPECT_EQ(count_of(page, "position"), 0);
  const std::string column = svg("acl-column");
  EXPECT_EQ(count_of(column, ">a token of"), 0);
  EXPECT_EQ(count_of(column, ">token, position</text>"), 1);
  for (ResultRow& row : source.results.rows) row.erase(col::kText);
  EXPECT_EQ(count_of(svg("a4-page"), ">token, position</text>"), 1);
}

TEST_F(FigureFileTest, SixtyThousandPointsBecomeAPictureWhenToldSo) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_tsne(1, 30'000)}, {});
  const std::string vectors = content_of(write("vectors.pdf", figure));
  const std::string raster = content_of(write("raster.pdf", figure, {.rasterize = true}));
  EXPECT_LT(10 * raster.size(), 9 * vectors.size());
  EXPECT_THAT(raster, HasSubstr("/Subtype /Image"));
  EXPECT_THAT(vectors, ::testing::Not(HasSubstr("/Subtype /Image")));
  EXPECT_EQ(raster, content_of(write("again.pdf", figure, {.rasterize = true})));
}

TEST_F(FigureFileTest, NegativeWeightsAloneStayCentredAtZero) {
  FigureSource source = sample_router(3);
  for (ResultRow& row : source.results.rows) {
    if (row.text(col::kKind) != "weight") continue;
    NumberArray weights = *row.cell(col::kWeight).array();
    std::ranges::fill(weights.values, -0.5);
    row.set_array(col::kWeight, std::move(weights));
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {.kind = "router-signed"});
  EXPECT_EQ(colour_range_of(figure), std::pair(-0.5, 0.5));
  drawn("negative.pdf", figure);
}

TEST_F(FigureFileTest, EveryFigureIsDrawnInEveryFormat) {
  for (const FigureSource& source : testing::sample_sources()) {
    for (const Recipe* const recipe : recipes_of(source.results.metric)) {
      if (recipe->name == "comparison" && source.results.metric != "entropy") continue;
      if (recipe->name == "mass-effect") continue;  // needs the effects of a sweep
      std::vector<FigureSource> sources = {source};
      if (recipe->name == "router-sources") {
        sources.front().results.rows.clear();
        for (const int read : {0, 1}) {
          sources.front().results.rows.push_back({{col::kKind, "source_map"},
                                                  {col::kLabel, "LIMe"},
                                                  {col::kLayer, 1},
                                                  {col::kRead, "kv"},
                                                  {col::kSource, read},
                                                  {col::kShare, 0.5}});
        }
      }
      const Figure figure = make_figure(sources, {.kind = recipe->name});
      for (const char* const kind : {"pdf", "svg", "png", "csv", "tex"}) {
        const auto path = write(recipe->name + "." + kind, figure, {.dpi = 60});
        EXPECT_GT(content_of(path).size(), 60U) << path;
      }
    }
  }
}

TEST_F(FigureFileTest, OptionsOfStyleAreFollowed) {
  const auto first_pixel = [&](const FigureStyle& style) {
    return QImage(QString::fromStdString(write("style.png", entropy_, style).string()))
        .pixelColor(0, 0);
  };
  EXPECT_EQ(first_pixel({}), QColor(255, 255, 255));
  EXPECT_LT(first_pixel({.theme = FigureTheme::kDark}).lightness(), 60);
  const auto svg = [&](const FigureStyle& style) {
    return content_of(write("style.svg", entropy_, style));
  };
  EXPECT_THAT(svg({.title = "Where it collapses"}), HasSubstr(">Where it collapses</text>"));
  EXPECT_THAT(svg({.panel_letters = true}), HasSubstr(">b</text>"));
  EXPECT_THAT(svg({.font = "Liberation Serif"}), HasSubstr("font-family=\"Liberation Serif\""));
  // Tenths of a point.
  EXPECT_THAT(svg({.font_size = 10.0}), HasSubstr("font-size=\"100\""));
  EXPECT_THAT(svg({}), HasSubstr("#0072b2"));
  EXPECT_THAT(svg({.palette = ClassPalette::kGrey}), ::testing::Not(HasSubstr("#0072b2")));
  const Figure map = make_figure(std::vector<FigureSource>{sample_router()}, {});
  EXPECT_THAT(content_of(write("map.svg", map, {.map_palette = HeatmapPalette::kCividis})),
              HasSubstr(hex(heatmap_colour(HeatmapPalette::kCividis, 0.5))));
}

/// Zero-shot accuracies of `models` models on the tasks of BLiMP.
Figure bars_of_tasks(int models) {
  FigureSource source = testing::sample_blimp(0);
  const ResultRow all = source.results.rows.front();
  source.results.rows.clear();
  for (int m = 0; m < models; ++m) {
    ResultRow row = all;
    row.set(col::kLabel, fmt::format("model {}", m));
    source.results.rows.push_back(row);
    row.set(col::kLevel, "task");
    for (int t = 0; t < 67; ++t) {
      row.set(col::kName, fmt::format("determiner_noun_agreement_with_adj_irregular_{}", t));
      source.results.rows.push_back(row);
    }
  }
  return make_figure(std::vector<FigureSource>{source}, {.by = BlimpGroups::kTask});
}

TEST_F(FigureFileTest, BarsOfManyTasksHaveALineEachAndFitAPage) {
  const auto size_of = [&](int models, const FigureStyle& style) {
    const QImage image(
        QString::fromStdString(write("bars.png", bars_of_tasks(models), style).string()));
    return QSizeF(image.size()) / (style.dpi / 25.4);
  };
  constexpr double kLine = 2.5;  // mm, of a font of 7 pt
  const QSizeF usual = size_of(1, {.dpi = 100});
  EXPECT_NEAR(usual.width(), 160.0, 0.5) << "long names need a page";
  EXPECT_GT(usual.height(), 68 * kLine);
  EXPECT_LT(usual.height(), 257.0);
  EXPECT_GT(size_of(1, {.size = "acl-column", .dpi = 100}).height(), 68 * kLine);
  for (const int models : {1, 2, 3}) {
    EXPECT_LT(size_of(models, {.size = "a4-page", .dpi = 100}).height(), 257.5) << models;
  }
  const std::string refusal = testing::refusal_of<InvalidArgument>(
      [&] { write("bars.png", bars_of_tasks(8), {.size = "a4-page"}); });
  EXPECT_THAT(refusal, HasSubstr("size: the page is 257 mm high, the figure needs "));
  EXPECT_THAT(
      refusal,
      HasSubstr(
          "show less (--panel, --by, --label, --layer), or set only a width, e.g. --size 170"));
  EXPECT_GT(size_of(8, {.size = "170", .dpi = 100}).height(), 400.0);
  EXPECT_THAT(figure_to_pgfplots(bars_of_tasks(3), {.size = "a4-page"}),
              HasSubstr("\\limeheight=228.0mm"));
}

TEST_F(FigureFileTest, BarsOfRoutersHaveALineEach) {
  FigureSource source = testing::sample_counterfactual();
  for (ResultRow row : std::vector<ResultRow>(source.results.rows)) {
    if (!row.has(col::kDifference) || row.cell(col::kRouter) != "random") continue;
    for (int layer = 0; layer < 24; ++layer) {
      row.set(col::kRouter, fmt::format("cut-{}", layer));
      source.results.rows.push_back(row);
    }
  }
  const Figure figure =
      make_figure(std::vector<FigureSource>{source}, {.kind = "counterfactual-change"});
  constexpr double kRouters = 28.0;
  constexpr double kLine = 2.5;  // mm, of a font of 7 pt
  for (const char* const size : {"acl-column", "acl-page"}) {
    const QImage image(
        QString::fromStdString(write("routers.png", figure, {.size = size, .dpi = 254}).string()));
    EXPECT_GT(image.height() / 10.0, 1.2 * kRouters * kLine) << size;
  }
  // Half a column each, minus the names.
  EXPECT_THAT(figure_to_pgfplots(figure, {.size = "acl-column"}),
              HasSubstr("\\limewidth=23.1mm\n\\newdimen\\limeheight \\limeheight=117.6mm"));
}

TEST_F(FigureFileTest, PanelsNotesAndPersonalProvenanceAreLeftOutOnRequest) {
  const auto svg = [&](const FigureStyle& style) {
    return content_of(write("parts.svg", entropy_, style));
  };
  EXPECT_THAT(svg({}), HasSubstr("matrix-based entropy"));
  EXPECT_THAT(svg({.no_note = true}), ::testing::Not(HasSubstr("matrix-based entropy")));
  EXPECT_THAT(svg({}), HasSubstr(">hidden</text>"));
  EXPECT_THAT(svg({.panel = {1}}), ::testing::Not(HasSubstr(">hidden</text>")));
  EXPECT_EQ(testing::refusal_of<InvalidArgument>([&] { svg({.panel = {3}}); }),
            "panel: the figure has panels 1 to 2, got 3");
  provenance_["results"] = {{{"path", "/home/ada/a.json"},
                             {"sha256", "12ab"},
                             {"options", {{"rows", "out/ada.npy"}, {"alpha", 0.5}}},
                             {"provenance", {{"machine", "ada's"}, {"tool", "lime 1"}}}}};
  const auto path = write("blind.pdf", entropy_, {.anonymous = true});
  const std::string stored = read_figure_provenance(path).dump();
  EXPECT_THAT(stored, ::testing::Not(HasSubstr("ada")));
  EXPECT_THAT(stored, ::testing::Not(HasSubstr("command")));
  for (const char* const kept : {"12ab", "0.5", "lime 1", "2026-11-21"}) {
    EXPECT_THAT(stored, HasSubstr(kept));
  }
  EXPECT_THAT(content_of(write("known.svg", entropy_)), HasSubstr("lime-metrics entropy"));
}

TEST_F(FigureFileTest, VenuesHaveTheirWidthsAndFonts) {
  for (const auto& [venue, width] :
       {std::pair(Venue::kAcl, 160.0), std::pair(Venue::kNeurips, 139.7),
        std::pair(Venue::kIcml, 171.45), std::pair(Venue::kIclr, 139.7),
        std::pair(Venue::kSlides, 254.0), std::pair(Venue::kPoster, 400.0)}) {
    const FigureStyle style{.venue = venue, .dpi = 100};
    const QImage image(QString::fromStdString(write("venue.png", entropy_, style).string()));
    EXPECT_NEAR(25.4 * image.width() / style.dpi, width, 0.5) << enum_name(venue);
    const std::string pdf = content_of(write("venue.pdf", entropy_, style));
    const std::string box = "/MediaBox [0 0 ";
    ASSERT_THAT(pdf, HasSubstr(box));
    const double points = std::stod(pdf.substr(pdf.find(box) + box.size(), 20));
    EXPECT_NEAR(25.4 * points / 72.0, width, 0.5) << enum_name(venue);
  }
  const auto svg = [&](const FigureStyle& style) {
    return content_of(write("venue.svg", entropy_, style));
  };
  EXPECT_THAT(svg({.venue = Venue::kAcl}), HasSubstr("font-family=\"Liberation Serif\""));
  // A poster is drawn with letters of 8 pt and the lines of a paper, then enlarged to 24 pt.
  EXPECT_THAT(svg({.venue = Venue::kPoster}),
              AllOf(HasSubstr("width=\"400"), HasSubstr("viewBox=\"0 0 3780 "),
                    HasSubstr("font-size=\"80\"")));
  EXPECT_THAT(svg({.venue = Venue::kPoster, .font_size = 30.0}), HasSubstr("font-size=\"100\""));
  EXPECT_THAT(content_of(write("venue.tex", entropy_, {.venue = Venue::kPoster})),
              AllOf(HasSubstr("133.3"), HasSubstr("\\scalebox{3}{\\limefigure}")));
  for (const char* const font : {"Arial", "helvetica", "Times New Roman", "Courier"}) {
    EXPECT_THAT(svg({.font = font}), HasSubstr("font-family=\"Liberation ")) << font;
  }
  // Qt appends the foundry to the name of a family that several foundries offer.
  for (const QString& family : QFontDatabase::families()) {
    const std::string name = family.section(" [", 0, 0).toStdString();
    EXPECT_NO_THROW(svg({.font = name})) << name;
  }
}

TEST_F(FigureFileTest, GreyClassesHaveMarkers) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_tsne()}, {});
  const auto count_discs = [&](ClassPalette palette) {
    return count_of(content_of(write("classes.svg", figure, {.palette = palette})), "<circle") +
           count_of(content_of(write("classes.svg", figure, {.palette = palette})), " C");
  };
  EXPECT_LT(2 * count_discs(ClassPalette::kGrey), count_discs(ClassPalette::kOkabeIto))
      << "a third of the classes are discs";
}

TEST_F(FigureFileTest, NarrowAxesHaveFewNumbers) {
  const auto svg = [&](const std::string& size) {
    return content_of(write("bars.svg", bars_of_tasks(1), {.size = size}));
  };
  EXPECT_EQ(count_of(svg("acl-page"), ">0.2</text>"), 1);
  const std::string column = svg("acl-column");
  EXPECT_EQ(count_of(column, ">0.2</text>"), 0);
  EXPECT_EQ(count_of(column, ">0.5</text>"), 1);
}

TEST_F(FigureFileTest, NamedSizesAreThoseOfTheVenues) {
  const auto width_of = [&](const std::string& size) {
    const QImage image(
        QString::fromStdString(write("size.png", entropy_, {.size = size, .dpi = 254}).string()));
    return image.width() / 10.0;
  };
  EXPECT_NEAR(width_of("acl-column"), 77.0, 0.1);
  EXPECT_NEAR(width_of("acl-page"), 160.0, 0.1);
  EXPECT_NEAR(width_of("neurips"), 139.7, 0.1);
  EXPECT_NEAR(width_of("slide"), 254.0, 0.1);
  EXPECT_NEAR(width_of("120"), 120.0, 0.1);
}

TEST_F(FigureFileTest, RefusesWhatDoesNotExist) {
  EXPECT_THROW(write("figure.bmp", entropy_), InvalidArgument);
  EXPECT_THROW(write("figure.pdf", entropy_, {.size = "huge"}), InvalidArgument);
  EXPECT_THROW(write("figure.pdf", entropy_, {.font = "No Such Font"}), InvalidArgument);
  EXPECT_THROW(write("no/such/folder/figure.pdf", entropy_), IoError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "figure.pdf"));
}

}  // namespace
}  // namespace lime
