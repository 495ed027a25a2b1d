// SPDX-License-Identifier: Apache-2.0
#include "train/text/text_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "checkpoint/checkpoint.h"
#include "core/errors.h"
#include "core/random.h"
#include "support/sanitizers.h"
#include "support/test_data.h"
#include "train/run_files.h"
#include "train/tiny_run.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Returns sentences on which a tokenizer can train some hundred pieces.
std::string made_up_text() {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += fmt::format("Every {} number {} is followed by {}, and that is no accident.\n",
                        i % 2 == 0 ? "even" : "odd", i, i + 1);
  }
  return text;
}

class TextRunTest : public ::testing::Test {
 protected:
  TextRunTest() {
    testing::write_text(folder_ / "text.txt", made_up_text());
    data_.text = {folder_ / "text.txt"};
    data_.validation_fraction = 0.1;
    data_.vocab_size = 320;
    data_.sequence_length = 24;
    data_.tokens = folder_ / "tokens";
  }

  void SetUp() override {
    if (testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
  }

  void expect_refused(const std::string& message) const {
    EXPECT_THAT([&] { prepare_text(data_); }, ThrowsMessage<InvalidArgument>(HasSubstr(message)));
  }

  testing::TemporaryFolder folder_;
  TextData data_;
};

TEST_F(TextRunTest, TrainsATokenizerAndADecoderThatLearns) {
  const PreparedText prepared = prepare_text(data_);
  EXPECT_EQ(prepared.tokenizer->vocab_size(), 320);
  EXPECT_GT(prepared.text.training.size(), 8 * prepared.text.validation.size());

  TrainingSetup setup = testing::tiny_setup(folder_ / "model");
  setup.training.steps = 60;
  setup.training.optimizer.learning_rate = 0.01;
  const TrainingOutcome outcome = train_on_text(prepared, data_, setup);
  ASSERT_TRUE(outcome.validation_loss.has_value());
  EXPECT_LT(*outcome.validation_loss, 0.6 * std::log(320.0)) << "an untrained model has log(320)";

  EXPECT_EQ(Checkpoint::open(folder_ / "model").config().vocab_size, 320);
  const auto tokenizer = load_tokenizer(folder_ / "model");
  const std::string sentence = "Every odd number 77 is no accident \u2014 \U0001F34B.";
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(sentence)), sentence) << "rare characters as bytes";
}

TEST_F(TextRunTest, TokensAreADocumentBetweenBosAndEos) {
  const PreparedText prepared = prepare_text(data_);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(prepared.text.training.size()));
  prepared.text.training.copy(0, ids);
  EXPECT_EQ(ids.front(), prepared.tokenizer->bos_id());
  EXPECT_EQ(ids.back(), prepared.tokenizer->eos_id());
  const std::vector<std::int32_t> narrow(ids.begin(), ids.end());
  EXPECT_EQ(made_up_text().find(prepared.tokenizer->decode(narrow)), 0U);
}

TEST_F(TextRunTest, WarnsOfSequencesWithoutBos) {
  const PreparedText prepared = prepare_text(data_);
  const std::int64_t sequences = (prepared.text.training.size() - 1) / 24;
  EXPECT_THAT(packing_warning(prepared, data_),
              HasSubstr(fmt::format("{} of {} training sequences do not begin with '<s>', which "
                                    "the tokenizer puts before every text",
                                    sequences - 1, sequences)));
  data_.sequence_length = prepared.text.training.size() - 1;
  EXPECT_EQ(packing_warning(prepared, data_), "") << "the only one is the document";
}

TEST_F(TextRunTest, TokensAreMadeOnceAndForOtherTextsAnew) {
  prepare_text(data_);
  const auto made = fs::last_write_time(folder_ / "tokens/tokens.json");
  prepare_text(data_);
  EXPECT_EQ(fs::last_write_time(folder_ / "tokens/tokens.json"), made);

  testing::write_text(folder_ / "text.txt", made_up_text() + "One line more.\n");
  const PreparedText other = prepare_text(data_);
  EXPECT_EQ(other.text.description["files"][0]["bytes"], made_up_text().size() + 15);
}

TEST_F(TextRunTest, TokensThatAreNotAsDescribedAreNamed) {
  prepare_text(data_);
  const fs::path file = folder_ / "tokens/tokens.json";
  const Json good = Json::parse(testing::read_text(file));
  const auto expect_broken = [&](const char* key, const Json& value, const std::string& message) {
    Json broken = good;
    broken[key] = value;
    testing::write_text(file, broken.dump());
    EXPECT_THAT([&] { prepare_text(data_); },
                ThrowsMessage<FormatError>(
                    AllOf(HasSubstr("tokens"), HasSubstr(message), HasSubstr("tokenise again"))));
  };
  expect_broken("shards", 1099511627776,
                "shards must be 1, one for each file of the text, got 1099511627776");
  expect_broken("shards", -1, "got -1");
  expect_broken("shards", "many", "got \"many\"");
  expect_broken("tokens", 7,
                "tokens must be two numbers, of the training and the held-out text, got 7");
  expect_broken("tokens", {1, 2}, "must contain 1 and 2 tokens, got ");
}

TEST_F(TextRunTest, TheSameTextGivesTheSameTokenizer) {
  prepare_text(data_);
  const std::string first = testing::read_text(folder_ / "tokens/tokenizer.model");
  data_.tokens = folder_ / "again";
  prepare_text(data_);
  EXPECT_EQ(testing::read_text(folder_ / "again/tokenizer.model"), first);
}

TEST_F(TextRunTest, TokenizerJsonGivesTheIdsOfTheModel) {
  const PreparedText prepared = prepare_text(data_);
  fs::create_directory(folder_ / "model");
  fs::copy_file(folder_ / "tokens/tokenizer.model", folder_ / "model/tokenizer.model");
  const auto model = load_tokenizer(folder_ / "model");
  ASSERT_EQ(model->kind(), "sentencepiece");
  ASSERT_EQ(prepared.tokenizer->kind(), "bpe");
  constexpr std::string_view kAlphabet[] = {"e",      "v",   "er",     "o",     "d",     "dd",
                                            " ",      "  ",  "\n",     "\t",    "1",     "\u2581",
                                            "\u00E9", "<s>", "<0x41>", " even", "number"};
  Random random(7);
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (std::uint64_t left = random.below(30); left > 0; --left) {
      text += kAlphabet[random.below(std::size(kAlphabet))];
    }
    const auto ids = model->encode(text, {.add_special_tokens = true});
    ASSERT_EQ(prepared.tokenizer->encode(text, {.add_special_tokens = true}), ids) << text;
    ASSERT_EQ(prepared.tokenizer->decode(ids), model->decode(ids)) << text;
  }
}

TEST_F(TextRunTest, GoesOnToTheBit) {
  const PreparedText prepared = prepare_text(data_);
  train_on_text(prepared, data_, testing::tiny_setup(folder_ / "whole"));
  TrainingSetup setup = testing::tiny_setup(folder_ / "stopped");
  std::stop_source stop;
  const ProgressFn stop_after_7 = [&](const Progress& progress) {
    if (progress.done == 7) stop.request_stop();
  };
  EXPECT_THROW(train_on_text(prepared, data_, setup, stop_after_7, stop.get_token()), Interrupted);
  setup.run.resume = true;
  train_on_text(prepared, data_, setup);
  EXPECT_EQ(testing::read_text(folder_ / "stopped/model.safetensors"),
            testing::read_text(folder_ / "whole/model.safetensors"));
  EXPECT_EQ(testing::log_lines(folder_ / "stopped", "step").size(), 12U);
}

TEST_F(TextRunTest, ResumingWithAnotherTextIsRefused) {
  TrainingSetup setup = testing::tiny_setup(folder_ / "model");
  setup.training.steps = 2;
  train_on_text(prepare_text(data_), data_, setup);
  testing::write_text(folder_ / "text.txt", made_up_text() + "One line more.\n");
  setup.run.resume = true;
  EXPECT_THAT([&] { train_on_text(prepare_text(data_), data_, setup); },
              ThrowsMessage<InvalidArgument>(HasSubstr("has data.text_sha256 = ")));
}

TEST_F(TextRunTest, UsesATokenizerThatIsThere) {
  prepare_text(data_);
  data_.tokenizer = folder_ / "tokens";
  data_.vocab_size.reset();
  data_.tokens = folder_ / "elsewhere";
  const PreparedText prepared = prepare_text(data_);
  EXPECT_EQ(prepared.tokenizer->vocab_size(), 320);
  EXPECT_EQ(prepared.files.count("tokenizer.model"), 1U);
}

TEST_F(TextRunTest, GoesOnFromACheckpoint) {
  const PreparedText prepared = prepare_text(data_);
  const double first =
      *train_on_text(prepared, data_, testing::tiny_setup(folder_ / "first")).validation_loss;
  TrainingSetup setup = testing::tiny_setup(folder_ / "second");
  setup.from = folder_ / "first";
  setup.training.steps = 1;
  setup.training.optimizer.learning_rate = 1e-9;
  EXPECT_NEAR(*train_on_text(prepared, data_, setup).validation_loss, first, 1e-5);

  TextData other = data_;
  testing::write_text(folder_ / "other.txt", "Another text has other pieces. " + made_up_text());
  other.text = {folder_ / "other.txt"};
  other.tokens = folder_ / "other";
  EXPECT_THAT([&] { train_on_text(prepare_text(other), other, setup); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("from: the text must be tokenised with the tokenizer of '"),
                        HasSubstr("', got a different token "), HasSubstr("omit --tokenizer"))));

  setup = testing::tiny_setup(folder_ / "third");
  setup.from = testing::source_file("data/aet-llama");
  EXPECT_THAT([&] { train_on_text(prepared, data_, setup); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("must contain the 320 tokens of the data, got 121 tokens"),
                        HasSubstr("from: "))));
}

TEST_F(TextRunTest, BadInputIsNamed) {
  data_.vocab_size.reset();
  expect_refused("tokenizer: exactly one of a folder (--tokenizer DIR) and a size");
  data_.vocab_size = 299;
  expect_refused("vocab_size: must be from 300, as 256 pieces are bytes, to 2147483647, got 299");
  data_.vocab_size = 5000;
  expect_refused(
      "vocab_size: cannot learn 5000 pieces from the text, got 'Vocabulary size too high (5000). "
      "Please set it to a value <= ");
  data_.vocab_size = 320;
  data_.validation_fraction = 0.7;
  expect_refused("validation_fraction: must be from 0 to 0.5, got 0.7");
  data_.validation_fraction = 0.1;
  testing::write_text(folder_ / "text.txt", "");
  expect_refused("must contain text, got none");
  testing::write_text(folder_ / "text.txt", " \n\t\n");
  expect_refused("text.txt' must contain text, got none");
  testing::write_text(folder_ / "blank.jsonl", "{\"text\": \" \"}\n");
  data_.text = {folder_ / "blank.jsonl"};
  expect_refused("blank.jsonl' must contain text, got none");
  data_.text = {folder_ / "text.txt"};
  testing::write_text(folder_ / "text.txt", made_up_text() + "\xff\n");
  data_.validation_fraction = 0.0;
  EXPECT_THAT(
      [&] { prepare_text(data_); },
      ThrowsMessage<FormatError>(AllOf(HasSubstr("text.txt'"), HasSubstr("must be UTF-8"))));
}

TEST_F(TextRunTest, ATokenizerHalfWrittenIsTrainedAnew) {
  prepare_text(data_);
  const fs::path folder = data_.tokens;
  data_.vocab_size = 330;
  fs::remove(folder / "tokenizer_config.json");
  fs::create_directory(folder / "tokenizer_config.json");
  EXPECT_THROW(prepare_text(data_), IoError);
  fs::remove(folder / "tokenizer_config.json");
  data_.vocab_size = 320;
  EXPECT_EQ(prepare_text(data_).tokenizer->vocab_size(), 320);
}

TEST_F(TextRunTest, ManyCharactersNeedManyPieces) {
  std::string text;
  for (int i = 0; i < 100; ++i) {  // from U+4E00 on
    text += std::string("\xe4\xb8") + static_cast<char>(0x80 + i % 64);
    text += std::string("\xe4\xb9") + static_cast<char>(0x80 + i % 64) + "\n";
  }
  testing::write_text(folder_ / "text.txt", text);
  expect_refused(
      "got 'Vocabulary size is smaller than required_chars. 320 vs 388. Increase vocab_size'");
}

TEST_F(TextRunTest, SequencesMustFitTheModelAndTheText) {
  const PreparedText prepared = prepare_text(data_);
  data_.sequence_length = 100;
  EXPECT_THAT(
      [&] { train_on_text(prepared, data_, testing::tiny_setup(folder_ / "model")); },
      ThrowsMessage<InvalidArgument>(HasSubstr("max_position_embeddings: must be at least the 100 "
                                               "tokens of a training sequence, got 64")));
}

TEST_F(TextRunTest, SequencesMayBeLongerThanTheContextOfACheckpoint) {
  const PreparedText prepared = prepare_text(data_);
  train_on_text(prepared, data_, testing::tiny_setup(folder_ / "first"));
  TrainingSetup setup = testing::tiny_setup(folder_ / "second");
  setup.from = folder_ / "first";
  setup.training.steps = 1;
  std::vector<std::string> warnings;
  setup.warn = [&](const std::string& text) { warnings.push_back(text); };
  data_.sequence_length = 100;
  EXPECT_TRUE(train_on_text(prepared, data_, setup).validation_loss.has_value());
  EXPECT_THAT(warnings,
              ElementsAre(AllOf(HasSubstr("training sequences are longer than "
                                          "max_position_embeddings = 64 of '"),
                                HasSubstr(", up to 100 tokens; its positions are defined there"))));
  EXPECT_EQ(Checkpoint::open(folder_ / "second").config().max_position_embeddings, 64);
}

TEST(TrainingSetupTest, ARoutingStartsFromTheBlocksOfACheckpoint) {
  const testing::TemporaryFolder folder;
  const Decoder blocks(testing::tiny_config("llama"), 1);
  write_checkpoint(folder.path(), blocks.config(),
                   tensor_views(tensors_as(blocks.parameters(), ComputeType::kFloat32)));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const at::Tensor ids = at::arange(12, at::kLong).view({1, 12});
  const at::Tensor expected = load_decoder(checkpoint).forward(ids).logits;
  TrainingSetup setup;
  setup.from = folder.path();
  setup.model.lime.initializer_scale = 0.0;
  const auto first = [&](const std::string& decoder) {
    setup.model.decoder = decoder;
    return setup.first_decoder(checkpoint.config().vocab_size, 1, 2);
  };
  for (const std::string decoder : {"lime", "denseformer"}) {
    const Decoder routed = first(decoder);
    EXPECT_EQ(enum_name(routed.config().routing), decoder);
    const at::Tensor found = routed.forward(ids).logits;
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-5) << decoder;
  }
  for (const std::string decoder : {"resformer", "attn_res", "mhc", "depth_attention"}) {
    const Decoder routed = first(decoder);
    EXPECT_TRUE(at::equal(routed.parameter("model.embed_tokens.weight"),
                          load_decoder(checkpoint).parameter("model.embed_tokens.weight")))
        << decoder;
  }
  for (const auto& [decoder, problem] :
       {std::pair("hyper_connections", "'hyper_connections' has no parameter '"),
        std::pair("mudd", "'mudd' needs 'model.layers.")}) {
    EXPECT_THAT([&] { first(decoder); }, ThrowsMessage<InvalidArgument>(HasSubstr(problem)));
  }
}

TEST(TrainingSetupTest, LearnedPositionsEndAtTheContext) {
  ModelConfig config = testing::tiny_config("llama");
  config.max_position_embeddings = 8;
  config.spec.learned_position_offset = 0;
  TrainingSetup setup;
  setup.from = "gpt2";
  EXPECT_NO_THROW(setup.check_length(config, 8, "the problem"));
  EXPECT_THAT([&] { setup.check_length(config, 9, "the problem"); },
              ThrowsMessage<InvalidArgument>(
                  "from: 'gpt2' has 8 learned positions, fewer than the 9 tokens of the problem; "
                  "use shorter sequences or a model with rotary positions"));
  config.spec.learned_position_offset.reset();
  EXPECT_NO_THROW(setup.check_length(config, 9, "the problem"));
}

}  // namespace
}  // namespace lime
