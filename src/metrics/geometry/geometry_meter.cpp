// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/geometry_meter.h"

#include <cmath>

#include "metrics/entropy/entropy_calculator.h"

namespace lime {

/// Buffers rows until there are enough for one product.
class BatchedMoments {
 public:
  explicit BatchedMoments(const VectorD& shift) : moments_(shift) {}

  void add(const ConstMatrixRef& rows) {
    if (rows.rows() >= kMomentRows) {
      moments_.add(rows);
      return;
    }
    if (waiting_.rows() == 0) waiting_.resize(kMomentRows, rows.cols());
    if (num_waiting_ + rows.rows() > kMomentRows) flush();
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

GeometryMeter::Group::Group() = default;
GeometryMeter::Group::~Group() = default;
GeometryMeter::Group::Group(Group&&) noexcept = default;
GeometryMeter::Group& GeometryMeter::Group::operator=(Group&&) noexcept = default;

void GeometryMeter::Group::release_scratch() {
  if (moments) moments->finish();
}

GeometryMeter::GeometryMeter(std::vector<std::int64_t> offsets, VectorD centre,
                             LayerGeometryOptions options)
    : offsets_(std::move(offsets)), centre_(std::move(centre)), options_(std::move(options)) {
  result_.num_rows = offsets_.back();
  result_.dim = centre_.size();
  result_.sequences.resize(offsets_.size() - 1);
  result_.sample.resize(static_cast<Eigen::Index>(options_.sample.size()), centre_.size());
  // With fewer rows than dimensions, the Gram matrix of the rows is smaller.
  keeps_rows_ = options_.spectrum_of_rows && result_.num_rows < result_.dim;
  if (keeps_rows_) rows_.resize(result_.num_rows, result_.dim);
}

SpectrumMeter GeometryMeter::sequence_spectrum() const {
  SpectrumOptions of_sequence = options_.spectrum_options;
  of_sequence.power_law.reset();  // of all rows only
  return SpectrumMeter(options_.centering, of_sequence);
}

GeometryMeter::Group GeometryMeter::start_group() const {
  Group group;
  if (options_.spectrum_of_rows && !keeps_rows_) {
    group.moments = std::make_unique<BatchedMoments>(centre_);
  }
  return group;
}

void GeometryMeter::add(std::int64_t index, const ConstMatrixRef& rows, SpectrumMeter& meter,
                        Group& group) {
  with_sequence("geometry", index, [&] {
    throw_if(rows.rows() < 2, "must have at least 2 tokens, got {}", rows.rows());
    measure(index, rows, meter, group);
  });
}

void GeometryMeter::measure(std::int64_t index, const ConstMatrixRef& rows, SpectrumMeter& meter,
                            Group& group) {
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

LayerGeometry GeometryMeter::finish(std::vector<Group> groups) {
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

void GeometryMeter::add_spectrum(const ConstMatrixRef& rows, SpectrumMeter& meter,
                                 SequenceGeometry& sequence, Group& group) const {
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

void GeometryMeter::take_sample(std::int64_t first, const ConstMatrixRef& rows) {
  const std::vector<std::int64_t>& sample = options_.sample;
  auto chosen = std::ranges::lower_bound(sample, first);
  for (; chosen != sample.end() && *chosen < first + rows.rows(); ++chosen) {
    result_.sample.row(chosen - sample.begin()) = rows.row(*chosen - first);
  }
}

}  // namespace lime
