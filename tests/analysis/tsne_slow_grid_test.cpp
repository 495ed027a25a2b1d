// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "analysis/tsne_grid.h"

namespace lime {
namespace {

TEST(TsneSlowGridTest, AlignedLayersWithOutliersEndAtOrBelowScikitLearn) {
  testing::check_tsne_grid("slow");
}

TEST(TsneFullGridTest, AlignedLayersWithOutliersEndAtOrBelowScikitLearn) {
  if (std::getenv("LIME_FULL_GRID") == nullptr) GTEST_SKIP() << "set LIME_FULL_GRID=1 to run it";
  testing::check_tsne_grid("full");
}

}  // namespace
}  // namespace lime
