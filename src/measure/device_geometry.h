// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/geometry/layer_geometry.h"

namespace lime {

/// Measures the geometry of a layer with LibTorch on the device of its rows, as GeometryMeter does
/// on the CPU; results are equal up to rounding.
class DeviceGeometry {
 public:
  /// @param offsets, centre  as GeometryMeter
  DeviceGeometry(std::vector<std::int64_t> offsets, VectorD centre, LayerGeometryOptions options);

  /// @param rows  [sequences, tokens, dim], double
  void add(std::span<const std::int64_t> sequences, const at::Tensor& rows);
  /// Copies the measures of the added sequences to the CPU.
  void end_batch();
  /// Call once.
  LayerGeometry finish();

 private:
  /// Measures of sequences of equal length, on their device; undefined if not requested.
  struct Pending {
    std::vector<std::int64_t> sequences;
    std::int64_t num_tokens = 0;
    at::Tensor sizes;   ///< [sequences], sums of magnitudes
    at::Tensor traces;  ///< [sequences, 4], of the raw and the centred Gram matrix: traces, norms
    at::Tensor eigenvalues;  ///< [sequences, min(tokens, dim)]
    at::Tensor similarity;   ///< [sequences, quantities], likewise the others
    at::Tensor curvature;
    at::Tensor massive;
    at::Tensor squares;                 ///< [sequences, tokens], squared norms
    std::vector<double> top, top_rest;  ///< [sequences], largest eigenvalues
    at::Tensor sample;                  ///< [rows, dim]
    std::vector<std::int64_t> sample_rows;
  };

  void prepare(const at::Tensor& rows);
  void add_moments(const at::Tensor& rows);
  void measure_spectra(const at::Tensor& rows, Pending& pending) const;
  at::Tensor measure_similarity(const at::Tensor& rows);
  void add_centred_directions(const at::Tensor& rows);
  void take_sample(const at::Tensor& rows, Pending& pending) const;
  void keep(const Pending& pending);
  void keep_spectra(const Pending& pending);
  void keep_similarity(const Pending& pending);
  void keep_curvature(const Pending& pending);
  void keep_massive(const Pending& pending);
  void keep_first_token(const Pending& pending);
  SequenceGeometry& geometry_of(const Pending& pending, std::size_t index) {
    return result_.sequences[static_cast<std::size_t>(pending.sequences[index])];
  }

  const std::vector<std::int64_t> offsets_;
  const LayerGeometryOptions options_;
  const VectorD centre_;
  at::Tensor device_centre_;  ///< [dim]
  at::Tensor sum_;            ///< [dim], of the rows minus the centre
  at::Tensor gram_;           ///< [dim, dim], likewise
  at::Tensor directions_;     ///< [dim], sum of unit vectors
  at::Tensor centred_directions_;
  at::Tensor num_centred_;  ///< scalar: rows that differ from the centre
  std::int64_t num_added_ = 0;
  std::vector<Pending> pending_;
  LayerGeometry result_;
};

/// Computes the largest eigenvalue of X^T X of each matrix by Lanczos iterations, as
/// largest_gram_eigenvalue().
/// @param rows  X, [matrices, rows, dim], double. @return [matrices]
std::vector<double> largest_gram_eigenvalues(const at::Tensor& rows);

}  // namespace lime
