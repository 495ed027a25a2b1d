// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/layer_geometry.h"

#include <cmath>

#include "metrics/entropy/entropy_calculator.h"

namespace lime {
namespace {

constexpr std::int64_t kMostGroups = 32;
constexpr std::int64_t kFewestGroups = 4;
/// Memory limit for the moments of all groups, unless kFewestGroups need more.
constexpr std::int64_t kGroupBytes = std::int64_t{512} << 20;
/// Rows added to a Gram matrix at once: each addition loads and stores all of it.
constexpr Eigen::Index kBatchRows = 512;

/// Buffers rows until there are enough for one product.
class BatchedMoments {
 public:
  explicit BatchedMoments(const VectorD& shift) : moments_(shift) {}

  void add(const ConstMatrixRef& rows) {
    if (rows.rows() >= kBatchRows) {
      moments_.add(rows);
      return;
    }
    if (waiting_.rows() == 0) waiting_.resize(kBatchRows, rows.cols());
    if (num_waiting_ + rows.rows() > kBatchRows) flush();
    waiting_.middleRows(num_waiting_, rows.rows()) = rows;
    num_waiting_ += rows.rows();
  }
  void merge(const RowMoments& other) { moments_.merge(other); }
  /// Adds buffered rows and frees the memory that only adding needs. May be called again.
  const RowMoments& finish() {
    flush();
    waiting_.resize(0, 0);
    moments_.release_scratch();
    return moments_;
  }

 private:
  void flush() {
    if (num_waiting_ > 0) moments_.add(waiting_.topRows(num_waiting_));
    num_waiting_ = 0;
  }

  RowMoments moments_;
  MatrixF waiting_;
  Eigen::Index num_waiting_ = 0;
};

struct Group {
  std::unique_ptr<BatchedMoments> moments;
  DirectionSum directions;
  DirectionSum centred_directions;
};

/// Measures the sequences of a layer, and accumulates the sums of groups.
class LayerMeter {
 public:
  LayerMeter(const std::vector<std::int64_t>& offsets, const VectorD& centre,
             const LayerGeometryOptions& options)
      : offsets_(offsets), centre_(centre), options_(options) {
    result_.num_rows = offsets.back();
    result_.dim = centre.size();
    result_.sequences.resize(offsets.size() - 1);
    result_.sample.resize(static_cast<Eigen::Index>(options.sample.size()), centre.size());
    // With fewer rows than dimensions, the Gram matrix of the rows is smaller.
    keeps_rows_ = options.spectrum_of_rows && result_.num_rows < result_.dim;
    if (keeps_rows_) rows_.resize(result_.num_rows, result_.dim);
  }

  Group start_group() const {
    Group group;
    if (options_.spectrum_of_rows && !keeps_rows_) {
      group.moments = std::make_unique<BatchedMoments>(centre_);
    }
    return group;
  }

  void add(std::int64_t index, const ConstMatrixRef& rows, SpectrumMeter& meter, Group& group) {
    SequenceGeometry& sequence = result_.sequences[static_cast<std::size_t>(index)];
    sequence.num_tokens = rows.rows();
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      // Finite unless a value is not: sums of floats cannot overflow in double.
      if (std::isfinite(rows.row(r).cast<double>().cwiseAbs().sum())) continue;
      check_finite(linalg::affine_rows(rows));
    }
    add_spectrum(rows, meter, sequence, group);
    if (options_.similarity) {
      sequence.similarity = sequence_similarity(rows);
      group.directions.merge(sequence.similarity.directions);
      sequence.similarity.directions = {};
      group.centred_directions.add(rows, &centre_);
    }
    if (options_.curvature && rows.rows() >= 3) sequence.curvature = path_curvature(rows);
    if (options_.massive) sequence.massive = massive_activations(rows, options_.massive_options);
    if (options_.first_token) sequence.first_token = measure_first_token(rows);
    const std::int64_t first = offsets_[static_cast<std::size_t>(index)];
    if (keeps_rows_) rows_.middleRows(first, rows.rows()) = rows;
    take_sample(first, rows);
  }

  LayerGeometry finish(std::vector<Group> groups) {
    SpectrumMeter meter(options_.centering, options_.spectrum_options);
    for (const Group& group : groups) {
      result_.directions.merge(group.directions);
      result_.centred_directions.merge(group.centred_directions);
    }
    if (keeps_rows_) {
      result_.spectrum = meter.measure(rows_);
    } else if (options_.spectrum_of_rows) {
      RowMoments moments(centre_);
      for (Group& group : groups) {
        moments.merge(group.moments->finish());
        group.moments.reset();
      }
      result_.spectrum = meter.measure(moments);
    }
    return std::move(result_);
  }

 private:
  void add_spectrum(const ConstMatrixRef& rows, SpectrumMeter& meter, SequenceGeometry& sequence,
                    Group& group) const {
    if (options_.spectrum_of_sequences && rows.rows() >= rows.cols()) {
      // The Gram matrix of the sequence is also used for all rows.
      RowMoments moments(centre_);
      moments.add(rows);
      sequence.spectrum = meter.measure(moments);
      if (group.moments) group.moments->merge(moments);
      return;
    }
    if (options_.spectrum_of_sequences) sequence.spectrum = meter.measure(rows);
    if (group.moments) group.moments->add(rows);
  }

  void take_sample(std::int64_t first, const ConstMatrixRef& rows) {
    const std::vector<std::int64_t>& sample = options_.sample;
    auto chosen = std::ranges::lower_bound(sample, first);
    for (; chosen != sample.end() && *chosen < first + rows.rows(); ++chosen) {
      result_.sample.row(chosen - sample.begin()) = rows.row(*chosen - first);
    }
  }

  const std::vector<std::int64_t>& offsets_;
  const VectorD& centre_;
  const LayerGeometryOptions& options_;
  LayerGeometry result_;
  bool keeps_rows_ = false;
  MatrixF rows_;
};

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
  return std::min(num_sequences, std::clamp(affordable, kFewestGroups, kMostGroups));
}

std::int64_t moment_scratch_bytes(std::int64_t longest_sequence, std::int64_t dim) {
  // Buffered rows, in float, and rows being added, packed in double.
  return (kBatchRows * 4 + std::max<std::int64_t>(kBatchRows, longest_sequence) * 8) * dim;
}

LayerGeometry layer_geometry(const SequenceSource& sequences,
                             const std::vector<std::int64_t>& offsets, const VectorD& centre,
                             const LayerGeometryOptions& options, ThreadPool& pool,
                             const ProgressFn& on_progress, const std::stop_token& stop) {
  options.validate();
  LayerMeter layer(offsets, centre, options);
  const std::int64_t num_groups = num_moment_groups(sequences.count, centre.size());
  std::vector<Group> groups(static_cast<std::size_t>(num_groups));
  std::atomic<std::int64_t> done{0};
  pool.parallel_for(
      num_groups,
      [&](std::int64_t g) {
        Group group = layer.start_group();
        SpectrumOptions of_sequence = options.spectrum_options;
        of_sequence.power_law.reset();  // of all rows only
        SpectrumMeter meter(options.centering, of_sequence);
        MatrixF rows;
        const std::int64_t end = group_start(g + 1, num_groups, sequences.count);
        for (std::int64_t i = group_start(g, num_groups, sequences.count); i < end; ++i) {
          if (stop.stop_requested()) throw Interrupted("geometry: interrupted at sequence {}", i);
          sequences.read(i, rows);
          with_sequence("geometry", i, [&] {
            throw_if(rows.rows() < 2, "must have at least 2 tokens, got {}", rows.rows());
            layer.add(i, rows, meter, group);
          });
          ++done;
          if (on_progress) on_progress({done.load(), sequences.count, ""});
        }
        if (group.moments) group.moments->finish();
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
