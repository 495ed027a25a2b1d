// SPDX-License-Identifier: Apache-2.0
// lime-capture --lens-tokens: the logit lens of a sample of the tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/lime_capture_fixture.h"
#include "store/capture_reader.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeCaptureTest;
using testing::ProgramRun;
using testing::run_command;

TEST_F(LimeCaptureTest, LensTokensComputesTheLensOfASample) {
  const std::string capture =
      "--checkpoint model --text text.txt --seq-len 20 --sites logit_lens --threads 1 ";
  const ProgramRun whole = run(capture + "-o whole.h5");
  ASSERT_EQ(whole.status, 0) << whole.errors;
  EXPECT_THAT(whole.output, HasSubstr("Lens      logits of "));
  ASSERT_EQ(run(capture + "--lens-tokens 4 --seed 2 -o sample.h5").status, 0);
  const CaptureReader all(folder_ / "whole.h5");
  const CaptureReader sample(folder_ / "sample.h5");
  for (std::int64_t s = 0; s < all.num_sequences(); ++s) {
    const MatrixF complete = all.read_sequence("logit_lens", 0, s);
    const MatrixF drawn = sample.read_sequence("logit_lens", 0, s);
    std::int64_t computed = 0;
    for (Eigen::Index t = 0; t < drawn.rows(); ++t) {
      if (drawn(t, 4) == 0.0F) continue;
      ++computed;
      // Logits are computed in other blocks.
      EXPECT_LT((drawn.row(t) - complete.row(t)).cwiseAbs().maxCoeff(), 1e-4F);
    }
    EXPECT_EQ(computed, 4);
  }
  const ProgramRun lens =
      run_command("cd '" + folder_.path().string() + "' && " LIME_METRICS " lens sample.h5");
  EXPECT_EQ(lens.status, 0) << lens.errors;
  expect_refusal("--checkpoint model --text text.txt --lens-tokens 4", 1,
                 "--lens-tokens: selects tokens of the site logit_lens");
}

}  // namespace
}  // namespace lime
