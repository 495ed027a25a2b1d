// SPDX-License-Identifier: Apache-2.0
#include "train/text/text_run.h"

#include <algorithm>

#include "train/packed_batches.h"
#include "train/sequence_batches.h"
#include "train/text/tokenizer_files.h"
#include "train/token_shards.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Returns the properties that a resumed run must share: text and tokenizer, wherever stored.
Json describe_run(const Json& text, const TextData& data, const TrainingSetup& setup) {
  const auto digests = [&](const char* key) {
    Json list = Json::array();
    for (const Json& file : text.at(key)) list.push_back(file.at("sha256"));
    return list;
  };
  return setup.describe("lm", {{"text_sha256", digests("files")},
                               {"validation_sha256", digests("validation_files")},
                               {"validation_share", text.at("validation_share")},
                               {"tokenizer_sha256", text.at("tokenizer_sha256")},
                               {"sequence_length", data.sequence_length}});
}

/// Checks that the checkpoint to train further has the same tokenizer; one without a tokenizer
/// accepts any.
void require_same_tokens(const fs::path& from, const Tokenizer& tokenizer) {
  if (tokenizer_files(from).empty()) return;
  const std::unique_ptr<Tokenizer> known = load_tokenizer(from);
  if (known->sha256() == tokenizer.sha256()) return;
  const auto piece_of = [](const Tokenizer& subject, std::int32_t id) {
    try {
      return subject.piece(id);
    } catch (const InvalidArgument&) {
      return std::string("nothing");
    }
  };
  for (std::int32_t id = 0; id < std::max(known->vocab_size(), tokenizer.vocab_size()); ++id) {
    if (piece_of(*known, id) == piece_of(tokenizer, id)) continue;
    throw InvalidArgument(
        OptionName("from"),
        "the text must be tokenised with the tokenizer of '{}', got a different token {}; "
        "omit --tokenizer and --vocab-size",
        from.string(), id);
  }
}

}  // namespace

void TextData::describe(OptionList& list) {
  list.group("Text (--task lm)");
  list.add("text", text,
           "training text: .jsonl files (\"text\" of each line) or plain text files, or folders of "
           "them");
  list.add("validation_text", validation_text, "held-out text; the end of each file if not given");
  list.add("validation_fraction", validation_fraction,
           "fraction of each file that is held out, from 0 to 0.5");
  list.add("tokenizer", tokenizer, "folder of the tokenizer to use, e.g. a checkpoint");
  list.add("vocab_size", vocab_size,
           "train a SentencePiece tokenizer with this many pieces on the text instead");
  list.add("sequence_length", sequence_length, "tokens per training sequence, >= 1");
  list.add("tokens", tokens,
           "folder that stores the tokenised text for other runs; OUTPUT.tokens if not given");
}

void TextData::validate() const {
  require_text(text_files(text));
  if (!validation_text.empty()) require_text(text_files(validation_text));
  check_option(validation_fraction >= 0.0 && validation_fraction <= 0.5, "validation_fraction",
               "from 0 to 0.5", validation_fraction);
  throw_if(tokenizer.empty() == !vocab_size, OptionName("tokenizer"),
           "exactly one of a folder (--tokenizer DIR) and a size (--vocab-size 4096) must "
           "be given, got {}",
           vocab_size ? "both" : "neither");
  constexpr std::int64_t kMaxPieces = std::numeric_limits<std::int32_t>::max();
  if (vocab_size && (*vocab_size < 300 || *vocab_size > kMaxPieces)) {
    throw InvalidArgument(OptionName("vocab_size"),
                          "must be from 300, as 256 pieces are bytes, to {}, got {}", kMaxPieces,
                          *vocab_size);
  }
  check_option(sequence_length >= 1, "sequence_length", ">= 1", sequence_length);
  if (tokens.empty()) throw InvalidArgument(OptionName("tokens"), "must name a folder, got none");
}

PreparedText prepare_text(const TextData& data, const ProgressFn& on_progress,
                          std::stop_token stop) {
  data.validate();
  const TextSource source = {
      .files = text_files(data.text),
      .validation_files = text_files(data.validation_text),
      .validation_fraction = data.validation_text.empty() ? data.validation_fraction : 0.0};
  const fs::path folder =
      data.vocab_size ? trained_tokenizer(source, *data.vocab_size, data.tokens) : data.tokenizer;
  PreparedText prepared;
  prepared.tokenizer = load_tokenizer(folder);
  prepared.files = tokenizer_files(folder);
  prepared.text =
      tokenize_text(source, *prepared.tokenizer, data.tokens, on_progress, std::move(stop));
  return prepared;
}

std::string packing_warning(const PreparedText& prepared, const TextData& data) {
  const std::span<const std::int32_t> prefix = prepared.tokenizer->prefix_ids();
  const TokenShards& tokens = prepared.text.training;
  const std::int64_t sequences = (tokens.size() - 1) / data.sequence_length;
  std::int64_t count = 0;
  for (std::int64_t s = 0; !prefix.empty() && s < sequences; ++s) {
    std::int64_t first = 0;
    tokens.copy(s * data.sequence_length, {&first, 1});
    count += first == prefix.front() ? 0 : 1;
  }
  if (count == 0) return "";
  return fmt::format(
      "{} of {} training sequences do not begin with '{}', which the tokenizer puts before every "
      "text: it is before each document only, so the loss of a model that expects it at the start "
      "is higher",
      count, sequences, prepared.tokenizer->token_text(prefix.front()));
}

TrainingOutcome train_on_text(const PreparedText& prepared, const TextData& data,
                              const TrainingSetup& setup, const ProgressFn& on_progress,
                              std::stop_token stop) {
  setup.validate();
  const Tokenizer& tokenizer = *prepared.tokenizer;
  const std::int32_t end = tokenizer.eos_id().value_or(0);
  Decoder decoder =
      setup.first_decoder(tokenizer.vocab_size(), tokenizer.bos_id().value_or(end), end);
  if (!setup.from.empty()) require_same_tokens(setup.from, tokenizer);
  setup.check_length(decoder.config(), data.sequence_length, "a training sequence");
  const PackedBatches::Options order = {.sequence_length = data.sequence_length,
                                        .batch_size = setup.training.batch_size,
                                        .seed = setup.seed};
  PackedBatches batches(prepared.text.training, order, "training text");
  const auto sequences = (prepared.text.training.size() - 1) / data.sequence_length;
  setup.warn_of_long(
      decoder.config(),
      std::vector<std::int64_t>(static_cast<std::size_t>(sequences), data.sequence_length));
  std::optional<PackedBatches> validation;
  if (prepared.text.validation.size() > 0) {
    validation.emplace(prepared.text.validation, order, "held-out text");
  }
  const TrainingJob job = {.decoder = decoder,
                           .data = batches,
                           .validation = validation ? &*validation : nullptr,
                           .setup = setup,
                           .description = describe_run(prepared.text.description, data, setup),
                           .files = prepared.files,
                           .evaluate = {}};
  return run_training(job, on_progress, std::move(stop));
}

namespace {

struct TextPair {
  std::string prompt;
  std::string answer;
  std::string where;  ///< "'train.jsonl' line 3"
};

TextPair pair_of(const Json& line, const std::string& where) {
  const auto text = [&](const char* key) {
    if (line.is_object() && line.contains(key) && line[key].is_string()) {
      return line[key].get<std::string>();
    }
    throw FormatError("{}: must have the strings 'prompt' and 'answer', or 'question' and 'answer'",
                      where);
  };
  const bool is_question = line.is_object() && !line.contains("prompt");
  TextPair pair{is_question ? "Question: " + text("question") + "\nAnswer:" : text("prompt"),
                text("answer"), where};
  throw_if<FormatError>(pair.prompt.empty() || pair.answer.empty(),
                        "{}: prompt and answer must not be empty", where);
  return pair;
}

std::vector<TextPair> read_pairs(const std::filesystem::path& file) {
  std::vector<TextPair> pairs;
  for_each_line(file, [&](std::string_view text, std::int64_t number) {
    const std::string where = fmt::format("'{}' line {}", file.string(), number);
    pairs.push_back(pair_of(parse_json(text, where), where));
    return true;
  });
  if (pairs.empty()) throw FormatError("'{}': contains no pairs", file.string());
  return pairs;
}

std::vector<TokenSequence> sequences_of(const std::vector<TextPair>& pairs,
                                        const Tokenizer& tokenizer, std::int64_t longest) {
  std::vector<TokenSequence> sequences;
  for (const TextPair& pair : pairs) {
    const auto encode = [&](const std::string& text) {
      return tokenizer.with_prefix(tokenizer.encode(text));
    };
    TokenSequence sequence;
    sequence.ids = encode(pair.prompt + " " + pair.answer);
    sequence.ids.push_back(*tokenizer.eos_id());
    sequence.first_target = std::max<std::int64_t>(1, std::ssize(encode(pair.prompt)));
    throw_if(std::ssize(sequence.ids) > longest,
             "{}: must have at most the model's {} tokens, got {}; remove the pair", pair.where,
             longest, sequence.ids.size());
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

}  // namespace

TrainingOutcome train_on_pairs(const TaskFiles& files, const TrainingSetup& setup,
                               const ProgressFn& on_progress, std::stop_token stop) {
  setup.validate();
  throw_if(setup.from.empty() || files.train_file.empty(),
           OptionName(setup.from.empty() ? "from" : "train_file"),
           "must be given with --task text-pairs");
  const auto tokenizer = load_tokenizer(setup.from);
  throw_if(!tokenizer->eos_id(), OptionName("from"),
           "the tokenizer of '{}' must have an end-of-text token", setup.from.string());
  const std::int32_t eos = *tokenizer->eos_id();
  const auto samples = take_samples<TextPair>(
      files, read_pairs,
      [](TaskSplit, std::span<const TextPair>) { return std::vector<TextPair>(); },
      [](const TextPair& pair) { return pair.prompt + " " + pair.answer; });
  Decoder decoder =
      setup.first_decoder(tokenizer->vocab_size(), tokenizer->bos_id().value_or(eos), eos);
  const std::int64_t longest = decoder.config().max_length();
  return train_on_sequences(
      decoder, setup,
      {.training = sequences_of(samples.training, *tokenizer, longest),
       .test = sequences_of(samples.test, *tokenizer, longest),
       .pad_id = eos,
       .description =
           setup.describe("text-pairs", {{"train_sha256", TaskFiles::digest_of(files.train_file)},
                                         {"test_sha256", TaskFiles::digest_of(files.test_file)}}),
       .files = tokenizer_files(setup.from),
       .evaluate = {}},
      on_progress, std::move(stop));
}

}  // namespace lime
