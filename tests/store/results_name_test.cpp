// SPDX-License-Identifier: Apache-2.0
#include "store/results_name.h"

#include <gtest/gtest.h>

namespace lime {
namespace {

TEST(ResultsNameTest, OnlyTheEndingsOfResultsAreLeftOut) {
  EXPECT_EQ(results_stem("out/tsne.json"), "tsne");
  EXPECT_EQ(results_stem("tsne.csv"), "tsne");
  EXPECT_EQ(results_stem("tsne.tex"), "tsne");
  EXPECT_EQ(results_stem("tsne.txt"), "tsne");
  EXPECT_EQ(results_stem("model-0.5"), "model-0.5");
  EXPECT_EQ(results_stem("model-0.5.json"), "model-0.5");
  EXPECT_EQ(results_stem(".json"), ".json");
}

TEST(ResultsNameTest, CompanionsLieBesideTheResults) {
  EXPECT_EQ(companion_of("out/tsne.json", ".embeddings.h5"), "out/tsne.embeddings.h5");
  EXPECT_EQ(companion_of("tsne.csv", ".embeddings.csv"), "tsne.embeddings.csv");
  EXPECT_EQ(companion_of("model-0.5", ".embeddings.h5"), "model-0.5.embeddings.h5");
}

}  // namespace
}  // namespace lime
