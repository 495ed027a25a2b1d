// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/matrix.h"

namespace lime::testing {

/// Content of a capture of a small LIMe (or of a plain transformer), created without a model:
/// normal values and keys of all layers, and the routed values computed from them.
struct RoutedCapture {
  Json config;                        ///< of the checkpoint; sizes come from here
  std::vector<std::int64_t> lengths;  ///< tokens of each sequence
  std::vector<MatrixF> values;        ///< per layer [rows, kv_heads * head_dim]
  std::vector<MatrixF> keys;          ///< likewise; statistics only
  std::vector<MatrixD> routers;       ///< per layer; empty for a plain transformer
  /// Per layer and dimension of a head; `routers` are then their means. Empty without.
  std::vector<std::vector<MatrixD>> router_dimensions;
  std::string checkpoint_sha256;
  std::vector<std::int16_t> classes;     ///< per row; empty without classes
  std::vector<std::string> class_names;  ///< of them
  bool pooled = false;
  std::int32_t first_token = 0;

  std::int64_t num_rows() const;
};

/// @param config  e.g. small_config(); determines layers, heads and head_dim
RoutedCapture random_routed_capture(const Json& config, const std::vector<std::int64_t>& lengths,
                                    std::uint64_t seed);

/// Adds to `capture` a random weight per dimension of a head.
void draw_router_dimensions(RoutedCapture& capture, std::uint64_t seed);

/// Computes routed values of one layer, token by token and head by head.
MatrixD routed_values(const RoutedCapture& capture, std::size_t layer, const MatrixD& router);
/// Computes the same with a router per dimension.
MatrixD routed_values(const RoutedCapture& capture, std::size_t layer,
                      const std::vector<MatrixD>& router);

/// Writes values (of the layers in `layers`; all if empty) and routed values in the format of
/// lime-capture.
void write_routed_capture(const std::filesystem::path& path, const RoutedCapture& capture,
                          const std::vector<int>& layers = {});

}  // namespace lime::testing
