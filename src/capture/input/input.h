// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/capture_options.h"
#include "checkpoint/model_config.h"
#include "checkpoint/tokenizer.h"
#include "store/capture_info.h"

namespace lime {

struct CaptureInput {
  std::vector<std::int32_t> ids;            ///< concatenated over all sequences
  std::vector<std::int64_t> offsets = {0};  ///< first token of each sequence, and the end
  std::vector<Sequence> sequences;          ///< text, label, pair and task of each
  std::vector<std::string> task_names;      ///< of Sequence::task
  std::vector<std::string> task_fields;     ///< BLiMP's `field` of each task; empty without any
  std::vector<std::string> task_terms;      ///< and its `linguistics_term`
  std::vector<std::uint8_t> is_prepended;   ///< per token: 1 if prepended to a text
  std::vector<std::int32_t> prepended_ids;  ///< tokens before each document or sentence
  std::int64_t dropped_tokens = 0;          ///< in the last piece, too short for a sequence

  std::int64_t num_sequences() const { return static_cast<std::int64_t>(sequences.size()); }
  std::int64_t num_tokens() const { return static_cast<std::int64_t>(ids.size()); }
  std::int64_t length(std::int64_t sequence) const {
    const auto index = static_cast<std::size_t>(sequence);
    return offsets[index + 1] - offsets[index];
  }
  std::span<const std::int32_t> ids_of(std::int64_t sequence) const {
    return std::span(ids).subspan(
        static_cast<std::size_t>(offsets[static_cast<std::size_t>(sequence)]),
        static_cast<std::size_t>(length(sequence)));
  }
  std::span<const std::uint8_t> is_prepended_of(std::int64_t sequence) const {
    return std::span(is_prepended)
        .subspan(static_cast<std::size_t>(offsets[static_cast<std::size_t>(sequence)]),
                 static_cast<std::size_t>(length(sequence)));
  }
  std::int64_t longest() const;

  /// Appends one sequence. @param prepended  tokens before its own
  void add(std::span<const std::int32_t> prepended, std::span<const std::int32_t> own,
           Sequence about);
  void truncate(std::int64_t count);
  /// Returns the SHA-256 of the model's input and its labels: per sequence the number of tokens
  /// (int64), the ids (int32), label (int8), pair (int32) and task (int16), little-endian.
  std::string sha256() const;
};

/// Reads the input given by `options`.
/// @param tokenizer  null if the checkpoint has none; ids need none
/// @throws InvalidArgument, FormatError, IoError  as the functions for each kind of input; for a
///         sequence longer than max_position_embeddings; for an id outside the vocabulary (reports
///         the first).
CaptureInput read_input(const CaptureOptions& options, const ModelConfig& config,
                        const Tokenizer* tokenizer);

/// Returns the tokenizer of the checkpoint; null if it has none and token ids do not need one.
std::unique_ptr<Tokenizer> tokenizer_for(const CaptureOptions& options);

/// Returns the tokens that `bos` prepends to every document, line or sentence.
/// @throws InvalidArgument  for kAlways if the tokenizer has no such token.
std::vector<std::int32_t> prepended_tokens(const Tokenizer& tokenizer, BosPolicy bos);

/// Returns the prefix of scored sentences, so that their first token can be scored: the
/// beginning-of-sequence token, else the end-of-sequence token, as in lm-evaluation-harness.
/// @throws InvalidArgument  if the tokenizer has neither.
std::vector<std::int32_t> scoring_prefix(const Tokenizer& tokenizer);

/// Rejects a text that starts with the same token that is prepended to it.
/// @param where  identifies the text in the message, e.g. "'a.txt'".
/// @throws InvalidArgument  unless `bos` is kAlways, which forces the second one.
void refuse_double_bos(std::span<const std::int32_t> text_ids,
                       std::span<const std::int32_t> prepended, BosPolicy bos,
                       std::string_view where);

/// Reads text files as documents and packs them into sequences of equal length.
///
/// Concatenates the documents and splits the result every `seq_len` tokens. Document boundaries are
/// ignored, also by attention.
/// - Packing::kEosBetween: prefixes each document according to `options.bos` and separates
/// documents
///   by the tokenizer's end-of-sequence token. A shorter last piece is dropped, unless it is the
///   only one.
/// - Packing::kLimeCode: puts each document between the beginning- and the end-of-sequence token
///   and splits every 32 documents on their own. A piece counts only if another token follows it,
///   because the code trains on the next token; the rest of the 32 documents is dropped. Sequences
///   keep their order, which the code shuffles. Source: src/datasets/preprocessing_fineweb.py of
///   github.com/corl-team/lime.
/// @throws IoError          if a file cannot be read.
/// @throws FormatError      if a file is empty or not UTF-8 (names the byte).
/// @throws InvalidArgument  for a second beginning-of-sequence token; for Packing::kLimeCode where
///                          the tokenizer lacks one of its tokens, or no piece is left.
CaptureInput read_text_input(const CaptureOptions& options, const Tokenizer& tokenizer);

/// Reads text files line by line, each line a sequence of its own length, prefixed according to
/// `options.bos`. Blank lines are skipped; other lines are encoded unchanged. Stops after the last
/// requested sequence.
/// @param max_tokens  maximum per sequence.
/// @throws IoError, FormatError  if a file cannot be read, is not UTF-8 or has no lines.
/// @throws InvalidArgument  for a line that is too long or begins with a second
///         beginning-of-sequence token; names file and line.
CaptureInput read_line_input(const CaptureOptions& options, const Tokenizer& tokenizer,
                             std::int64_t max_tokens);

/// Reads minimal pairs, one JSON object per line with `sentence_good` and `sentence_bad`, as in
/// BLiMP's files. Every sentence is a sequence: first the good one (label 1), then the bad one
/// (label 0), pair by pair over all files. Tasks are named by `UID`, or by the file if absent.
/// Empty lines are skipped.
///
/// Sentences are encoded unchanged, prefixed according to `options.bos`; under a preset prefixed
/// with scoring_prefix() instead, and for lm-eval with a space. The task's `field` and
/// `linguistics_term` are kept, if present.
/// @throws IoError, FormatError  if a file cannot be read or is empty, or a line is not such an
///         object or contradicts an earlier one of its task; names file and line.
CaptureInput read_pair_input(const CaptureOptions& options, const Tokenizer& tokenizer);

/// Reads token ids from a .npy file: a 2-D array has one sequence per row, with the row's length; a
/// 1-D array is split every `seq_len` tokens like text.
///
/// Ids are used unchanged; only `options.bos` kAlways prepends a token, to each row or to the whole
/// 1-D array. A tokenizer is optional; if present, the sequences include their text.
/// @throws InvalidArgument  for an id outside the vocabulary: reports the first and its position.
/// @throws FormatError      as read_npy_integers(); or if the file contains no ids.
CaptureInput read_token_input(const CaptureOptions& options, const ModelConfig& config,
                              const Tokenizer* tokenizer);

struct NpyIntegers {
  std::vector<std::int64_t> values;  ///< row-major
  std::vector<std::int64_t> shape;   ///< one or two dimensions
};

/// Reads a .npy file (versions 1 to 3) of integers of 1 to 8 bytes, in either byte order.
///
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if it is not .npy, its size does not match its shape, it has another
///         element type (names the type), no or more than two dimensions, Fortran order, or a
///         uint64 value above 2^63 - 1.
/// Source: numpy.lib.format's specification.
NpyIntegers read_npy_integers(const std::filesystem::path& path);

}  // namespace lime
