// SPDX-License-Identifier: Apache-2.0
// Errors of captures, with their exact messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "capture/capture_fixture.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::AllOf;
using testing::CaptureTest;
using ::testing::HasSubstr;

TEST_F(CaptureTest, RefusesNumbersThatHalfPrecisionCannotHold) {
  testing::write_tiny_checkpoint(folder_ / "loud", testing::tiny_config(), 60.0);
  options_.checkpoint = folder_ / "loud";
  options_.store = StorageType::kFloat16;
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("to be stored as float16"), HasSubstr("use --store float32")));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(CaptureTest, RefusesActivationsThatAreNotFinite) {
  testing::write_tiny_checkpoint(folder_ / "huge", testing::tiny_config(), 1e18);
  options_.checkpoint = folder_ / "huge";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("capture: blocks.0."), HasSubstr("must be finite"),
                               HasSubstr("sequences 0 to 2"), HasSubstr("--allow-nan")));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  options_.allow_nan = true;
  options_.resume = true;
  options_.output = folder_ / "allowed.h5";
  EXPECT_EQ(refusal(), "");
}

TEST_F(CaptureTest, NamesWhatIsWrongBeforeItStarts) {
  options_.layers = LayerSelection::parse("2,3");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("layers"), HasSubstr("3")));
  options_.layers = {};
  options_.only = {" is", " here"};
  EXPECT_THAT(refusal(), HasSubstr("' here' is several (' ', 'h', 'ere')"));
  options_.only = {"~"};
  EXPECT_THAT(refusal(), HasSubstr("only: none of the tokens occurs in the input"));
  options_.only = {};
  options_.checkpoint = folder_ / "none";
  EXPECT_THAT(refusal(), HasSubstr("none'"));
  options_.checkpoint = folder_ / "model";
  options_.output = folder_ / "no" / "capture.h5";
  EXPECT_THAT(refusal(), HasSubstr("the folder"));
  options_.output = folder_ / "capture.h5";
  options_.device = "tpu";
  EXPECT_THAT(refusal(), HasSubstr("tpu"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "capture.h5"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "capture.shards"));
}

}  // namespace
}  // namespace lime
