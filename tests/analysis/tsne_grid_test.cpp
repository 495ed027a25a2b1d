// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne_grid.h"

#include <gtest/gtest.h>

namespace lime {
namespace {

TEST(TsneGridTest, AlignedLayersWithOutliersEndAtOrBelowScikitLearn) {
  testing::check_tsne_grid("quick");
}

}  // namespace
}  // namespace lime
