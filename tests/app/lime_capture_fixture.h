// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime::testing {

/// A folder with a tiny checkpoint `model` and a text `text.txt`, in which lime-capture runs.
class LimeCaptureTest : public ::testing::Test {
 protected:
  LimeCaptureTest() {
    write_tiny_checkpoint(folder_ / "model");
    write_text(folder_ / "text.txt", tiny_text(100));
  }

  /// Runs lime-capture in the folder, prefixed with `before`.
  ProgramRun run(const std::string& arguments, const std::string& before = "") {
    return run_command(fmt::format("cd '{}' && {} {} {}", folder_.path().string(), before,
                                   LIME_CAPTURE, arguments));
  }

  /// Expects one line on standard error, the exit status, and no capture.
  void expect_refusal(const std::string& arguments, int status, const std::string& text,
                      const std::string& before = "") {
    const ProgramRun result = run(arguments, before);
    EXPECT_EQ(result.status, status) << arguments;
    EXPECT_THAT(result.errors, ::testing::HasSubstr(text)) << arguments;
    EXPECT_THAT(result.errors, ::testing::MatchesRegex("lime-capture: [^\n]*\n")) << "one line";
    EXPECT_FALSE(std::filesystem::exists(folder_ / "capture.h5")) << arguments;
  }

  TemporaryFolder folder_;
};

inline constexpr const char* kCapture =
    "--checkpoint model --text text.txt --seq-len 20 --threads 1";

}  // namespace lime::testing
