// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "capture/input/input.h"

namespace lime {

/// Reads text files as documents and packs them into sequences of equal length.
///
/// Concatenates the documents and splits the result every `seq_len` tokens. Document boundaries are
/// ignored, also by attention.
/// - Packing::kBosEach: separates documents by the tokenizer's end-of-sequence token. The tokens of
///   `options.bos`, or BOS if those are none, are put before each sequence. A shorter last piece is
///   dropped, unless it is the only one.
/// - Packing::kEosBetween: likewise, but prefixes each document instead of each sequence.
/// - Packing::kLimeCode: puts each document between the beginning- and the end-of-sequence token
///   and splits every 32 documents on their own. A piece counts only if another token follows it,
///   because the code trains on the next token; the rest of the 32 documents is dropped. Sequences
///   keep their order, which the code shuffles. Source: src/datasets/preprocessing_fineweb.py of
///   github.com/corl-team/lime.
/// @throws IoError          if a file cannot be read.
/// @throws FormatError      if a file is empty or not UTF-8 (names the byte).
/// A document that spells_prefix() gets no second one, unless `options.bos` is kAlways.
/// @throws InvalidArgument  if the tokenizer lacks a token of the packing; for kLimeCode if no
///                          piece is left.
CaptureInput read_text_input(const CaptureOptions& options, const Tokenizer& tokenizer);

/// Reads text files line by line, each line a sequence of its own length, prefixed according to
/// `options.bos`. Blank lines are skipped; other lines are encoded unchanged. Stops after the last
/// requested sequence. In files of views, a tab begins the next sequence, and the sequences of a
/// line have its number, from 0 over all files, as `pair`.
/// @param max_tokens  maximum per sequence.
/// @throws IoError, FormatError  if a file cannot be read, is not UTF-8 or has no lines; if a line
///         has one view, an empty one, or not as many as the first line.
/// @throws InvalidArgument  for a line that is too long; names file and line.
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

}  // namespace lime
