// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "checkpoint/model_config.h"
#include "train/arithmetic_run.h"

namespace lime::testing {

/// A decoder with two layers of width 16 that trains in milliseconds.
ModelConfig tiny_config(DecoderKind decoder);

/// A run of a few steps on expressions of two operands, into `folder`.
ArithmeticRunOptions tiny_run(const std::filesystem::path& folder);

}  // namespace lime::testing
