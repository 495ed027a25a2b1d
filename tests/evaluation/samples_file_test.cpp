// SPDX-License-Identifier: Apache-2.0
#include "store/samples_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

/// A line of lime-eval, with other values.
std::string line_with(const Json& changes) {
  Json line = parse_json(
      R"({"doc_id": 0, "target": "1", "arguments": [["a", " x"], ["a", " y"]], "gold": 1,
          "filtered_resps": [["-1.5", "True"], ["-2.5", "False"]], "filter": "none",
          "layers": [{"layer": 0, "log_likelihoods": [-1.0, -2.0], "probe": [-0.5, -0.7]}]})",
      "line");
  line.update(changes);
  return line.dump();
}

TEST(SamplesFileTest, NamesTheLineAndTheFieldThatIsWrong) {
  const testing::TemporaryFolder folder;
  const auto refusal = [&](const Json& changes) {
    testing::write_text(folder / "s.jsonl", line_with(changes));
    return testing::refusal_of<FormatError>(
        [&] { read_samples_file(folder / "s.jsonl", [](const EvalSample&) {}); });
  };
  const std::string where = "'" + (folder / "s.jsonl").string() + "' line 1: ";
  EXPECT_EQ(refusal(Json::object()), "");
  EXPECT_EQ(refusal({{"filter", 5}}), where + "'filter' must be a string, got 5");
  EXPECT_EQ(refusal({{"task", Json::array()}}), where + "'task' must be a string, got []");
  EXPECT_EQ(refusal({{"tokenizer_sha256", nullptr}}),
            where + "'tokenizer_sha256' must be a string, got null");
  EXPECT_EQ(refusal({{"layers", {1}}}),
            where + "'layers' must be objects with 'layer' and 'log_likelihoods', got 1");
  EXPECT_EQ(refusal({{"layers", {{{"layer", 0}, {"log_likelihoods", {"x"}}}}}}),
            where + "'log_likelihoods' must be a list of finite numbers, got [\"x\"]");
  EXPECT_EQ(refusal({{"layers", {{{"layer", 3}, {"log_likelihoods", {-1.0}}}}}}),
            where + "layer 3 must have a score for each of 2 choices");
  const Json text = {{"arg_0", "a"}, {"arg_1", {{"until", "x"}}}};
  EXPECT_EQ(refusal({{"arguments", {{"gen_args_0", text}}}}),
            where + "'until' must be a list of strings, got \"x\"");
}

}  // namespace
}  // namespace lime
