// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/layer_selection.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/program/work_share.h"
#include "model/kernels/compute_type.h"
#include "store/capture_info.h"

namespace lime {

/// Sequences per forward pass, `--batch-size`: a number, or as many as fit into memory.
struct BatchSize {
  std::int64_t sequences = 0;
  bool is_automatic = false;  ///< if true, `sequences` is ignored

  // NOLINTNEXTLINE(google-explicit-constructor): a number is a batch size.
  BatchSize(std::int64_t count) : sequences(count) {}
  static BatchSize automatic() {
    BatchSize size(0);
    size.is_automatic = true;
    return size;
  }

  friend bool operator==(const BatchSize&, const BatchSize&) = default;
};

template <> struct OptionCodec<BatchSize> {
  static std::string type() { return "INT|auto"; }
  static BatchSize parse(const std::string& text, const std::string& name) {
    if (text == "auto") return BatchSize::automatic();
    try {
      return {OptionCodec<std::int64_t>::parse(text, name)};
    } catch (const InvalidArgument&) {
      throw InvalidArgument(OptionName(name), "expected a whole number or auto, got '{}'", text);
    }
  }
  static Json to_json(const BatchSize& value) {
    return value.is_automatic ? Json("auto") : Json(value.sequences);
  }
};

/// Whether the beginning-of-sequence token is put before texts; see Packing for packed ones.
enum class BosPolicy {
  kAuto,    ///< as configured in the tokenizer's files; token files are unchanged
  kAlways,  ///< always, even where the text starts with one already
  kNever,
};

constexpr auto names_of(BosPolicy) {
  using enum BosPolicy;
  return enum_table<BosPolicy>({{kAuto, "auto"}, {kAlways, "always"}, {kNever, "never"}});
}

/// Method that joins documents to one stream of tokens, which is cut into sequences of equal
/// length.
enum class Packing {
  /// BOS before every document, an end-of-sequence token between two, cut once over all of them.
  kEosBetween,
  /// As preprocessing_fineweb.py of the LIMe code: a beginning-of-sequence token before and an
  /// end-of-sequence token after every document, cut in batches of 32 documents.
  kLimeCode,
  /// As TransformerLens and SAELens: an end-of-sequence token between two documents, and BOS at the
  /// start of every sequence.
  kBosEach,
};

constexpr auto names_of(Packing) {
  using enum Packing;
  return enum_table<Packing>(
      {{kEosBetween, "eos-between"}, {kLimeCode, "lime-code"}, {kBosEach, "bos-each"}});
}

/// Encoding of minimal pairs whose log-likelihood is computed.
enum class BlimpPreset {
  kLmEval,      ///< lm-evaluation-harness: a space before the sentence; ties count as correct
  kBlimpPaper,  ///< the BLiMP paper's code: the unchanged sentence; ties count as wrong
};

constexpr auto names_of(BlimpPreset) {
  using enum BlimpPreset;
  return enum_table<BlimpPreset>({{kLmEval, "lm-eval"}, {kBlimpPaper, "blimp-paper"}});
}

/// Tokens that scores count: those that meet every condition.
struct ScoreSelection {
  std::string after = {};               ///< those after its first occurrence in the text
  std::vector<std::string> words = {};  ///< texts of one token each
  LayerSelection positions = {};        ///< from 0, prepended tokens included

  bool is_all() const { return after.empty() && words.empty() && positions.is_all(); }
  void describe(OptionList& list);
};

/// Adds `--edit`.
void describe_edits(OptionList& list, std::vector<std::string>& edit);

/// Options of a capture; describe() explains every field.
struct CaptureOptions {
  std::filesystem::path checkpoint = {};
  /// Weights drawn with `seed` as for training, in place of the checkpoint's.
  bool random_weights = false;
  // The input: exactly one of the five.
  std::vector<std::filesystem::path> text = {};
  std::vector<std::filesystem::path> lines = {};
  bool chat = false;  ///< lines are messages, see ChatLines
  std::vector<std::filesystem::path> views = {};
  std::filesystem::path tokens = {};
  std::vector<std::filesystem::path> pairs = {};
  std::vector<std::string> edit = {};  ///< see read_edits()
  BosPolicy bos = BosPolicy::kAuto;
  /// Not set: kBosEach if tokens are prepended, else kEosBetween.
  std::optional<Packing> packing = std::nullopt;
  std::optional<std::int64_t> seq_len = std::nullopt;
  std::optional<std::int64_t> max_sequences =
      std::nullopt;  ///< of pairs and views, only whole ones
  ScoreSelection score = {};

  std::vector<std::string> sites = {};  ///< empty: values and hidden; none for log_likelihood alone
  LayerSelection layers = {};
  /// Tokens of each sequence for which the logit lens is computed, >= 1; unset: all.
  std::optional<std::int64_t> lens_tokens = std::nullopt;
  RowKind rows = RowKind::kTokens;
  std::vector<std::string> only = {};  ///< texts of one token each; their order numbers the classes
  std::int64_t max_per_class = 1668;

  bool log_likelihood = false;
  std::optional<BlimpPreset> blimp_preset = std::nullopt;

  std::filesystem::path output = "capture.h5";
  StorageType store = StorageType::kFloat32;
  Compression compress = Compression::kNone;
  bool resume = false;
  /// Processes that share the file always keep finished shards, so that each can be restarted.
  std::optional<WorkShare> shard = std::nullopt;

  /// Automatic: on a GPU as many as fit into its memory, found by trial; on the CPU the default,
  /// reduced to fit into the free memory.
  std::optional<BatchSize> batch_size = std::nullopt;
  std::string device = "auto";  ///< see parse_devices()
  ComputeType dtype = ComputeType::kFloat32;
  bool allow_nan = false;
  std::optional<ByteSize> memory_limit = std::nullopt;
  int threads = 0;
  std::uint64_t seed = 0;
  bool quiet = false;

  WorkShare share() const { return shard.value_or(WorkShare{}); }
  bool resumes() const { return resume || !share().is_whole(); }

  /// Returns the number of threads that check, compress and write, at most 16: all to compress,
  /// else half.
  int writer_threads() const;
  /// Returns true if every line or sentence is a sequence with its own length.
  bool keeps_lengths() const { return !lines.empty() || !views.empty() || !pairs.empty(); }
  bool keeps_activations() const;
  std::vector<std::string> selected_sites() const;
  /// Returns blimp_preset or its default; nothing if sentences are encoded unchanged.
  std::optional<BlimpPreset> pair_preset() const {
    if (blimp_preset || pairs.empty() || !log_likelihood) return blimp_preset;
    return BlimpPreset::kLmEval;
  }
  void describe(OptionList& list);
  /// Returns the tokens that the input puts before a text; a chat template writes its own.
  BosPolicy bos_of_texts() const { return chat ? BosPolicy::kNever : bos; }
  /// Describes the model and its input only.
  void describe_input(OptionList& list);
  /// @throws InvalidArgument  naming the first field that is invalid or conflicts with another.
  void validate() const;
  void validate_input() const;
};

}  // namespace lime
