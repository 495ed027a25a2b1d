// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/layer_geometry.h"

#include "metrics/geometry/geometry_meter.h"

namespace lime {
namespace {

constexpr std::int64_t kMaxGroups = 32;
constexpr std::int64_t kFewestGroups = 4;
/// Memory limit for the moments of all groups, unless kFewestGroups need more.
constexpr std::int64_t kGroupBytes = std::int64_t{512} << 20;

std::int64_t group_start(std::int64_t group, std::int64_t num_groups, std::int64_t num_sequences) {
  return group * num_sequences / num_groups;
}

}  // namespace

void LayerGeometryOptions::validate() const {
  spectrum_options.validate();
  massive_options.validate();
}

std::int64_t num_moment_groups(std::int64_t num_sequences, std::int64_t dim) {
  const std::int64_t affordable = kGroupBytes / (dim * dim * 4);
  return std::min(num_sequences, std::clamp(affordable, kFewestGroups, kMaxGroups));
}

std::int64_t moment_scratch_bytes(std::int64_t longest_sequence, std::int64_t dim) {
  // Buffered rows, in float, and rows being added, packed in double.
  return (kMomentRows * 4 + std::max<std::int64_t>(kMomentRows, longest_sequence) * 8) * dim;
}

LayerGeometry layer_geometry(const SequenceSource& sequences,
                             const std::vector<std::int64_t>& offsets, const VectorD& centre,
                             const LayerGeometryOptions& options, ThreadPool& pool,
                             const ProgressFn& on_progress, const std::stop_token& stop) {
  options.validate();
  GeometryMeter layer(offsets, centre, options);
  const std::int64_t num_groups = num_moment_groups(sequences.count, centre.size());
  std::vector<GeometryMeter::Group> groups(static_cast<std::size_t>(num_groups));
  std::atomic<std::int64_t> done{0};
  pool.parallel_for(
      num_groups,
      [&](std::int64_t g) {
        GeometryMeter::Group group = layer.start_group();
        SpectrumMeter meter = layer.sequence_spectrum();
        MatrixF rows;
        const std::int64_t end = group_start(g + 1, num_groups, sequences.count);
        for (std::int64_t i = group_start(g, num_groups, sequences.count); i < end; ++i) {
          if (stop.stop_requested()) throw Interrupted("geometry: interrupted at sequence {}", i);
          sequences.read(i, rows);
          layer.add(i, rows, meter, group);
          ++done;
          if (on_progress) on_progress({done.load(), sequences.count, ""});
        }
        group.release_scratch();
        groups[static_cast<std::size_t>(g)] = std::move(group);
      },
      stop);
  return layer.finish(std::move(groups));
}

namespace {

/// Returns what `measure` returns for each sequence, measured in parallel.
template <typename Measure>
auto map_sequences(const SequenceSource& sequences, ThreadPool& pool, const std::stop_token& stop,
                   const Measure& measure) {
  std::vector<decltype(measure(MatrixF()))> parts(static_cast<std::size_t>(sequences.count));
  pool.parallel_for(
      sequences.count,
      [&](std::int64_t i) {
        MatrixF rows;
        sequences.read(i, rows);
        parts[static_cast<std::size_t>(i)] = measure(rows);
      },
      stop);
  return parts;
}

}  // namespace

RunningStatistics statistics_of_rows(const SequenceSource& sequences, ThreadPool& pool,
                                     const std::stop_token& stop) {
  auto parts = map_sequences(sequences, pool, stop, [](const MatrixF& rows) {
    RunningStatistics part;
    part.add(rows);
    return part;
  });
  for (std::size_t i = 1; i < parts.size(); ++i) parts.front().merge(parts[i]);
  return std::move(parts.front());
}

VectorD mean_of_rows(const SequenceSource& sequences, ThreadPool& pool,
                     const std::stop_token& stop) {
  auto parts = map_sequences(sequences, pool, stop, [](const MatrixF& rows) {
    return std::pair(sum_of_rows(rows), rows.rows());
  });
  auto& [sum, count] = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    sum += parts[i].first;
    count += parts[i].second;
  }
  return sum / static_cast<double>(count);
}

}  // namespace lime
