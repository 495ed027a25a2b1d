// SPDX-License-Identifier: Apache-2.0
#include "measure/device_geometry.h"

#include <ATen/ATen.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/errors.h"
#include "core/random.h"
#include "measure/device_rows.h"
#include "metrics/device/batched_eigenvalues.h"
#include "metrics/geometry/spectrum.h"

namespace lime {
namespace {

/// Distances from the mean below this fraction of its norm are rounding errors, as in DirectionSum.
constexpr double kDirectionRounding = 1e-12;
/// As in largest_gram_eigenvalue().
constexpr double kLanczosTolerance = 1e-6;
constexpr std::int64_t kMaxLanczosSteps = 300;
constexpr std::int64_t kLanczosTestEvery = 8;

at::Tensor device_vector(const VectorD& values, const at::Device& device) {
  return at::tensor(at::ArrayRef<double>(values.data(), static_cast<std::size_t>(values.size())),
                    at::kDouble)
      .to(device);
}

VectorD host_vector(const at::Tensor& tensor) {
  const std::vector<double> values = to_host(tensor);
  return Eigen::Map<const VectorD>(values.data(), std::ssize(values));
}

/// Returns 1 / length, or 0 for lengths up to `shortest`.
at::Tensor inverse_lengths(const at::Tensor& lengths, double shortest) {
  return at::where(lengths.gt(shortest), lengths.reciprocal(), at::zeros_like(lengths));
}

/// Returns the maximum column and row sums of magnitudes, [matrices] each.
std::pair<at::Tensor, at::Tensor> largest_sums(const at::Tensor& magnitudes) {
  return {magnitudes.sum(1).amax(1), magnitudes.sum(2).amax(1)};
}

at::Tensor measure_curvature(const at::Tensor& rows) {
  const std::int64_t steps = rows.size(1) - 1;
  const at::Tensor step = rows.narrow(1, 1, steps) - rows.narrow(1, 0, steps);
  const at::Tensor length = step.square().sum(2).sqrt();
  const at::Tensor products = (step.narrow(1, 0, steps - 1) * step.narrow(1, 1, steps - 1)).sum(2);
  const at::Tensor lengths = length.narrow(1, 0, steps - 1) * length.narrow(1, 1, steps - 1);
  const at::Tensor is_defined = lengths.gt(0.0);
  const at::Tensor angles = (products / lengths).clamp(-1.0, 1.0).acos();
  return at::stack({at::where(is_defined, angles, at::zeros_like(angles)).sum(1),
                    is_defined.sum(1).to(at::kDouble), length.eq(0.0).sum(1).to(at::kDouble)},
                   1);
}

at::Tensor measure_massive(const at::Tensor& rows, const MassiveActivationOptions& options) {
  const at::Tensor magnitudes = rows.abs();
  const at::Tensor all = magnitudes.flatten(1);
  const at::Tensor median = std::get<0>(all.median(1));
  const at::Tensor limit = (median * options.ratio).clamp_min(options.threshold).unsqueeze(1);
  const at::Tensor of_token = magnitudes.amax(2);
  const auto count = [&](const at::Tensor& sizes) {
    return sizes.gt(options.threshold).logical_and(sizes.ge(limit)).sum(1).to(at::kDouble);
  };
  return at::stack({median, all.amax(1), count(all), count(of_token)}, 1);
}

/// Returns the largest eigenvalue of a tridiagonal matrix, and the last element of its eigenvector.
std::pair<double, double> largest_of_tridiagonal(const std::vector<double>& diagonal,
                                                 const std::vector<double>& below) {
  const auto size = static_cast<Eigen::Index>(diagonal.size());
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(Eigen::Map<const VectorD>(diagonal.data(), size),
                                Eigen::Map<const VectorD>(below.data(), size - 1));
  return {solver.eigenvalues()[size - 1], solver.eigenvectors()(size - 1, size - 1)};
}

/// Returns the largest eigenvalues of some tridiagonal matrices, or nothing if a residual is too
/// large. @param diagonals, lengths  [steps] tensors of [matrices]
std::optional<std::vector<double>> converged_eigenvalues(const std::vector<at::Tensor>& diagonals,
                                                         const std::vector<at::Tensor>& lengths,
                                                         bool is_last) {
  const std::vector<double> diagonal = to_host(at::stack(diagonals, 1));
  const std::vector<double> length = to_host(at::stack(lengths, 1));
  const auto steps = static_cast<std::ptrdiff_t>(diagonals.size());
  std::vector<double> largest;
  for (std::ptrdiff_t i = 0; i < std::ssize(diagonal); i += steps) {
    const std::vector<double> own(diagonal.begin() + i, diagonal.begin() + i + steps);
    const std::vector<double> below(length.begin() + i, length.begin() + i + steps);
    const auto [value, last] = largest_of_tridiagonal(own, below);
    const double residual = below.back() * std::abs(last);
    if (!is_last && !(residual <= kLanczosTolerance * value)) return std::nullopt;
    largest.push_back(value);
  }
  return largest;
}

}  // namespace

std::vector<double> largest_gram_eigenvalues(const at::Tensor& rows) {
  const std::int64_t count = rows.size(0);
  const std::int64_t dim = rows.size(2);
  const std::int64_t most = std::min(kMaxLanczosSteps, std::min(dim, rows.size(1)) + 1);
  VectorD start(dim);
  Random random(0);
  for (double& value : start) value = random.normal();
  start.normalize();
  at::Tensor v = device_vector(start, rows.device()).view({1, dim, 1}).expand({count, dim, 1});
  const at::Tensor transposed = rows.transpose(1, 2);
  at::Tensor basis;  // [matrices, dim, steps]
  std::vector<at::Tensor> diagonals, lengths;
  for (std::int64_t k = 1;; ++k) {
    basis = basis.defined() ? at::cat({basis, v}, 2) : v.contiguous();
    at::Tensor next = at::bmm(transposed, at::bmm(rows, v));
    diagonals.push_back((next * v).sum({1, 2}));
    // Twice: rounding leaves too much of the basis otherwise.
    for (int i = 0; i < 2; ++i) next = next - at::bmm(basis, at::bmm(basis.transpose(1, 2), next));
    const at::Tensor length = next.square().sum({1, 2}).sqrt();
    lengths.push_back(length);
    if (k % kLanczosTestEvery == 0 || k == most) {
      const auto values = converged_eigenvalues(diagonals, lengths, k == most);
      if (values) return *values;
    }
    // An invariant space has no next direction: zeros leave the eigenvalues unchanged.
    const at::Tensor shortest = diagonals.front() * kLanczosTolerance * kLanczosTolerance;
    const at::Tensor inverse =
        at::where(length.gt(shortest), length.reciprocal(), at::zeros_like(length));
    v = next * inverse.view({count, 1, 1});
  }
}

DeviceGeometry::DeviceGeometry(std::vector<std::int64_t> offsets, VectorD centre,
                               LayerGeometryOptions options)
    : offsets_(std::move(offsets)), options_(std::move(options)), centre_(std::move(centre)) {
  result_.num_rows = offsets_.back();
  result_.dim = centre_.size();
  result_.sequences.resize(offsets_.size() - 1);
  result_.sample.resize(static_cast<Eigen::Index>(options_.sample.size()), centre_.size());
}

void DeviceGeometry::prepare(const at::Tensor& rows) {
  if (device_centre_.defined()) return;
  const std::int64_t dim = centre_.size();
  device_centre_ = device_vector(centre_, rows.device());
  sum_ = at::zeros({dim}, rows.options());
  directions_ = at::zeros({dim}, rows.options());
  centred_directions_ = at::zeros({dim}, rows.options());
  num_centred_ = at::zeros({}, rows.options());
  if (options_.spectrum_of_rows) gram_ = at::zeros({dim, dim}, rows.options());
}

void DeviceGeometry::add(std::span<const std::int64_t> sequences, const at::Tensor& rows) {
  prepare(rows);
  Pending& pending = pending_.emplace_back();
  pending.sequences.assign(sequences.begin(), sequences.end());
  pending.num_tokens = rows.size(1);
  pending.sizes = rows.abs().sum({1, 2});
  if (options_.spectrum_of_rows) add_moments(rows);
  if (options_.spectrum_of_sequences) measure_spectra(rows, pending);
  if (options_.similarity) {
    pending.similarity = measure_similarity(rows);
    add_centred_directions(rows);
  }
  if (options_.curvature && rows.size(1) >= 3) pending.curvature = measure_curvature(rows);
  if (options_.massive) pending.massive = measure_massive(rows, options_.massive_options);
  if (options_.first_token) {
    pending.squares = rows.square().sum(2);
    pending.top = largest_gram_eigenvalues(rows);
    pending.top_rest = largest_gram_eigenvalues(rows.narrow(1, 1, rows.size(1) - 1));
  }
  take_sample(rows, pending);
  num_added_ += rows.size(0) * rows.size(1);
}

void DeviceGeometry::add_moments(const at::Tensor& rows) {
  const at::Tensor shifted = (rows - device_centre_).flatten(0, 1);
  sum_ += shifted.sum(0);
  gram_.addmm_(shifted.t(), shifted);
}

void DeviceGeometry::measure_spectra(const at::Tensor& rows, Pending& pending) const {
  const auto smaller_gram = [](const at::Tensor& x) {
    const at::Tensor transposed = x.transpose(1, 2);
    return x.size(1) <= x.size(2) ? at::bmm(x, transposed) : at::bmm(transposed, x);
  };
  const at::Tensor raw = smaller_gram(rows);
  const at::Tensor centred = smaller_gram(rows - rows.mean(1, true));
  std::vector<at::Tensor> numbers;
  for (const at::Tensor& gram : {raw, centred}) {
    numbers.push_back(gram.diagonal(0, 1, 2).sum(1));
    numbers.push_back(gram.square().sum({1, 2}));
  }
  pending.traces = at::stack(numbers, 1);
  pending.eigenvalues =
      gpu_module::batched_eigenvalues(uses_centred_ranks(options_.centering) ? centred : raw);
}

/// Returns squares, residual squares, largest column and row sums of both, sum of cosines times the
/// length of the mean, that length, squared length of the sum of directions, number of zeros.
at::Tensor DeviceGeometry::measure_similarity(const at::Tensor& rows) {
  const at::Tensor mean = rows.mean(1, true);
  const at::Tensor residual = (rows - mean).abs_();
  const at::Tensor squared_lengths = rows.square().sum(2);
  const at::Tensor inverse = inverse_lengths(squared_lengths.sqrt(), 0.0);
  const auto [columns, tokens] = largest_sums(rows.abs());
  const auto [residual_columns, residual_tokens] = largest_sums(residual);
  const at::Tensor directions = at::bmm(inverse.unsqueeze(1), rows).squeeze(1);
  const at::Tensor products = at::bmm(rows, mean.transpose(1, 2)).squeeze(2);
  directions_ += directions.sum(0);
  return at::stack(
      {squared_lengths.sum(1), residual.square().sum({1, 2}), columns, tokens, residual_columns,
       residual_tokens, (products * inverse).sum(1), mean.square().sum({1, 2}).sqrt(),
       directions.square().sum(1), squared_lengths.eq(0.0).sum(1).to(at::kDouble)},
      1);
}

void DeviceGeometry::add_centred_directions(const at::Tensor& rows) {
  const at::Tensor centred = (rows - device_centre_).flatten(0, 1);
  const at::Tensor inverse =
      inverse_lengths(centred.square().sum(1).sqrt(), kDirectionRounding * centre_.norm());
  centred_directions_ += at::mv(centred.t(), inverse);
  num_centred_ += inverse.gt(0.0).sum();
}

void DeviceGeometry::take_sample(const at::Tensor& rows, Pending& pending) const {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < pending.sequences.size(); ++i) {
    const std::int64_t first = offsets_[static_cast<std::size_t>(pending.sequences[i])];
    auto chosen = std::ranges::lower_bound(options_.sample, first);
    for (; chosen != options_.sample.end() && *chosen < first + pending.num_tokens; ++chosen) {
      places.push_back(static_cast<std::int64_t>(i) * pending.num_tokens + *chosen - first);
      pending.sample_rows.push_back(chosen - options_.sample.begin());
    }
  }
  if (places.empty()) return;
  const at::Tensor indices = at::tensor(places, at::kLong).to(rows.device());
  pending.sample = rows.flatten(0, 1).index_select(0, indices);
}

void DeviceGeometry::end_batch() {
  for (const Pending& pending : pending_) keep(pending);
  pending_.clear();
}

void DeviceGeometry::keep(const Pending& pending) {
  const std::vector<double> sizes = to_host(pending.sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    throw_if(!std::isfinite(sizes[i]),
             "geometry: sequence {}: representations must be finite; check the model for overflow, "
             "or use a wider --dtype",
             pending.sequences[i]);
    geometry_of(pending, i).num_tokens = pending.num_tokens;
  }
  if (pending.traces.defined()) keep_spectra(pending);
  if (pending.similarity.defined()) keep_similarity(pending);
  if (pending.curvature.defined()) keep_curvature(pending);
  if (pending.massive.defined()) keep_massive(pending);
  if (pending.squares.defined()) keep_first_token(pending);
  if (!pending.sample.defined()) return;
  const std::vector<double> sample = to_host(pending.sample);
  for (std::size_t i = 0; i < pending.sample_rows.size(); ++i) {
    result_.sample.row(pending.sample_rows[i]) =
        Eigen::Map<const Eigen::RowVectorXd>(
            sample.data() + static_cast<std::int64_t>(i) * result_.dim, result_.dim)
            .cast<float>();
  }
}

void DeviceGeometry::keep_spectra(const Pending& pending) {
  const std::vector<double> numbers = to_host(pending.traces);
  const std::vector<double> eigenvalues = to_host(pending.eigenvalues);
  const std::size_t size = eigenvalues.size() / pending.sequences.size();
  SpectrumOptions of_sequence = options_.spectrum_options;
  of_sequence.power_law.reset();  // of all rows only
  for (std::size_t i = 0; i < pending.sequences.size(); ++i) {
    const std::span<const double> own = std::span(eigenvalues).subspan(i * size, size);
    const double* const n = numbers.data() + 4 * i;
    geometry_of(pending, i).spectrum =
        measure_grams({n[0], n[1], own}, {n[2], n[3], own}, pending.num_tokens, result_.dim,
                      options_.centering, of_sequence);
  }
}

void DeviceGeometry::keep_similarity(const Pending& pending) {
  const std::vector<double> values = to_host(pending.similarity);
  const std::size_t width = values.size() / pending.sequences.size();
  for (std::size_t i = 0; i < pending.sequences.size(); ++i) {
    const std::span<const double> v = std::span(values).subspan(i * width, width);
    SequenceSimilarity& similarity = geometry_of(pending, i).similarity;
    const double count = static_cast<double>(pending.num_tokens) - v[9];
    if (count >= 2.0) similarity.mean_cosine = (v[8] - count) / (count * (count - 1.0));
    if (v[0] > 0.0) {
      similarity.rank_one_residual = std::sqrt(v[1] / v[0]);
      similarity.rank_one_residual_1inf = std::sqrt(v[4] * v[5]) / std::sqrt(v[2] * v[3]);
    }
    if (v[7] > 0.0 && count > 0.0) similarity.mean_token_similarity = v[6] / v[7] / count;
    result_.directions.count += static_cast<std::int64_t>(count);
    result_.directions.zeros += static_cast<std::int64_t>(v[9]);
  }
}

void DeviceGeometry::keep_curvature(const Pending& pending) {
  const std::vector<double> values = to_host(pending.curvature);
  for (std::size_t i = 0; i < pending.sequences.size(); ++i) {
    PathCurvature& curvature = geometry_of(pending, i).curvature;
    curvature.angles = static_cast<std::int64_t>(values[3 * i + 1]);
    curvature.still_steps = static_cast<std::int64_t>(values[3 * i + 2]);
    if (curvature.angles > 0) {
      curvature.degrees = values[3 * i] / values[3 * i + 1] * 180.0 / std::numbers::pi;
    }
  }
}

void DeviceGeometry::keep_massive(const Pending& pending) {
  const std::vector<double> values = to_host(pending.massive);
  const auto tokens = static_cast<double>(pending.num_tokens);
  for (std::size_t i = 0; i < pending.sequences.size(); ++i) {
    MassiveActivations& massive = geometry_of(pending, i).massive;
    massive.median = values[4 * i];
    massive.largest = values[4 * i + 1];
    massive.num_massive = static_cast<std::int64_t>(values[4 * i + 2]);
    massive.share = values[4 * i + 2] / (tokens * static_cast<double>(result_.dim));
    massive.token_share = values[4 * i + 3] / tokens;
    massive.largest_ratio = massive.median > 0.0 ? massive.largest / massive.median
                                                 : std::numeric_limits<double>::infinity();
  }
}

void DeviceGeometry::keep_first_token(const Pending& pending) {
  const std::vector<double> squares = to_host(pending.squares);
  const auto tokens = static_cast<std::size_t>(pending.num_tokens);
  const auto share = [](double largest, double trace) -> std::optional<double> {
    if (!(trace > 0.0)) return std::nullopt;
    return std::min(largest / trace, 1.0);
  };
  for (std::size_t i = 0; i < pending.sequences.size(); ++i) {
    std::vector<double> own(squares.begin() + static_cast<std::ptrdiff_t>(i * tokens),
                            squares.begin() + static_cast<std::ptrdiff_t>((i + 1) * tokens));
    const double first = own.front();
    double rest = 0.0;
    for (std::size_t t = 1; t < tokens; ++t) rest += own[t];
    const auto middle = own.begin() + static_cast<std::ptrdiff_t>((tokens - 1) / 2);
    std::ranges::nth_element(own, middle);
    FirstToken& token = geometry_of(pending, i).first_token;
    if (*middle > 0.0) token.norm_ratio = std::sqrt(first / *middle);
    token.top_share = share(pending.top[i], first + rest);
    token.top_share_rest = share(pending.top_rest[i], rest);
  }
}

LayerGeometry DeviceGeometry::finish() {
  if (options_.similarity) {
    result_.directions.sum = host_vector(directions_);
    result_.centred_directions.sum = host_vector(centred_directions_);
    result_.centred_directions.count = static_cast<std::int64_t>(to_host(num_centred_).front());
    result_.centred_directions.zeros = num_added_ - result_.centred_directions.count;
  }
  if (options_.spectrum_of_rows) {
    const std::int64_t dim = result_.dim;
    const std::vector<double> gram = to_host(gram_);
    const RowMoments moments(centre_, num_added_, host_vector(sum_),
                             Eigen::Map<const MatrixD>(gram.data(), dim, dim));
    result_.spectrum =
        SpectrumMeter(options_.centering, options_.spectrum_options).measure(moments);
  }
  return std::move(result_);
}

}  // namespace lime
