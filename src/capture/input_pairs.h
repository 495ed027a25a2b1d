// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "capture/input.h"
#include "capture/input_shape.h"

namespace lime {

/// Reads minimal pairs, one JSON object per line with `sentence_good` and `sentence_bad`, as in
/// BLiMP's files. Every sentence is a sequence of its own: first the good one (label 1), then the
/// bad one (label 0), pair by pair over all files. Tasks are named by `UID`, or by the file where
/// there is none. Empty lines are passed over.
///
/// Sentences are encoded as they stand, after what `shape.bos` asks for; under a preset after the
/// scoring_prefix() instead, and for lm-eval with a space before them. The task's `field` and
/// `linguistics_term` are kept, where there are any.
/// @throws IoError, FormatError  if a file cannot be read, is empty, or a line is no such object or
///         contradicts an earlier one of its task; names file and line.
CaptureInput read_pair_input(const std::vector<std::filesystem::path>& files,
                             const Tokenizer& tokenizer, const InputShape& shape);

}  // namespace lime
