// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/matrix.h"
#include "metrics/geometry/layer_geometry.h"
#include "metrics/geometry/sequence_similarity.h"
#include "metrics/geometry/spectrum.h"

namespace lime {

/// Rows added to a Gram matrix at once: each addition loads and stores all of it.
inline constexpr Eigen::Index kMomentRows = 512;

class BatchedMoments;

/// Measures the geometry of a layer sequence by sequence, as layer_geometry() does.
///
/// Sums over rows are collected in groups of sequences, each by one thread at a time: add() may run
/// on several threads for different groups and sequences. The result depends on the groups and on
/// the order within each.
class GeometryMeter {
 public:
  struct Group {
    Group();
    ~Group();
    Group(Group&&) noexcept;
    Group& operator=(Group&&) noexcept;

    /// Adds buffered rows and frees the memory that only adding needs. Rows may follow.
    void release_scratch();

    std::unique_ptr<BatchedMoments> moments;  ///< null if no spectrum of rows is requested
    DirectionSum directions;
    DirectionSum centred_directions;
  };

  /// @param offsets  first row of each sequence and, last, the number of rows, [count + 1].
  /// @param centre   as layer_geometry(), [dim].
  GeometryMeter(std::vector<std::int64_t> offsets, VectorD centre, LayerGeometryOptions options);

  Group start_group() const;
  /// Returns the meter of the spectra of sequences; one per thread.
  SpectrumMeter sequence_spectrum() const;
  /// Measures sequence `index`, [tokens >= 2, dim].
  /// @throws InvalidArgument  if it has one token, or a value is not finite; names the sequence.
  void add(std::int64_t index, const ConstMatrixRef& rows, SpectrumMeter& meter, Group& group);
  /// Call once, with all groups.
  LayerGeometry finish(std::vector<Group> groups);

 private:
  void measure(std::int64_t index, const ConstMatrixRef& rows, SpectrumMeter& meter, Group& group);
  void add_spectrum(const ConstMatrixRef& rows, SpectrumMeter& meter, SequenceGeometry& sequence,
                    Group& group) const;
  void take_sample(std::int64_t first, const ConstMatrixRef& rows);

  std::vector<std::int64_t> offsets_;
  VectorD centre_;
  LayerGeometryOptions options_;
  LayerGeometry result_;
  bool keeps_rows_ = false;
  MatrixF rows_;
};

}  // namespace lime
