// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/batch_size.h"
#include "core/layer_selection.h"
#include "core/memory.h"
#include "core/options.h"
#include "core/work_share.h"
#include "model/compute_type.h"
#include "store/capture_info.h"

namespace lime {

/// Whether the beginning-of-sequence token is put before each document, line or sentence.
enum class BosPolicy {
  kAuto,    ///< as the tokenizer's files say; token files are taken as they are
  kAlways,  ///< always, even where the text starts with one already
  kNever,
};

template <>
struct EnumNames<BosPolicy> {
  static constexpr std::array<std::pair<BosPolicy, std::string_view>, 3> kNames = {
      {{BosPolicy::kAuto, "auto"}, {BosPolicy::kAlways, "always"}, {BosPolicy::kNever, "never"}}};
};

/// How documents become one stream of tokens that is cut into sequences of equal length.
enum class Packing {
  kEosBetween,  ///< an end-of-sequence token between two documents, cut once over all of them
  /// As preprocessing_fineweb.py of the LIMe code: a beginning-of-sequence token before and an
  /// end-of-sequence token after every document, cut in batches of 32 documents.
  kLimeCode,
};

template <>
struct EnumNames<Packing> {
  static constexpr std::array<std::pair<Packing, std::string_view>, 2> kNames = {
      {{Packing::kEosBetween, "eos-between"}, {Packing::kLimeCode, "lime-code"}}};
};

/// How the sentences of minimal pairs are put before a model that is asked how likely it finds
/// them.
enum class BlimpPreset {
  kLmEval,      ///< lm-evaluation-harness: a space before the sentence; ties count as right
  kBlimpPaper,  ///< the BLiMP paper's code: the sentence as it stands; ties count as wrong
};

template <>
struct EnumNames<BlimpPreset> {
  static constexpr std::array<std::pair<BlimpPreset, std::string_view>, 2> kNames = {
      {{BlimpPreset::kLmEval, "lm-eval"}, {BlimpPreset::kBlimpPaper, "blimp-paper"}}};
};

/// Which activations of which tokens of which input go into which file.
struct CaptureOptions {
  /// Folder of the checkpoint, as Hugging Face writes it.
  std::filesystem::path checkpoint = {};
  /// The input, exactly one of the four: documents; texts with a sequence per line; token ids
  /// (.npy, 1-D or 2-D); minimal pairs.
  std::vector<std::filesystem::path> text = {};
  std::vector<std::filesystem::path> lines = {};
  std::filesystem::path tokens = {};
  std::vector<std::filesystem::path> pairs = {};
  /// Scales routes of LIMe before anything is computed: a file as RouterEdit reads it, or none.
  std::filesystem::path router_edit = {};
  BosPolicy bos = BosPolicy::kAuto;
  /// Of text only.
  Packing packing = Packing::kEosBetween;
  /// Tokens per sequence, >= 1, at most the model's max_position_embeddings; not for lines and
  /// pairs.
  /// Without a value: 2048, or max_position_embeddings where that is less.
  std::optional<std::int64_t> seq_len = std::nullopt;
  /// Takes the first so many sequences, >= 1; of pairs, only whole ones.
  std::optional<std::int64_t> max_sequences = std::nullopt;

  /// `values`, `routed_values`, `hidden`, `keys`, or another hook of a layer, e.g. `attn.hook_z`.
  /// Without a value: values and hidden; none where log_likelihood is all that is asked for.
  std::vector<std::string> sites = {};
  LayerSelection layers = {};
  RowKind rows = RowKind::kTokens;
  /// Keeps the rows of these tokens only, each text exactly one token; their order numbers the
  /// classes.
  std::vector<std::string> only = {};
  /// Rows per class of `only`, the first in the order of the text, >= 1.
  std::int64_t max_per_class = 1668;

  /// Keeps the summed log-probability of every sequence. Alone, without sites, layers, rows or
  /// only, it keeps no activations.
  bool log_likelihood = false;
  /// Of pairs: how sentences are encoded. Without a value: lm-eval where log_likelihood is asked
  /// for, else as they stand.
  std::optional<BlimpPreset> blimp_preset = std::nullopt;

  std::filesystem::path output = "capture.h5";
  StorageType store = StorageType::kFloat32;
  Compression compress = Compression::kNone;
  bool resume = false;
  /// Shards of the file that this process writes, of several that share it. Such processes go on
  /// with what is finished without `resume`, so that any of them may be started again.
  std::optional<WorkShare> shard = std::nullopt;

  /// Sequences per forward pass, >= 1. Without a value: 8, and for short sequences as many as make
  /// up 4096 tokens. Automatic: on a GPU as many as its memory takes, found by trying; on the CPU
  /// the usual number or the fewer that the free memory takes.
  std::optional<BatchSize> batch_size = std::nullopt;
  /// As parse_devices() reads it.
  std::string device = "auto";
  ComputeType dtype = ComputeType::kFloat32;
  /// Runs although weights or activations are not finite.
  bool allow_nan = false;
  /// Most memory of the process: a smaller batch or queue is chosen where needed, and what cannot
  /// fit is refused before anything is computed. Without a value nothing is changed.
  std::optional<ByteSize> memory_limit = std::nullopt;
  /// Threads of the forward pass, and of compression beside it; 0: one per processor.
  int threads = 0;
  /// Stored with the capture. Nothing in a capture is random so far.
  std::uint64_t seed = 0;
  bool quiet = false;

  WorkShare share() const { return shard.value_or(WorkShare{}); }
  /// Whether finished shards of an earlier run are taken over.
  bool goes_on() const { return resume || !share().is_whole(); }

  /// Threads that compress, at most 16.
  int compress_threads() const;

  /// Whether every line or sentence is a sequence with a length of its own.
  bool keeps_lengths() const { return !lines.empty() || !pairs.empty(); }

  bool keeps_activations() const;
  /// `sites`, or those that stand for an empty list.
  std::vector<std::string> chosen_sites() const;
  /// blimp_preset or what stands for none; nothing where sentences are encoded as they stand.
  std::optional<BlimpPreset> pair_preset() const;
  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field that is unfit or at odds with another.
  void validate() const;
};

/// The options that decide what the file holds: equal between the runs that make one capture.
Json content_options(const CaptureOptions& options);

}  // namespace lime
