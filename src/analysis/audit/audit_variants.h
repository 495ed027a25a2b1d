// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/audit/audit_options.h"
#include "analysis/engine/analysis.h"
#include "checkpoint/model_config.h"

namespace lime {

/// What an audit measures: the captures of a checkpoint, of a transformed copy, or of other texts.
struct AuditVariant {
  std::string name;                  ///< "original", "value-scale"; "256 tokens", "shuffled"
  std::filesystem::path checkpoint;  ///< folder; only its routers exist for sure
  std::filesystem::path capture;     ///< of all tokens
  std::filesystem::path words = {};  ///< of the words of probes; empty: none
  std::filesystem::path views = {};  ///< of augmented views; empty: none
};

/// A transform that is not exact for the model.
struct RefusedTransform {
  std::string name;
  std::string reason;
};

struct AuditVariants {
  std::vector<AuditVariant> all;  ///< the reference, which the others are compared with, is first
  std::vector<RefusedTransform> refused;
};

/// Returns the sites that an audit captures by default: activations of tokens before and after each
/// output projection, keys, values and the stream, as far as the model has them.
std::vector<std::string> default_audit_sites(const ModelConfig& config);

/// Captures a checkpoint and its transformed copies, or its passes over other texts, in
/// options.folder. Runs lime-capture, as this library has no LibTorch. Captures that a former run
/// made are used again; copies of checkpoints are deleted, except for those with routers.
/// @throws InvalidArgument  if lime-capture fails, whose message is then on standard error, or the
///         folder has captures that were made with other options. @throws Interrupted, IoError
AuditVariants make_variants(const AuditOptions& options, const RunOptions& run);

}  // namespace lime
