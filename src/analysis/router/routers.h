// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/capture_rows.h"
#include "checkpoint/model_config.h"
#include "core/matrix.h"
#include "metrics/router/counterfactual_router.h"
#include "metrics/router/head_scales.h"
#include "metrics/router/layer_router.h"
#include "metrics/router/routers.h"

// The routers of checkpoints and captures, and the inputs that they mix.

namespace lime {

class Checkpoint;

/// Returns the routers of a checkpoint as full ones; the identity for a plain transformer.
/// @throws InvalidArgument  if they depend on the token, or the decoder mixes layers without
///                          routers.
/// @throws FormatError      as Checkpoint::read()
Routers routers_of(const Checkpoint& checkpoint);

/// Returns the routers stored in a capture; the identity for layers without one.
/// @throws FormatError  if a router does not fit the capture's config.
Routers routers_of(const CaptureReader& capture);

/// Returns the same per layer, with the weights of every dimension if the routers have them.
/// @throws InvalidArgument  if the capture contains only their means.
std::vector<LayerRouter> layer_routers_of(const Checkpoint& checkpoint);
std::vector<LayerRouter> layer_routers_of(const CaptureReader& capture);

/// Returns the root mean square of each buffered head of `site`, [num_layers, kv_heads].
/// @throws FormatError  if the capture lacks the statistics of a layer.
HeadScales head_scales_of(const CaptureReader& capture, const std::string& site,
                          const Routers& routers);
/// Returns the root mean square of each dimension, [num_layers, kv_heads * head_dim].
HeadScales dimension_scales_of(const CaptureReader& capture, const std::string& site,
                               std::int64_t num_layers);

/// Returns true if `capture` contains activations of `site` of layers 0 to `last_layer`.
bool has_all_layers(const CaptureReader& capture, const std::string& site, std::int64_t last_layer);

/// Sites of the weights of routers, for each token; see HookKind.
inline constexpr const char* kRouteSite = "attn.hook_route";
inline constexpr const char* kDepthWeightsSite = "hook_depth_weights";

/// Returns the site of the routing weights that only a capture contains; empty for a plain
/// transformer and for a LIMe with static routers.
std::string source_site(const ModelConfig& config);

/// One mixed input of a layer, sum_j w_j source_j, and where a capture has its parts.
struct MixedInput {
  std::vector<SiteLayer> sources;   ///< oldest first
  std::int64_t num_heads = 1;       ///< target heads, and heads of each source
  std::optional<SiteLayer> result;  ///< the mixed input, if there is a site of it
  /// Weights of each token: in a row, `first_column` and the next num_heads * width numbers.
  SiteLayer weights;
  Eigen::Index first_column = 0;
  Eigen::Index columns = 0;  ///< of the whole row
  Eigen::Index width = 0;    ///< per target head; heads are mixed if it exceeds the sources

  std::int64_t source_heads() const { return width > std::ssize(sources) ? num_heads : 1; }
  bool is_sum() const { return weights.site == kDepthWeightsSite; }
};

/// Returns an input of a layer of a decoder.
/// @param read  "values" or "keys", or an input from the residual stream as depth_reads() names it,
///              of the embedding and the outputs of attention and MLP with unrolled weights. Values
///              that Depth-Attention reads in earlier layers are mixed ones.
MixedInput mixed_input(const ModelConfig& config, const std::string& read, std::int64_t layer);

/// Returns the inputs of each layer that have weights, the usual one first.
std::vector<std::string> mixed_inputs(const ModelConfig& config);

/// Returns the sites of a capture that contains an input and its weights: "values,attn.hook_route".
std::string sites_of(const MixedInput& input);

/// Returns the first site and layer that a capture lacks, if any.
std::optional<SiteLayer> lacking(const CaptureReader& capture, const MixedInput& input);

/// Returns the root mean square of each source in each head over all tokens, and the mean weights.
/// @throws FormatError  if the capture lacks statistics of a source.
TokenRouter token_router(const CaptureReader& capture, const MixedInput& input);

/// Returns the norm of each source at each of these rows, [rows, sources * num_heads].
MatrixF source_norms(const CaptureReader& capture, const MixedInput& input, std::int64_t first_row,
                     std::int64_t num_rows);

/// Returns the weights of these rows, [rows, num_heads * width].
/// @throws FormatError  if the site has another number of columns.
MatrixF token_weights(const CaptureReader& capture, const MixedInput& input, std::int64_t first_row,
                      std::int64_t num_rows);

}  // namespace lime
