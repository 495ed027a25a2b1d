// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-eval on items of our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "core/files/checked_lines.h"
#include "core/json.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_command;

class LimeEvalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_tiny_checkpoint(folder_ / "model");
    testing::write_text(folder_ / "own.jsonl",
                        R"({"prompt": "The cats", "choices": ["are", "is"], "gold": 0})"
                        "\n"
                        R"({"prompt": "The dog and the", "choices": ["is", "was", "x"], "gold": 2})"
                        "\n");
  }
  ProgramRun eval(const std::string& options) const {
    return run_command("cd '" + folder_.path().string() +
                       "' && '" LIME_EVAL "' --checkpoint model --threads 1 --quiet " + options);
  }
  void fails(const std::string& options, const std::string& message) const {
    const ProgramRun run = eval(options);
    EXPECT_NE(run.status, 0) << options;
    EXPECT_THAT(run.errors, HasSubstr(message)) << options;
    EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  }

  /// Returns the part of a run that was interrupted at its end.
  std::string part_of(const std::string& text) const {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    testing::write_text(folder_ / "lines", "");
    CheckedLinesWriter(folder_ / "lines").append(lines);
    return testing::read_text(folder_ / "lines");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(LimeEvalTest, WritesSamplesThatItReadsAgain) {
  const ProgramRun run = eval("--tasks choices --data own.jsonl --layers all -o a.jsonl");
  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("choices: acc "));
  const std::string text = testing::read_text(folder_ / "a.jsonl");
  const Json line = parse_json(text.substr(0, text.find('\n')), "a.jsonl");
  EXPECT_EQ(line["task"], "choices");
  EXPECT_EQ(line["arguments"]["gen_args_0"]["arg_0"], "The cats");
  EXPECT_EQ(line["arguments"]["gen_args_0"]["arg_1"], " are");
  EXPECT_EQ(line["filtered_resps"].size(), 2U);
  EXPECT_EQ(line["layers"].size(), 3U);
  const ProgramRun again = eval("--samples a.jsonl -o b.jsonl");
  EXPECT_EQ(again.status, 0) << again.errors;
  EXPECT_THAT(again.output, HasSubstr("by at most 0; 0 answers differ"));
}

TEST_F(LimeEvalTest, ResumesToEqualBytes) {
  std::string items;
  for (int i = 0; i < 40; ++i) {
    items += R"({"prompt": "The cats number )" + std::to_string(i) +
             R"(", "choices": ["are here", "is"], "gold": 0})"
             "\n";
  }
  testing::write_text(folder_ / "many.jsonl", items);
  testing::write_text(folder_ / "gsm8k.jsonl", R"({"question": "1+1?", "answer": "#### 2"})"
                                               "\n");
  const std::string command =
      "--tasks choices gsm8k --data many.jsonl gsm8k.jsonl --max-new-tokens 4 --layers all -o ";
  ASSERT_EQ(eval(command + "whole.jsonl").status, 0);
  const std::string whole = testing::read_text(folder_ / "whole.jsonl");
  const std::string part = part_of(whole);
  // A killed process leaves whole lines and one that was cut short.
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{100}, part.size() / 2, part.size() * 9 / 10, part.size()}) {
    testing::write_text(folder_ / "a.jsonl.part", part.substr(0, size));
    const ProgramRun run = eval(command + "a.jsonl --resume");
    ASSERT_EQ(run.status, 0) << run.errors;
    EXPECT_THAT(run.output, HasSubstr("(40 items"));
    EXPECT_TRUE(testing::read_text(folder_ / "a.jsonl") == whole) << size;
    EXPECT_FALSE(exists(folder_ / "a.jsonl.part"));
  }
  // A finished file stays as it is.
  EXPECT_EQ(eval(command + "a.jsonl --resume").status, 0);
  EXPECT_TRUE(testing::read_text(folder_ / "a.jsonl") == whole);
  testing::write_text(folder_ / "a.jsonl.part", part);
  fails(command + "a.jsonl", "resume it with --resume, or remove the file");
  fails(command + "a.jsonl --resume --dtype bfloat16",
        "was started with different options, settings.dtype was 'float32', now 'bfloat16'");
  testing::write_text(folder_ / "many.jsonl", items.substr(items.find('\n') + 1));
  fails(command + "a.jsonl --resume", "was started with different options, arguments");
}

TEST_F(LimeEvalTest, RefusesAPartInWhichADigitWasChanged) {
  const std::string command = "--tasks choices --data own.jsonl -o a.jsonl";
  ASSERT_EQ(eval(command).status, 0);
  const std::string part = part_of(testing::read_text(folder_ / "a.jsonl"));
  std::string damaged = part;
  damaged[part.find("\"filtered_resps\":[[\"-") + 21] ^= 1;
  testing::write_text(folder_ / "a.jsonl.part", damaged);
  fails(command + " --resume",
        "'a.jsonl.part' line 1: does not have its checksum; remove the file to start over");
  // As lime-eval wrote it before lines had checksums.
  testing::write_text(folder_ / "a.jsonl.part", testing::read_text(folder_ / "a.jsonl"));
  fails(command + " --resume", "'a.jsonl.part' line 1: does not have its checksum");
}

TEST_F(LimeEvalTest, FinishesItsFileWhenNobodyReadsItsOutput) {
  const ProgramRun run = run_command(
      "cd '" + folder_.path().string() +
      "' && { '" LIME_EVAL
      "' --checkpoint model --threads 1 --quiet --tasks choices choices --data own.jsonl "
      "own.jsonl -o a.jsonl; echo $? >status; } | true");
  EXPECT_EQ(run.errors, "");
  EXPECT_EQ(testing::read_text(folder_ / "status"), "0\n");
  EXPECT_TRUE(exists(folder_ / "a.jsonl"));
  EXPECT_FALSE(exists(folder_ / "a.jsonl.part"));
}

TEST_F(LimeEvalTest, FitsProbesPerLayer) {
  std::string items;
  for (int i = 0; i < 12; ++i) {
    items += R"({"prompt": "Item )" + std::to_string(i) +
             R"(", "choices": ["the cats", "a dog"], "gold": )" + (i % 3 == 0 ? "1}" : "0}") + "\n";
  }
  testing::write_text(folder_ / "own.jsonl", items);
  const std::string command = "--tasks choices --data own.jsonl --probes -o a.jsonl";
  ASSERT_EQ(eval(command + " --layers 0,2").status, 0);
  const std::string text = testing::read_text(folder_ / "a.jsonl");
  const Json line = parse_json(text.substr(0, text.find('\n')), "a.jsonl");
  ASSERT_EQ(line["layers"].size(), 2U);
  for (const Json& layer : line["layers"]) {
    ASSERT_EQ(layer["probe"].size(), 2U);
    EXPECT_LT(layer["probe"][0], 0.0);
  }
  EXPECT_THAT(
      run_command("cd '" + folder_.path().string() + "' && '" LIME_METRICS "' choices a.jsonl")
          .output,
      HasSubstr("choices, probe"));
  fails(command, "--probes: need the outputs of layers; add --layers all");
  fails(command + " --layers all --limit 4", "must have choices and at least 5 items, got 4");
}

TEST_F(LimeEvalTest, ReadsYamlTasks) {
  testing::write_text(folder_ / "items.yaml",
                      "- {prompt: The cats, choices: [yes, no], gold: 1}\n"
                      "- prompt: |-\n    Two\n    lines:\n  choices: ['1', 2]\n  gold: 0\n");
  ASSERT_EQ(eval("--tasks choices --data items.yaml -o a.jsonl").status, 0);
  EXPECT_THAT(testing::read_text(folder_ / "a.jsonl"),
              ::testing::AllOf(HasSubstr(R"("arg_0":"The cats","arg_1":" yes")"),
                               HasSubstr(R"("arg_0":"Two\nlines:","arg_1":" 1")")));
  testing::write_text(folder_ / "capital.yaml",
                      "prompt: \"Q: {{ country.name }}?\\nA:\"\n"
                      "choices: '{{cities}}'\ngold: answer\nlabels: [a, b]\n");
  testing::write_text(folder_ / "rows.jsonl",
                      R"({"country": {"name": "Peru"}, "cities": ["Lima", "Oslo"], "answer": "b"})"
                      "\n");
  const ProgramRun run = eval("--tasks capital.yaml --data rows.jsonl -o a.jsonl");
  EXPECT_THAT(run.output, HasSubstr("capital: acc ")) << run.errors;
  EXPECT_THAT(testing::read_text(folder_ / "a.jsonl"),
              ::testing::AllOf(HasSubstr(R"("arg_0":"Q: Peru?\nA:","arg_1":" Oslo")"),
                               HasSubstr(R"("gold":1)")));
  testing::write_text(folder_ / "rows.jsonl", R"({"country": "Peru"})");
  fails("--tasks capital.yaml --data rows.jsonl -o a.jsonl",
        "'rows.jsonl' line 1: must have the string 'country.name'; capital expects the fields of "
        "'capital.yaml'");
  testing::write_text(folder_ / "capital.yaml", "prompt: x\ntarget: y\n");
  fails("--tasks capital.yaml --data rows.jsonl -o a.jsonl",
        "'capital.yaml': a task must consist of prompt, choices, gold, labels, got 'target'");
  testing::write_text(folder_ / "items.yaml", "- prompt: [x\n");
  fails("--tasks choices --data items.yaml -o a.jsonl",
        "'items.yaml' line 2: end of sequence flow not found");
}

TEST_F(LimeEvalTest, ReportsCutContexts) {
  const ProgramRun run = eval("--tasks choices --data own.jsonl --max-length 12 -o a.jsonl");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.errors, HasSubstr("1 of 2 items have a context longer than the model's 12"));
}

TEST_F(LimeEvalTest, GeneratesAnswers) {
  testing::write_text(folder_ / "gsm8k.jsonl",
                      R"({"question": "1+1?", "answer": "It is 2.\n#### 2"})"
                      "\n");
  const ProgramRun run = eval("--tasks gsm8k --data gsm8k.jsonl --max-new-tokens 8 -o a.jsonl");
  ASSERT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("tokens/s generated"));
  const std::string text = testing::read_text(folder_ / "a.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const Json line = parse_json(text.substr(0, text.find('\n')), "a.jsonl");
  EXPECT_EQ(line["arguments"]["gen_args_0"]["arg_1"]["until"],
            Json({"Question:", "</s>", "<|im_end|>"}));
  EXPECT_EQ(line["truncated"], false);
  EXPECT_THAT(
      eval("--tasks gsm8k --data gsm8k.jsonl --max-new-tokens 8 --max-length 12 -o b.jsonl").errors,
      HasSubstr("1 of 1 items have a context longer than the model's 12"));
  fails("--tasks gsm8k --data gsm8k.jsonl --max-new-tokens 8 --max-length 8 -o b.jsonl",
        "--max-new-tokens: must be below the model's 8 positions, got 8");
  EXPECT_EQ(eval("--samples a.jsonl --max-new-tokens 8 -o b.jsonl").status, 0);
  EXPECT_EQ(testing::read_text(folder_ / "b.jsonl"), text);
}

TEST_F(LimeEvalTest, LearnsAnswersThatItWasFineTunedOn) {
  testing::write_text(folder_ / "pairs.jsonl", R"({"prompt": "The cats", "answer": "are"})"
                                               "\n"
                                               R"({"prompt": "The dog and the", "answer": "x"})"
                                               "\n");
  const std::string train = "cd '" + folder_.path().string() +
                            "' && '" LIME_TRAIN
                            "' --task text-pairs --threads 1 --quiet "
                            "--learning-rate 0.01 --schedule wsd --warmup-steps 5 --batch-size 2 ";
  const ProgramRun run =
      run_command(train + "--from model --train-file pairs.jsonl --steps 60 -o tuned");
  ASSERT_EQ(run.status, 0) << run.errors;
  const ProgramRun tuned = run_command("cd '" + folder_.path().string() +
                                       "' && '" LIME_EVAL
                                       "' --checkpoint tuned --threads 1 --quiet "
                                       "--tasks choices --data own.jsonl -o a.jsonl");
  EXPECT_THAT(tuned.output, HasSubstr("acc 1.0000")) << tuned.errors;
  EXPECT_THAT(run_command(train + "--train-file pairs.jsonl -o b").errors,
              HasSubstr("--from: must be given with --task text-pairs"));
  testing::write_text(folder_ / "pairs.jsonl", "{\"prompt\": \"a\"}\n");
  EXPECT_THAT(run_command(train + "--from model --train-file pairs.jsonl -o b").errors,
              HasSubstr("line 1: must have the strings 'prompt' and 'answer'"));
}

TEST_F(LimeEvalTest, RefusesBadInput) {
  fails("--tasks choices -o a.jsonl", "--data: expected a folder or one file per task, got none");
  fails("--tasks piqa --data own.jsonl -o a.jsonl", "piqa expects goal, sol1, sol2, label");
  fails("--tasks choices piqa --data own.jsonl -o a.jsonl",
        "--data: expected a folder or one file per task, got 1 for 2 tasks");
  fails("--tasks piqa --data . -o a.jsonl", "'.': contains no data for piqa");
  fails("--tasks choices --data own.jsonl --shots 2 -o a.jsonl", "give it with --fewshot-data");
  fails("--tasks choices --data own.jsonl --max-length 1 -o a.jsonl",
        "choices, item 1: the continuation ' x' must have at most 1 tokens, got 2");
  fails("--tasks choices --data own.jsonl --layers 7 -o a.jsonl", "7");
  EXPECT_FALSE(exists(folder_ / "a.jsonl"));
}

}  // namespace
}  // namespace lime
