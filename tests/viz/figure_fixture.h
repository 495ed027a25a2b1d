// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QFontDatabase>
#include <QHashSeed>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/json.h"
#include "viz/figure_file.h"

namespace lime::testing {

/// A drawing test: with Qt, the font of the figures, and a separate folder, which is kept so that
/// the figures can be inspected.
class FigureFixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    static int argc = 1;
    static char name[] = "lime_viz_tests";
    static char* argv[] = {name, nullptr};
    QHashSeed::setDeterministicGlobalSeed();  // as in the programs
    if (QApplication::instance() == nullptr) static QApplication application(argc, argv);
  }

  void SetUp() override {
    if (!QFontDatabase::families().contains("Liberation Sans")) {
      GTEST_SKIP() << "the font Liberation Sans is not installed (Debian: fonts-liberation)";
    }
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / "lime-figures" / test.name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  std::filesystem::path write(const std::string& name, const Figure& figure,
                              const FigureStyle& style = {}) {
    write_figure(folder_ / name, figure, style, provenance_);
    return folder_ / name;
  }

  static std::string content_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::filesystem::path folder_;
  Json provenance_ = {{"tool", "lime"},
                      {"created_utc", "2026-11-21T04:10:33Z"},
                      {"command", "lime-metrics entropy --layer all -- twice"}};
};

}  // namespace lime::testing
