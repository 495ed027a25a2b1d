// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/matrix_entropy.h"

#include <Spectra/SymEigsSolver.h>

#include <algorithm>
#include <cmath>

#include "metrics/entropy/entropy_calculator.h"
#include "metrics/rows.h"

namespace lime {
namespace {

/// Orders this close to 1 use the formula without cancellation; the LIMe code's 0.99 does not.
constexpr double kNearOne = 1e-3;

double largest_of(std::span<const double> eigenvalues) {
  double largest = 0.0;
  for (const double value : eigenvalues) {
    throw_if(!std::isfinite(value), "entropy: eigenvalues must be finite, got {}", value);
    largest = std::max(largest, value);
  }
  if (largest == 0.0) throw InvalidArgument("entropy: no eigenvalue is above 0");
  return largest;
}

double shannon_entropy(std::span<const double> eigenvalues, double trace) {
  double entropy = 0.0;
  for (const double value : eigenvalues) {
    const double p = value / trace;
    if (p > 0.0) entropy -= p * std::log(p);
  }
  return entropy;
}

/// Returns log(sum p^alpha) / (1 - alpha) with sum p^alpha = sum p + sum p (p^(alpha - 1) - 1). The
/// sum of the p is replaced by 1, since 1 / (1 - alpha) would amplify its rounding error.
double entropy_near_one(std::span<const double> eigenvalues, double trace, double alpha) {
  double excess = 0.0;
  for (const double value : eigenvalues) {
    const double p = value / trace;
    if (p > 0.0) excess += p * std::expm1((alpha - 1.0) * std::log(p));
  }
  return std::log1p(excess) / (1.0 - alpha);
}

/// Computes the general formula relative to the largest p, so that no power over- or underflows.
double general_entropy(std::span<const double> eigenvalues, double trace, double alpha,
                       double largest) {
  double sum = 0.0;
  for (const double value : eigenvalues) {
    if (value > 0.0) sum += std::pow(value / largest, alpha);
  }
  return (alpha * std::log(largest / trace) + std::log(sum)) / (1.0 - alpha);
}

template <typename Scalar> double entropy_of(const linalg::AffineRows<Scalar>& rows, double alpha) {
  EntropyOptions options;
  options.preset = EntropyPreset::kRaw;
  options.alpha = {alpha};
  EntropyCalculator calculator(options, std::nullopt);
  return with_prefix("entropy", [&] { return calculator.compute(rows).values.front(); });
}

void check_leading(std::span<const double> leading, std::int64_t num_eigenvalues) {
  throw_if(leading.empty() || num_eigenvalues < static_cast<std::int64_t>(leading.size()),
           "entropy_bounds: needs 1 to {} leading eigenvalues, got {}", num_eigenvalues,
           leading.size());
  for (std::size_t i = 0; i < leading.size(); ++i) {
    throw_if(!(leading[i] >= 0.0) || (i > 0 && leading[i] > leading[i - 1]),
             "entropy_bounds: eigenvalues must be >= 0 and descending, got {} at index {}",
             leading[i], i);
  }
}

/// Follows the Layer by Layer code: negative elements of the Gram matrix are set to 0; its positive
/// eigenvalues are divided by their own sum. Order 2 uses the squared Frobenius norm, but divides
/// it by the squared size of the matrix, which equals the squared trace only if the diagonal is 1:
/// with more tokens than dimensions the value is low by 2 ln(N / D).
std::vector<double> entropies_of_clamped(const GramSpectrum& gram,
                                         const std::vector<double>& orders) {
  std::vector<double> positive;
  for (const double value : gram.eigenvalues) {
    if (value > 0.0) positive.push_back(value);
  }
  double sum = 0.0;
  for (const double value : positive) sum += value;
  const auto size = static_cast<double>(std::min(gram.num_tokens, gram.dim));
  std::vector<double> entropies;
  for (const double alpha : orders) {
    entropies.push_back(alpha == 2.0 ? -std::log(gram.squared_norm / (size * size))
                                     : entropy_of_spectrum(positive, sum, alpha));
  }
  return entropies;
}

/// Relative residual of an eigenpair; the error of the eigenvalue is of the order of its square.
constexpr double kTolerance = 1e-10;
/// Relative error by which an eigenvalue of the second run may exceed the smallest one.
constexpr double kSlack = 1e-8;
constexpr Eigen::Index kMaxRestarts = 300;

/// Operator x -> A A^T x - U diag(lambda) U^T x on the smaller side of Z, for Spectra.
class DeflatedGramProduct {
 public:
  using Scalar = double;

  explicit DeflatedGramProduct(const MatrixD& z) : z_(z) {}

  Eigen::Index rows() const { return std::min(z_.rows(), z_.cols()); }
  Eigen::Index cols() const { return rows(); }

  void deflate(Eigen::MatrixXd vectors, VectorD values) {
    vectors_ = std::move(vectors);
    values_ = std::move(values);
  }

  void perform_op(const double* in, double* out) const {
    const Eigen::Map<const VectorD> x(in, rows());
    Eigen::Map<VectorD> y(out, rows());
    if (z_.rows() <= z_.cols()) {
      y.noalias() = z_ * (z_.transpose() * x).eval();
    } else {
      y.noalias() = z_.transpose() * (z_ * x).eval();
    }
    if (values_.size() > 0) {
      y.noalias() -= vectors_ * (values_.array() * (vectors_.transpose() * x).array()).matrix();
    }
  }

 private:
  const MatrixD& z_;
  Eigen::MatrixXd vectors_;
  VectorD values_;
};

using Solver = Spectra::SymEigsSolver<DeflatedGramProduct>;

Eigen::Index subspace_size(Eigen::Index count, Eigen::Index size) {
  return std::min(size, std::max<Eigen::Index>(2 * count + 1, 20));
}

bool converge(Solver& solver) {
  solver.init();
  solver.compute(Spectra::SortRule::LargestAlge, kMaxRestarts, kTolerance);
  return solver.info() == Spectra::CompInfo::Successful;
}

double divisor_of(EntropyNormalization normalization, double log_tokens, double log_dim) {
  switch (normalization) {
    case EntropyNormalization::kMaxEntropy: return std::min(log_tokens, log_dim);
    case EntropyNormalization::kLogN: return log_tokens;
    case EntropyNormalization::kLogD: return log_dim;
    case EntropyNormalization::kLogNLogD: return log_tokens * log_dim;
    case EntropyNormalization::kRaw: return 1.0;
  }
  return 1.0;
}

}  // namespace

void EntropyOptions::describe(OptionList& list) {
  list.add("preset", preset,
           "source of the entropy definition: its preprocessing, default order and unit");
  list.add("alpha", alpha,
           "entropy orders, > 0; inf: min-entropy; default: 0.5 for lime-code and raw, else 1");
  list.add("normalization", normalization, "divisor of the entropy in the preset layer-by-layer");
  list.add("top_k", top_k,
           "use only the k leading eigenvalues, > 0, and report bounds for the omitted ones");
}

void EntropyOptions::validate() const {
  for (const double order : alpha) check_entropy_order(order);
  throw_if(preset_info(preset).scale != EntropyScale::kOfNormalization &&
               normalization != EntropyNormalization::kMaxEntropy,
           OptionName("normalization"), "'{}' requires the preset layer-by-layer, got '{}'",
           enum_name(normalization), enum_name(preset));
  if (!top_k) return;
  if (*top_k < 1) throw InvalidArgument(OptionName("top_k"), "must be > 0, got {}", *top_k);
  throw_if(clamps_gram(preset), OptionName("top_k"),
           "has no bounds for the preset layer-by-layer, whose matrix has negative "
           "eigenvalues; omit --top-k or use another preset");
}

std::vector<double> EntropyOptions::orders() const {
  return alpha.empty() ? std::vector<double>{preset_info(preset).order} : alpha;
}

std::string_view entropy_unit(const EntropyOptions& options) {
  switch (preset_info(options.preset).scale) {
    case EntropyScale::kNats: break;
    case EntropyScale::kOfLogDim: return "ratio";
    case EntropyScale::kOfNormalization:
      return options.normalization == EntropyNormalization::kRaw ? "nats" : "ratio";
    case EntropyScale::kExponential: return "rank";
  }
  return "nats";
}

double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim, const EntropyOptions& options) {
  return in_preset_unit(entropy_ceiling(num_tokens, dim), num_tokens, dim, options);
}

double in_preset_unit(double nats, std::int64_t num_tokens, std::int64_t dim,
                      const EntropyOptions& options) {
  const double log_tokens = std::log(static_cast<double>(num_tokens));
  const double log_dim = std::log(static_cast<double>(dim));
  double divisor = 1.0;
  switch (preset_info(options.preset).scale) {
    case EntropyScale::kNats: break;
    case EntropyScale::kExponential: return std::exp(nats);
    case EntropyScale::kOfLogDim: divisor = log_dim; break;
    case EntropyScale::kOfNormalization:
      divisor = divisor_of(options.normalization, log_tokens, log_dim);
      break;
  }
  throw_if(!(divisor > 0.0),
           "{}: divides by a logarithm and needs at least two tokens and dimensions, got {} x {}",
           enum_name(options.preset), num_tokens, dim);
  return nats / divisor;
}

void check_entropy_order(double alpha) {
  check_option(alpha > 0.0, "alpha", "> 0 (1 and inf are allowed)", alpha);
}

double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim) {
  throw_if(num_tokens < 1 || dim < 1,
           "entropy: needs at least one token and one dimension, got {} x {}", num_tokens, dim);
  return std::log(static_cast<double>(std::min(num_tokens, dim)));
}

double entropy_of_spectrum(std::span<const double> eigenvalues, double trace, double alpha) {
  check_entropy_order(alpha);
  throw_if(!(trace > 0.0) || !std::isfinite(trace),
           "entropy: the trace must be > 0 and finite, got {}", trace);
  const double largest = largest_of(eigenvalues);
  if (std::isinf(alpha)) return -std::log(largest / trace);
  if (alpha == 1.0) return shannon_entropy(eigenvalues, trace);
  if (std::abs(alpha - 1.0) < kNearOne) return entropy_near_one(eigenvalues, trace, alpha);
  return general_entropy(eigenvalues, trace, alpha, largest);
}

double matrix_renyi_entropy(const ConstMatrixRef& representations, double alpha) {
  return entropy_of(linalg::affine_rows(representations), alpha);
}

double matrix_renyi_entropy(const ConstMatrixRefD& representations, double alpha) {
  return entropy_of(linalg::affine_rows(representations), alpha);
}

EntropyBounds entropy_bounds(std::span<const double> leading, double trace,
                             std::int64_t num_eigenvalues, double alpha) {
  check_leading(leading, num_eigenvalues);
  const std::size_t unknown = static_cast<std::size_t>(num_eigenvalues) - leading.size();
  double rest = trace;
  for (const double value : leading) rest -= value;
  rest = unknown == 0 ? 0.0 : std::max(rest, 0.0);

  std::vector<double> spectrum(leading.begin(), leading.end());
  spectrum.resize(static_cast<std::size_t>(num_eigenvalues),
                  unknown == 0 ? 0.0 : rest / static_cast<double>(unknown));
  const double upper = entropy_of_spectrum(spectrum, trace, alpha);

  double left = rest;
  for (std::size_t i = leading.size(); i < spectrum.size(); ++i) {
    spectrum[i] = std::min(left, leading.back());
    left -= spectrum[i];
  }
  return {std::min(entropy_of_spectrum(spectrum, trace, alpha), upper), upper};
}

bool needs_eigenvalues(std::span<const double> orders) {
  return std::ranges::any_of(orders, [](double alpha) { return alpha != 2.0; });
}

std::vector<double> entropies_of(const GramSpectrum& gram, const EntropyOptions& options) {
  const std::vector<double> orders = options.orders();
  if (clamps_gram(options.preset)) return entropies_of_clamped(gram, orders);
  std::vector<double> entropies;
  for (const double alpha : orders) {
    entropies.push_back(gram.eigenvalues.empty()
                            ? 2.0 * std::log(gram.trace) - std::log(gram.squared_norm)
                            : entropy_of_spectrum(gram.eigenvalues, gram.trace, alpha));
  }
  return entropies;
}

std::optional<std::vector<double>> leading_gram_eigenvalues(const MatrixD& rows,
                                                            std::int64_t count) {
  DeflatedGramProduct product(rows);
  // Beyond half of the spectrum the full solution is cheaper.
  if (2 * count >= product.rows()) return std::nullopt;
  Solver solver(product, count, subspace_size(count, product.rows()));
  if (!converge(solver)) return std::nullopt;
  const VectorD values = solver.eigenvalues();

  product.deflate(solver.eigenvectors(), values);
  Solver check(product, 1, subspace_size(1, product.rows()));
  if (!converge(check)) return std::nullopt;
  const double smallest = values[count - 1];
  if (check.eigenvalues()[0] > smallest + kSlack * values[0]) return std::nullopt;

  std::vector<double> result(values.data(), values.data() + count);
  for (double& value : result) value = std::max(value, 0.0);
  return result;
}

}  // namespace lime
