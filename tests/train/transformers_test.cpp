// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/families/family.h"
#include "checkpoint/tokenizer.h"
#include "checkpoint/weights/safetensors.h"
#include "support/sanitizers.h"
#include "support/test_data.h"
#include "train/run_files.h"
#include "train/tasks/prosqa_run.h"
#include "train/text/text_run.h"
#include "train/tiny_run.h"

namespace lime {
namespace {

constexpr int kMissingLibrary = 77;

struct Export {
  std::string decoder = "llama";
  std::string task;
};

TrainingSetup small_setup(const std::filesystem::path& folder, const std::string& decoder) {
  TrainingSetup setup = testing::tiny_setup(folder);
  setup.model.decoder = decoder;
  // StableLM rotates a quarter of a head, which must be pairs.
  setup.model.num_attention_heads = decoder == "stablelm" ? 2 : 4;
  setup.model.num_key_value_heads = 2;
  return setup;
}

std::vector<std::string> train_on_expressions(const TrainingSetup& setup) {
  testing::TinyRun options = testing::tiny_run(setup.run.output);
  options.setup = setup;
  testing::train(options);
  return {"( 7 + 5 ) / 4 = 12 / 4 = 3", "12 - ( 8 - 5 ) = 12 - 3 = 9", "20"};
}

std::vector<std::string> train_on_questions(TrainingSetup setup) {
  setup.model.max_position_embeddings = 1024;
  setup.training.steps = 2;
  train_on_prosqa({.train_problems = 16, .test_problems = 2}, setup);
  return {"Every yimpus is a rempus . Is Tom a rempus or lempus ?", "### Tom is a lempus ."};
}

/// Random texts of a small alphabet, in which pieces overlap in many ways.
std::vector<std::string> overlapping_texts() {
  constexpr std::string_view kAlphabet[] = {"e",  "v", "er", "o", "d",
                                            "dd", " ", "  ", "1", "\u2581"};
  std::vector<std::string> texts;
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    std::string& text = texts.emplace_back();
    for (std::uint64_t left = 1 + random.below(20); left > 0; --left) {
      text += kAlphabet[random.below(std::size(kAlphabet))];
    }
  }
  return texts;
}

/// Texts of which many begin with white space.
std::vector<std::string> train_on_sentences(const TrainingSetup& setup) {
  const std::filesystem::path file = setup.run.output.string() + ".txt";
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += fmt::format("Every {} number {} is  followed by {}.\n", i % 2 == 0 ? "even" : "odd", i,
                        i + 1);
  }
  testing::write_text(file, text);
  TextData data;
  data.text = {file};
  data.vocab_size = 320;
  data.sequence_length = 24;
  data.tokens = setup.run.output.string() + ".tokens";
  train_on_text(prepare_text(data), data, setup);
  std::vector<std::string> texts = overlapping_texts();
  texts.insert(texts.end(), {"Every odd number 77", "a  b", "caf\u00E9 \U0001F34B",
                             "a <s>b</s> <unk>", "<0x41>"});
  for (const char* const start : {" ", "  ", "   ", "\n", "\n\n", "\t", " \n", "\n ", " \t "}) {
    for (const char* const rest : {"Every", "even 12", "x", "\u2581y", ""}) {
      texts.push_back(std::string(start) + rest);
    }
  }
  return texts;
}

/// Trains for a few steps and writes texts with our ids and logits beside the model.
void write_folder(const std::filesystem::path& folder, const Export& what) {
  const TrainingSetup setup = small_setup(folder, what.decoder);
  const std::vector<std::string> texts = what.task == "aet"      ? train_on_expressions(setup)
                                         : what.task == "prosqa" ? train_on_questions(setup)
                                                                 : train_on_sentences(setup);
  testing::write_text(folder / "texts.json", Json(texts).dump());
  const auto tokenizer = load_tokenizer(folder);
  const Decoder decoder = load_decoder(Checkpoint::open(folder));
  std::vector<NamedTensor> expected;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto ids = tokenizer->encode(texts[i], {.add_special_tokens = true});
    const at::Tensor row = at::tensor(ids, at::kLong).unsqueeze(0);
    expected.push_back({fmt::format("ids.{}", i), row.to(at::kFloat)});
    expected.push_back({fmt::format("logits.{}", i), decoder.forward(row).logits});
  }
  const auto tensors = tensors_on_cpu(expected);
  write_safetensors(folder / "expected.safetensors", tensor_views(tensors));
}

class TransformersTest : public ::testing::TestWithParam<Export> {};

TEST_P(TransformersTest, LoadsOurFoldersWithTheSameIdsAndLogits) {
  if (GetParam().task == "lm" && testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
  const testing::TemporaryFolder folder;
  write_folder(folder / "model", GetParam());
  const auto script = testing::source_file("tests/train/check_with_transformers.py");
  const testing::ProgramRun run = testing::run_command(
      fmt::format("python3 '{}' '{}' {}", script.string(), (folder / "model").string(),
                  GetParam().task == "lm" ? "pieces" : "words"));
  if (run.status == kMissingLibrary || run.status == 127) {
    GTEST_SKIP() << "needs a python3 with transformers and torch; " << run.output;
  }
  EXPECT_EQ(run.status, 0) << run.output << run.errors;
}

std::vector<Export> exports() {
  std::vector<Export> all;
  for (const Family* const family : all_families()) {
    if (family->is_for_new_models) all.push_back({std::string(family->model_type), "aet"});
  }
  for (const std::string decoder : {"llama", "mistral", "qwen2"}) {
    for (const char* const task : {"prosqa", "lm"}) all.push_back({decoder, task});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(DecodersAndTasks, TransformersTest, ::testing::ValuesIn(exports()),
                         [](const auto& what) {
                           std::string name =
                               fmt::format("{}_{}", what.param.decoder, what.param.task);
                           std::erase(name, '_');
                           return name;
                         });

}  // namespace
}  // namespace lime
