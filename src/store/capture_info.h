// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/matrix.h"
#include "core/options.h"

namespace lime {

/// Schema version that this build writes, and the only one that it reads.
inline constexpr int kCaptureSchemaVersion = 1;

/// Meaning of one row of a capture.
enum class RowKind { kTokens, kMean, kLast };

constexpr auto names_of(RowKind) {
  using enum RowKind;
  return enum_table<RowKind>({{kTokens, "tokens"}, {kMean, "mean"}, {kLast, "last"}});
}

/// Number type of the activations on disk.
enum class StorageType { kFloat32, kFloat16 };

constexpr auto names_of(StorageType) {
  using enum StorageType;
  return enum_table<StorageType>({{kFloat32, "float32"}, {kFloat16, "float16"}});
}

/// Lossless compression of the activations on disk.
enum class Compression {
  kNone,
  kDeflate  ///< HDF5's shuffle filter, then deflate: readable by any HDF5 library
};

constexpr auto names_of(Compression) {
  using enum Compression;
  return enum_table<Compression>({{kNone, "none"}, {kDeflate, "deflate"}});
}

/// Provenance of a capture: the attributes of the file's root group.
struct CaptureInfo {
  int schema_version = kCaptureSchemaVersion;
  std::string tool;               ///< tool_version()
  std::string command;            ///< program_command()
  std::string created_utc;        ///< utc_timestamp() of the first run; a resumed run keeps it
  Json config = Json::object();   ///< config.json of the checkpoint
  Json options = Json::object();  ///< every option that affects the content of the file
  std::string checkpoint_sha256;
  std::string tokenizer_sha256;  ///< empty if the input was token ids
  std::string input_sha256;
  std::string compute_dtype = "float32";  ///< empty: unknown
  StorageType storage = StorageType::kFloat32;
  Compression compression = Compression::kNone;
  RowKind rows = RowKind::kTokens;
  std::uint64_t seed = 0;
  std::string prepended;                  ///< token before each sequence, e.g. "<s>"; or empty
  std::vector<std::int32_t> first_ids;    ///< of the first sequence, at most 16
  std::vector<std::string> first_tokens;  ///< the same as text
  std::vector<std::string> class_names;   ///< of RowTable::class_id; empty without classes
  std::vector<std::string> task_names;    ///< of Sequence::task; empty without tasks
  /// BLiMP's `field` and `linguistics_term` of each task ("": none), or empty if no task has one.
  std::vector<std::string> task_fields;
  std::vector<std::string> task_terms;
  Json extra = Json::object();  ///< other metadata by name (timings, deviations), any JSON value
  bool complete = true;         ///< false while shards are missing; set by writer and reader
};

/// One dataset of activations: the output of a hook point of one layer.
struct ActivationInfo {
  std::string site;  ///< "values", "routed_values", "hidden" or another hook's name; no slash
  int layer = 0;     ///< counted from 0
  std::int64_t dim = 0;
  std::string hook;  ///< full name, e.g. "blocks.3.attn.hook_v"
};

/// One input sequence (document, sentence, packed block).
struct Sequence {
  std::string text;        ///< UTF-8; may be empty if the input was token ids
  std::int8_t label = -1;  ///< -1: none; minimal pairs: 1 good, 0 bad
  std::int32_t pair = -1;  ///< index of the minimal pair, or of the text of a view; -1: none
  std::int16_t task = -1;  ///< index into task_names, -1: none
  /// Sum of the log-probabilities of the scored tokens in nats; NaN if nothing was scored.
  double log_likelihood = std::numeric_limits<double>::quiet_NaN();
  std::int32_t scored_tokens = -1;  ///< tokens in log_likelihood, -1: not requested

  bool is_scored() const { return scored_tokens >= 0; }
};

/// Log-likelihood of a sequence under a model.
struct SequenceScore {
  double log_likelihood = 0.0;     ///< sum over the scored tokens, in nats
  std::int32_t scored_tokens = 0;  ///< those with a preceding token that were not prepended
};

/// Metadata of each row; all vectors have one entry per row.
struct RowTable {
  std::vector<std::int32_t> sequence;  ///< index of the sequence, ascending
  std::vector<std::int32_t> position;  ///< of the token in its sequence; pooled rows: of the last
  std::vector<std::int32_t> token;     ///< id; pooled rows: of the last token
  std::vector<std::int16_t> class_id;  ///< index into class_names; empty without classes

  std::int64_t size() const { return static_cast<std::int64_t>(sequence.size()); }
};

/// Router weights per layer, [kv_heads, (layer + 1) * kv_heads]: row = target, column = source.
using RouterWeights = std::map<int, MatrixF>;

/// Weights of routers per dimension, whose RouterWeights are means: [kv_heads, (layer + 1) *
/// kv_heads * head_dim], column = (source_layer * kv_heads + source_head) * head_dim + dimension.
using RouterDimensions = std::map<int, MatrixF>;

/// Properties of a capture that are known before its first row.
struct CapturePlan {
  CaptureInfo info;
  std::vector<ActivationInfo> activations;  ///< one per dataset, in the order of the batches
  RouterWeights router;                     ///< empty for plain transformers
  RouterDimensions router_dimensions;       ///< empty unless routers are per dimension
  /// Shards of the whole capture, over all processes. The assignment of sequences to shards must
  /// depend only on the input and the options, so that any number of processes gives the same file.
  /// 0: unknown until the end; one process writes shards 0, 1, ...
  int num_shards = 1;
};

}  // namespace lime
