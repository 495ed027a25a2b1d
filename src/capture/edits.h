// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/edit_text.h"
#include "checkpoint/model_config.h"
#include "checkpoint/router_layout.h"
#include "core/json.h"
#include "core/layer_selection.h"
#include "model/passes/hook_points.h"

namespace lime {

/// Replaces activations at a site, at the selected layers, heads and tokens.
struct ActivationEdit {
  std::string text = {};  ///< as it was given
  EditOperation operation = EditOperation::kZero;
  std::string site = {};  ///< as in captures
  /// One; of a skipped layer attn_out and mlp_out, of hook_depth_weights those of its parts.
  std::vector<HookKind> kinds = {};
  LayerSelection layers = {};
  LayerSelection heads = {};
  LayerSelection positions = {};     ///< in the sequence, from 0
  LayerSelection tokens = {};        ///< ids
  LayerSelection sources = {};       ///< of weights over depth
  LayerSelection source_heads = {};  ///< of routes
  LayerSelection experts = {};       ///< of router logits and expert weights
  LayerSelection streams = {};
  std::vector<std::string> reads = {};  ///< of hook_depth_weights, see depth_reads(); empty: all
  double factor = 0.0;                  ///< of kScale
  bool resamples_sequences = false;     ///< else tokens
  std::int64_t seed = 0;                ///< of kResample
  std::filesystem::path from = {};      ///< capture of kMean (optional) and kPatch; direction
  std::vector<double> direction = {};

  /// Returns true if the replacement depends on all tokens of a text. Generation lacks them, but
  /// patches the tokens of its prompt.
  bool needs_whole_texts() const {
    return operation == EditOperation::kResample || operation == EditOperation::kPatch ||
           (operation == EditOperation::kMean && from.empty());
  }
};

/// Interventions on one model: on activations, and on the weights of routers.
struct ModelEdits {
  std::vector<ActivationEdit> activations;
  std::vector<RouterEdit> routes;
};

/// Reads edits, `OPERATION[=VALUE] SITE [KEY=LIST ...]` (docs/interventions.md).
/// @param specs  such texts, or files: {"format": "lime-edit/1", "edits": ["zero hidden", ...]} or
///               those of parse_router_edits()
/// @throws InvalidArgument, IoError, FormatError  that names the edit and its first fault; unknown
///         names with the closest one.
ModelEdits read_edits(const std::vector<std::string>& specs);

/// Checks that the model has every layer, head, token and route, and that directions have the size
/// of a row or of a head. @param generates  token by token @throws InvalidArgument
void check_edits(const ModelEdits& edits, const ModelConfig& config, bool generates = false);

/// Checks that edited positions are in the context of the model, or in a sequence beyond it.
/// @param longest  tokens of the longest sequence @throws InvalidArgument
void check_edited_positions(const ModelEdits& edits, const ModelConfig& config,
                            std::int64_t longest);

/// Returns the edits with the SHA-256 of the files that they read, for provenance.
Json edits_to_json(const ModelEdits& edits);

}  // namespace lime
