// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "capture/capture.h"
#include "cuda/cuda_fixture.h"
#include "store/capture_reader.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

class CudaCaptureTest : public ::testing::TestWithParam<std::string> {
 protected:
  CudaCaptureTest() {
    testing::write_tiny_checkpoint(folder_ / "model", testing::tiny_config(GetParam()));
    testing::write_text(folder_ / "text.txt", testing::tiny_text(300));
    options_.checkpoint = folder_ / "model";
    options_.text = {folder_ / "text.txt"};
    options_.seq_len = 32;
  }

  CaptureReader capture(const std::string& device, ComputeType dtype,
                        const CaptureTuning& tuning = {}) {
    options_.device = device;
    options_.dtype = dtype;
    options_.output = folder_ / (device + std::string(enum_name(dtype)) + ".h5");
    run_capture(options_, {}, {}, tuning);
    return CaptureReader(options_.output);
  }

  static void expect_alike(const CaptureReader& found, const CaptureReader& expected,
                           double tolerance) {
    ASSERT_EQ(found.num_rows(), expected.num_rows());
    for (const std::string& site : expected.sites()) {
      for (const int layer : expected.layers(site)) {
        const MatrixF a = found.read_all(site, layer);
        const MatrixF b = expected.read_all(site, layer);
        EXPECT_LT((a - b).cwiseAbs().maxCoeff(), tolerance * b.cwiseAbs().maxCoeff())
            << site << " " << layer;
      }
    }
  }

  testing::TemporaryFolder folder_;
  CaptureOptions options_;
};

TEST_P(CudaCaptureTest, RowsAreTheCpusInEveryType) {
  LIME_SKIP_WITHOUT_GPU();
  const CaptureReader expected = capture("cpu", ComputeType::kFloat32);
  for (const ComputeType dtype :
       {ComputeType::kFloat32, ComputeType::kFloat16, ComputeType::kBfloat16}) {
    SCOPED_TRACE(enum_name(dtype));
    expect_alike(capture("cuda", dtype), expected, testing::tolerance_of(dtype));
  }
}

/// As a large capture does by itself.
TEST_P(CudaCaptureTest, RowsAreTheCpusIfSeveralShardsAreWrittenAtOnce) {
  LIME_SKIP_WITHOUT_GPU();
  const CaptureReader expected = capture("cpu", ComputeType::kFloat32);
  options_.batch_size = 4;
  const CaptureReader found =
      capture("cuda", ComputeType::kFloat32,
              {.shard = {.tokens = 64, .bytes = 1 << 20}, .shards_at_once = 4});
  EXPECT_EQ(found.info().extra["shards_at_once"], 4);
  expect_alike(found, expected, testing::tolerance_of(ComputeType::kFloat32));
}

TEST_P(CudaCaptureTest, FindsABatchThatFits) {
  LIME_SKIP_WITHOUT_GPU();
  const CaptureReader expected = capture("cpu", ComputeType::kFloat32);
  options_.batch_size = BatchSize::automatic();
  const CaptureReader found = capture("cuda", ComputeType::kFloat32);
  EXPECT_GE(found.info().options["batch_size"], 8);
  expect_alike(found, expected, testing::tolerance_of(ComputeType::kFloat32));
}

TEST_P(CudaCaptureTest, LogLikelihoodsAreTheCpus) {
  LIME_SKIP_WITHOUT_GPU();
  options_.log_likelihood = true;
  const CaptureReader expected = capture("cpu", ComputeType::kFloat64);
  const CaptureReader found = capture("cuda", ComputeType::kFloat64);
  for (std::size_t s = 0; s < expected.sequences().size(); ++s) {
    EXPECT_NEAR(found.sequences()[s].log_likelihood, expected.sequences()[s].log_likelihood, 1e-8)
        << s;
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, CudaCaptureTest, ::testing::Values("llama", "lime"));

}  // namespace
}  // namespace lime
