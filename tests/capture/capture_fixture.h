// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "capture/capture.h"
#include "core/errors.h"
#include "core/matrix.h"
#include "store/capture_reader.h"
#include "support/refusal.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime::testing {

/// Several small shards, to exercise resuming and sharing.
inline const CaptureTuning kSmallShards{.shard = {.tokens = 64, .bytes = 1 << 20}};

class CaptureTest : public ::testing::Test {
 protected:
  CaptureTest() {
    write_tiny_checkpoint(folder_ / "model");
    write_text(folder_ / "text.txt", tiny_text(120));
    options_.checkpoint = folder_ / "model";
    options_.text = {folder_ / "text.txt"};
    options_.seq_len = 20;
    options_.batch_size = 3;
    options_.threads = 1;
    options_.output = folder_ / "capture.h5";
  }

  CaptureReader capture(const CaptureTuning& tuning = kSmallShards) {
    run_capture(options_, {}, {}, tuning);
    return CaptureReader(options_.output);
  }

  std::string refusal() {
    return testing::refusal_of([&] { run_capture(options_); });
  }

  TemporaryFolder folder_;
  CaptureOptions options_;
};

/// Checks that matrices are bit-identical; reports a one-line message.
inline ::testing::AssertionResult equal_bits(const MatrixF& a, const MatrixF& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) {
    return ::testing::AssertionFailure()
           << a.rows() << " x " << a.cols() << " and " << b.rows() << " x " << b.cols();
  }
  if (a == b) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "they differ by up to " << (a - b).cwiseAbs().maxCoeff();
}

}  // namespace lime::testing
