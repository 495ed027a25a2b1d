// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QFontDatabase>
#include <QImage>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/errors.h"
#include "support/test_data.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::sample_entropy;
using testing::sample_router;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class FigureFileTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    static int argc = 1;
    static char name[] = "lime_viz_tests";
    static char* argv[] = {name, nullptr};
    if (QApplication::instance() == nullptr) static QApplication application(argc, argv);
  }

  void SetUp() override {
    if (!QFontDatabase::families().contains("Liberation Sans")) {
      GTEST_SKIP() << "the font Liberation Sans is not installed (Debian: fonts-liberation)";
    }
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }

  std::filesystem::path write(const std::string& name, const Figure& figure,
                              const FigureStyle& style = {}) {
    write_figure(folder_ / name, figure, style, provenance_);
    return folder_ / name;
  }

  std::filesystem::path folder_;
  Json provenance_ = {{"tool", "lime"},
                      {"created_utc", "2026-11-21T04:10:33Z"},
                      {"command", "lime-metrics entropy --layer all -- twice"}};
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

TEST_F(FigureFileTest, EdgesAreDrawn) {
  const auto drawn = [&](const std::string& name, const Figure& figure) {
    EXPECT_GT(content_of(write(name, figure)).size(), 1000U) << name;
  };
  drawn("one_layer.pdf", make_figure(std::vector<FigureSource>{sample_entropy(1)}, {}));
  drawn("many_layers.pdf", make_figure(std::vector<FigureSource>{sample_entropy(128)}, {}));
  drawn("wide_router.pdf",
        make_figure(std::vector<FigureSource>{sample_router(3, 64)}, {.kind = "router-signed"}));
  drawn("deep_router.pdf", make_figure(std::vector<FigureSource>{sample_router(128, 1)}, {}));
  Figure constant = entropy_;
  for (FigurePanel& panel : constant.panels) {
    for (Curve& curve : std::get<CurvePanel>(panel.content).curves) {
      curve.y.assign(curve.y.size(), 1.0);
      curve.low = curve.high = curve.y;
    }
  }
  drawn("constant.pdf", constant);
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
