// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/json.h"
#include "support/sanitizers.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_command;
using ::testing::StartsWith;
using testing::tiny_config;

const std::string kGenerate = LIME_GENERATE;

class LimeGenerateTest : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_tiny_checkpoint(folder_ / "model"); }

  ProgramRun generate(const std::string& options) const {
    return run_command("cd '" + folder_.path().string() + "' && '" + kGenerate + "' --threads 1 " +
                       options);
  }
  void fails(const std::string& options, int status, const std::string& message) const {
    const ProgramRun run = generate(options);
    EXPECT_EQ(run.status, status) << options << run.errors;
    EXPECT_THAT(run.errors, HasSubstr(message)) << options;
    EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(LimeGenerateTest, ContinuesThePrompt) {
  const ProgramRun run = generate("--checkpoint model --prompt 'the cat' --max-new-tokens 12");
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  EXPECT_THAT(run.output, StartsWith("the cat"));
  EXPECT_GT(run.output.size(), std::string("the cat\n").size());
  EXPECT_TRUE(run.output.ends_with('\n'));
  EXPECT_EQ(generate("--checkpoint model --max-new-tokens 2").status, 0);
}

TEST_F(LimeGenerateTest, ChatAnswersAMessage) {
  const std::string chat = "--checkpoint model --chat --prompt 'the cat' --max-new-tokens 4";
  fails(chat, 1, "'model' has no chat template");
  fails("--checkpoint model --system x", 2, "--system: requires --chat");
  testing::write_text(folder_ / "model/chat_template.jinja",
                      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}the ");
  const ProgramRun run = generate(chat + " --system 'be short' --next-tokens 1 --continuation");
  EXPECT_EQ(run.status, 0) << run.errors;
  const Json json = Json::parse(run.output);
  EXPECT_EQ(json["prompt"], "system: be short\nuser: the cat\nthe ");
  EXPECT_EQ(generate(chat + " --system 'be short'").output,
            json["continuation"].get<std::string>() + "\n");
  EXPECT_EQ(generate("--checkpoint model --chat --prompt x --max-new-tokens 1").errors, "");
}

TEST_F(LimeGenerateTest, EditsChangeThePrediction) {
  const std::string next = "--checkpoint model --prompt 'the cat' --next-tokens 3";
  const ProgramRun edited = generate(next + " --edit 'zero hidden layers=2'");
  EXPECT_EQ(edited.status, 0) << edited.errors;
  EXPECT_NE(edited.output, generate(next).output);
  EXPECT_THAT(generate("--checkpoint model --prompt 'the cat' --edit 'resample hidden'").errors,
              HasSubstr("resample needs all tokens of a text"));
}

TEST_F(LimeGenerateTest, APatchEditsThePromptAndWhatFollowsReadsIt) {
  for (const std::string text : {"the cat", "a doge!", "the cats"}) {
    testing::write_text(folder_ / (text + ".txt"), text + "\n");
    ASSERT_EQ(run_command("cd '" + folder_.path().string() + "' && '" LIME_CAPTURE +
                          "' --checkpoint model --lines '" + text + ".txt' --sites hidden -o " +
                          text.substr(text.size() - 2) + ".h5")
                  .status,
              0);
  }
  const std::string options =
      "--checkpoint model --next-tokens 3 --continuation --max-new-tokens 9";
  const std::string prompt = options + " --prompt 'the cat'";
  const auto read = [&](const std::string& arguments) {
    const ProgramRun run = generate(arguments);
    EXPECT_EQ(run.errors, "");
    return Json::parse(run.output);
  };
  const auto ids = [](const Json& json) {
    std::vector<std::int64_t> next;
    for (const Json& token : json["next_tokens"]) next.push_back(token["id"]);
    return next;
  };
  const Json original = read(prompt);
  const Json other = read(options + " --prompt 'a doge!'");
  ASSERT_NE(ids(original), ids(other));
  const Json patched = read(prompt + " --edit 'patch=e!.h5 hidden layers=2'");
  EXPECT_EQ(ids(patched), ids(other)) << "the last layer of the prompt is that of the other one";
  EXPECT_FALSE(patched["continuation"].get<std::string>().empty());
  const Json same = read(prompt + " --edit 'patch=at.h5 hidden layers=1'");
  EXPECT_EQ(same["continuation"], original["continuation"]) << "its own activations";
  fails(prompt + " --edit 'patch=ts.h5 hidden layers=1'", 1,
        "capture all tokens of texts of the same lengths with this model");
}

TEST_F(LimeGenerateTest, ErrorsOfThePromptComeBeforeIt) {
  const ProgramRun run = generate("--checkpoint model --prompt \"$(printf 'caf\\351')\"");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.output, "");
  EXPECT_THAT(run.errors, HasSubstr("UTF-8"));
}

TEST_F(LimeGenerateTest, APromptThatSpellsBosGetsNoSecondOne) {
  const auto ids = [&](const std::string& prompt) {
    const ProgramRun run = generate("--checkpoint model --next-tokens 2 --prompt '" + prompt + "'");
    return parse_json(run.output, "output")["ids"];
  };
  EXPECT_EQ(ids("<s>the cat"), ids("the cat"));
  EXPECT_EQ(ids("<s>"), ids(""));
  EXPECT_EQ(ids("the<s>"), Json({256, 't', 'h', 'e', 256}));
}

TEST_F(LimeGenerateTest, WarnsOfTextsBeyondThePositionsOfTheModel) {
  const ProgramRun run = generate("--checkpoint model --prompt 'the cat' --max-new-tokens 64");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(
      run.errors,
      HasSubstr("exceed the model's max_position_embeddings of 64; use fewer --max-new-tokens\n"));
  EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
}

TEST_F(LimeGenerateTest, ReadsTheFoldersOfTheReleasedTraining) {
  testing::write_tiny_checkpoint(folder_ / "lime", tiny_config("lime"));
  const std::string options = " --prompt 'the cat' --max-new-tokens 12";
  const std::string text = generate("--checkpoint lime" + options).output;
  testing::move_to_released_layout(folder_ / "lime");
  for (const std::string folder : {"lime", "lime/final"}) {
    const ProgramRun run = generate("--checkpoint " + folder + options);
    EXPECT_EQ(run.errors, "") << folder;
    EXPECT_EQ(run.output, text) << folder;
  }
}

TEST_F(LimeGenerateTest, WarnsOfTiedEmbeddingsThatDiffer) {
  Json config = read_json_file(folder_ / "model/config.json");
  config["tie_word_embeddings"] = true;
  testing::write_text(folder_ / "model/config.json", config.dump());
  const ProgramRun run = generate("--checkpoint model --prompt x --max-new-tokens 2");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.errors, StartsWith("lime-generate: warning: 'model': lm_head.weight is used"));
  EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
}

TEST_F(LimeGenerateTest, TheJsonOfNextTokensMayContainTheContinuation) {
  const std::string command = "--checkpoint model --prompt 'the cat' --max-new-tokens 12";
  const Json json =
      parse_json(generate(command + " --next-tokens 2 --continuation").output, "output");
  EXPECT_EQ("the cat" + json["continuation"].get<std::string>() + "\n", generate(command).output);
  EXPECT_THAT(generate(command + " --continuation").errors,
              HasSubstr("--continuation: is part of the JSON of --next-tokens K"));
}

TEST_F(LimeGenerateTest, TheSeedDecidesWhatIsSampled) {
  const std::string sampled =
      "--checkpoint model --prompt 'the cat' --max-new-tokens 40 --temperature 2 --top-k 50 "
      "--top-p 0.95 --seed ";
  const std::string first = generate(sampled + "1").output;
  EXPECT_EQ(generate(sampled + "1").output, first);
  EXPECT_NE(generate(sampled + "2").output, first);
}

TEST_F(LimeGenerateTest, EndsAfterTheTokensOfGenerationConfigJson) {
  const std::string command = "--checkpoint model --prompt 'the cat' --max-new-tokens 60";
  const std::string whole = generate(command).output;
  Json every_id = Json::array();
  for (int id = 0; id < 280; ++id) every_id.push_back(id);
  testing::write_text(folder_ / "model/generation_config.json",
                      Json{{"eos_token_id", every_id}}.dump());
  const std::string stopped = generate(command).output;
  EXPECT_EQ(stopped, generate("--checkpoint model --prompt 'the cat' --max-new-tokens 1").output);
  EXPECT_LT(stopped.size(), whole.size());
}

TEST_F(LimeGenerateTest, TellsTheReferenceStoryWordForWord) {
  if (testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
  const auto folder = testing::test_data("checkpoints/stories260k");
  if (!exists(folder)) GTEST_SKIP() << testing::skip_reason(folder);
  const ProgramRun run =
      generate("--checkpoint '" + folder.string() + "' --max-new-tokens 200 --temperature 0");
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.output, testing::read_text(folder / "greedy_200.txt"));
}

TEST_F(LimeGenerateTest, PrintsTheNextTokensOfAnEditedModel) {
  testing::write_tiny_checkpoint(folder_ / "lime", tiny_config("lime"));
  const auto next = [&](const std::string& scale) {
    testing::write_text(
        folder_ / "edit.json",
        R"({"format": "lime-router-edit/1", "edits": [{"layer": 1, "scale": )" + scale + "}]}");
    const ProgramRun run =
        generate("--checkpoint lime --prompt 'the cat' --next-tokens 4 --edit edit.json");
    EXPECT_EQ(run.status, 0) << run.errors;
    EXPECT_EQ(
        generate("--checkpoint lime --prompt 'the cat' --next-tokens 4 --edit edit.json").output,
        run.output);
    return Json::parse(run.output);
  };
  const Json same = next("1");
  const ProgramRun plain = generate("--checkpoint lime --prompt 'the cat' --next-tokens 4");
  EXPECT_EQ(same, Json::parse(plain.output));
  EXPECT_EQ(same["prompt"], "the cat");
  EXPECT_EQ(same["next_tokens"].size(), 4U);
  EXPECT_GE(same["next_tokens"][0]["probability"], same["next_tokens"][1]["probability"]);
  EXPECT_GT(same["entropy"], 0.0);
  const ProgramRun each =
      generate("--checkpoint lime --prompt 'the cat' --next-tokens 4 --each-token");
  const Json read = Json::parse(each.output);
  ASSERT_EQ(read["tokens"].size(), read["ids"].size());
  EXPECT_EQ(read["tokens"].back()["next_tokens"], same["next_tokens"]);
  EXPECT_TRUE(read["tokens"][0]["log_probability"].is_null());
  double loss = 0.0;
  for (std::size_t t = 1; t < read["tokens"].size(); ++t) {
    EXPECT_EQ(read["tokens"][t]["id"], read["ids"][t]);
    loss -= read["tokens"][t]["log_probability"].get<double>();
  }
  EXPECT_NEAR(loss / static_cast<double>(read["tokens"].size() - 1),
              same["prompt_loss"].get<double>(), 1e-12);
  const Json cut = next("0");
  EXPECT_NE(cut["prompt_loss"], same["prompt_loss"]);
  EXPECT_NE(cut["entropy"], same["entropy"]);
}

TEST_F(LimeGenerateTest, FailsWhereNothingCanBePrinted) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  for (const char* const arguments :
       {"--help", "--checkpoint model --prompt x --max-new-tokens 5"}) {
    fails(std::string(arguments) + " > /dev/full", 1,
          "standard output: cannot be written: No space left on device");
  }
}

TEST_F(LimeGenerateTest, BadInputGetsOneLine) {
  fails("--checkpoint model --prompt x --edit none.json", 1, "none.json");
  testing::write_text(folder_ / "edit.json",
                      R"({"format": "lime-router-edit/1", "edits": [{"scale": 0}]})");
  fails("--checkpoint model --prompt x --edit edit.json", 1,
        "router edit: the model must be a LIMe with static router weights, got llama");
  fails("--checkpoint model --prompt x --next-tokens -1", 2, "--next-tokens: must be >= 0, got -1");
  fails("--checkpoint model --prompt x --each-token", 2,
        "--each-token: requires next-token predictions; pass --next-tokens K as well");
  fails("--prompt x", 2, "--checkpoint: must be given");
  fails("--checkpoint nowhere --prompt x", 1, "'nowhere': the checkpoint folder does not exist");
  fails("--checkpoint org/name --prompt x", 1, "hf download org/name --local-dir name");
  fails("--checkpoint model --prompt x --temperature -1", 2, "--temperature: must be >= 0");
  fails("--checkpoint model --prompt x --top-p 0", 2, "--top-p: must be in (0, 1], got 0");
  fails("--checkpoint model --prompt x --max-new-tokens 0", 2, "--max-new-tokens: must be >= 1");
  fails("--checkpoint model --prompt x --device gpu", 1, "--device: must be auto, cpu, cuda");
  fails("--checkpoint model --prompt x --device cuda:99", 1, "does not exist");
  ModelConfig config = tiny_config();
  config.vocab_size = 200;
  config.bos_token_id = std::nullopt;
  config.eos_token_ids = {};
  testing::write_tiny_checkpoint(folder_ / "short", config);
  fails("--checkpoint short --prompt x", 1,
        "decoder: token ids must be from 0 to 199, got 256 in sequence 0 at position 0");
}

}  // namespace
}  // namespace lime
