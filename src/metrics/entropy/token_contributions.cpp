// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/token_contributions.h"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "core/errors.h"
#include "metrics/entropy/matrix_entropy.h"

namespace lime {
namespace {

/// Differences below this fraction of the largest eigenvalue are rounding errors.
constexpr double kRounding = 1e-15;
/// Remaining fraction of the trace below which the rest of a sequence counts as zero.
constexpr double kNothingLeft = 1e-12;
constexpr int kMaxSteps = 200;

/// Spectrum of Z^T Z without the eigenvalues that must be 0.
struct TokenSpectrum {
  VectorD eigenvalues;  ///< [r], ascending
  MatrixD squares;      ///< [num_tokens, r], w^2 of each token
  MatrixD leverages;    ///< [num_tokens, r], w^2 / L
  VectorD rests;        ///< [num_tokens], 1 minus the sum of the leverages
  double trace = 0.0;
};

TokenSpectrum spectrum_of(const ConstMatrixRefD& z) {
  const bool has_few_tokens = z.rows() <= z.cols();
  MatrixD gram;
  if (has_few_tokens) {
    gram.noalias() = z * z.transpose();
  } else {
    gram.noalias() = z.transpose() * z;
  }
  const Eigen::SelfAdjointEigenSolver<MatrixD> solver(gram);
  throw_if<NumericalError>(solver.info() != Eigen::Success,
                           "token_contributions: the eigenvalues of the sequence did not converge");
  TokenSpectrum spectrum;
  spectrum.eigenvalues = solver.eigenvalues().cwiseMax(0.0);
  spectrum.trace = gram.trace();
  if (has_few_tokens) {
    // w_i = sigma_i u_ti
    spectrum.leverages = solver.eigenvectors().array().square();
    spectrum.squares =
        spectrum.leverages.array().rowwise() * spectrum.eigenvalues.transpose().array();
    spectrum.rests = VectorD::Zero(z.rows());
  } else {
    spectrum.squares = (z * solver.eigenvectors()).array().square();
    const double rounding = kRounding * spectrum.eigenvalues(spectrum.eigenvalues.size() - 1);
    const VectorD inverse = (spectrum.eigenvalues.array() > rounding)
                                .select(spectrum.eigenvalues.array().inverse(), 0.0);
    spectrum.leverages = spectrum.squares.array().rowwise() * inverse.transpose().array();
    spectrum.rests = (1.0 - spectrum.leverages.rowwise().sum().array()).cwiseMax(0.0);
  }
  return spectrum;
}

/// The function 1 - sum_i w_i^2 / (L_i - m), which decreases between poles. Poles are some of the
/// eigenvalues, ascending and distinct, each with a weight.
class SecularFunction {
 public:
  /// @param rounding  difference below which numbers are equal.
  SecularFunction(const std::vector<double>& poles, const std::vector<double>& weights,
                  double rounding)
      : poles_(poles.data(), static_cast<Eigen::Index>(poles.size())),
        weights_(weights.data(), static_cast<Eigen::Index>(weights.size())),
        rounding_(rounding) {}

  /// Returns the root between poles `index` - 1 (0 for the first) and `index`.
  double root(Eigen::Index index) const {
    double low = index > 0 ? poles_(index - 1) : 0.0;
    double high = poles_(index);
    double at_low = index > 0 ? weights_(index - 1) * (high - low) : without_poles(0.0, index);
    double at_high = -weights_(index) * (index > 0 ? high - low : 1.0);
    // Rounding has moved it outside: it is 0.
    if (!(at_low > 0.0)) return low;
    int side = 0;
    for (int step = 0; step < kMaxSteps && high - low > rounding_; ++step) {
      // Every third step bisects, so that a bad bracket costs little.
      double m =
          step % 3 == 2 ? 0.5 * (low + high) : (low * at_high - high * at_low) / (at_high - at_low);
      if (!(m > low && m < high)) m = 0.5 * (low + high);
      if (m <= low || m >= high) break;
      const double value = without_poles(m, index);
      if (value == 0.0) return m;
      // Illinois: the value at an end that stays is halved.
      const int now = value > 0.0 ? 1 : -1;
      (now > 0 ? low : high) = m;
      (now > 0 ? at_low : at_high) = value;
      if (side == now) (now > 0 ? at_high : at_low) *= 0.5;
      side = now;
    }
    return 0.5 * (low + high);
  }

 private:
  /// Returns the function times its distance to both poles: same root, no steep ends.
  double without_poles(double m, Eigen::Index index) const {
    const double value = 1.0 - (weights_ / (poles_ - m)).sum();
    return value * (poles_(index) - m) * (index > 0 ? m - poles_(index - 1) : 1.0);
  }

  Eigen::Map<const Eigen::ArrayXd> poles_;
  Eigen::Map<const Eigen::ArrayXd> weights_;
  double rounding_;
};

/// Returns the eigenvalues of L - w w^T: those without weight in w, and all but one of equal ones,
/// are unchanged.
std::vector<double> eigenvalues_without(const TokenSpectrum& spectrum, Eigen::Index token) {
  const Eigen::Index count = spectrum.eigenvalues.size();
  const double rounding = kRounding * spectrum.eigenvalues(count - 1);
  std::vector<double> poles, weights, result;
  for (Eigen::Index i = 0; i < count; ++i) {
    const double eigenvalue = spectrum.eigenvalues(i);
    const double weight = spectrum.squares(token, i);
    if (!(weight > rounding)) {
      result.push_back(eigenvalue);
    } else if (!poles.empty() && eigenvalue - poles.back() <= rounding) {
      weights.back() += weight;
      result.push_back(eigenvalue);
    } else {
      poles.push_back(eigenvalue);
      weights.push_back(weight);
    }
  }
  const SecularFunction secular(poles, weights, rounding);
  for (std::size_t i = 0; i < poles.size(); ++i) {
    result.push_back(secular.root(static_cast<Eigen::Index>(i)));
  }
  return result;
}

/// The sum of the eigenvalues to the power alpha without each token, as an integral.
class PowerSums {
 public:
  /// @param spectrum  must outlive this
  PowerSums(const TokenSpectrum& spectrum, double alpha)
      : spectrum_(spectrum), whole_(spectrum.eigenvalues.array().pow(alpha).sum()) {
    // The integrand falls as s^alpha to the left and as s^(alpha - 1) to the right.
    const double largest = std::log(spectrum.eigenvalues(spectrum.eigenvalues.size() - 1));
    const double low = largest - kTailDigits / alpha;
    const double high = largest + kTailDigits / (1.0 - alpha);
    const auto count = static_cast<Eigen::Index>(std::ceil((high - low) / kStep)) + 1;
    const Eigen::ArrayXd nodes =
        (Eigen::ArrayXd::LinSpaced(count, 0, static_cast<double>(count - 1)) * kStep + low).exp();
    factors_ =
        kStep * alpha * std::sin(std::numbers::pi * alpha) / std::numbers::pi * nodes.pow(alpha);
    const auto num_small =
        static_cast<Eigen::Index>(std::ceil((largest - low) / kStep));  // nodes below the largest
    const auto inverses = [&](Eigen::Index k) {
      return (spectrum.eigenvalues.array() + nodes(k)).inverse();
    };
    small_.resize(spectrum.eigenvalues.size(), num_small);
    large_.resize(spectrum.eigenvalues.size(), count - num_small);
    for (Eigen::Index k = 0; k < count; ++k) {
      if (k < num_small) {
        small_.col(k) = nodes(k) * inverses(k);
      } else {
        large_.col(k - num_small) = inverses(k);
      }
    }
  }

  /// Returns nothing where the rest is so small that the difference has lost its digits.
  std::optional<double> without(Eigen::Index token) const {
    // log(1 - sum_i w_i^2 / (L_i + s)); for small s without cancellation
    Eigen::ArrayXd logs(factors_.size());
    logs.head(small_.cols()) =
        ((spectrum_.leverages.row(token) * small_).transpose().array() + spectrum_.rests(token))
            .log();
    logs.tail(large_.cols()) =
        (-(spectrum_.squares.row(token) * large_).transpose().array()).log1p();
    const double sum = whole_ + (factors_ * logs).sum();
    return sum > kLostDigits * whole_ ? std::optional(sum) : std::nullopt;
  }

 private:
  static constexpr double kStep = 0.6;         // of log s: an error of exp(-2 pi^2 / 0.6) = 5e-15
  static constexpr double kTailDigits = 30.0;  // natural logarithm of what the tails are cut to
  static constexpr double kLostDigits = 1e-3;

  const TokenSpectrum& spectrum_;
  double whole_;
  Eigen::ArrayXd factors_;
  MatrixD small_;  ///< [r, nodes], s / (L + s) for s below the largest eigenvalue
  MatrixD large_;  ///< [r, nodes], 1 / (L + s) for the others
};

double entropy_without(const TokenSpectrum& spectrum, const std::optional<PowerSums>& sums,
                       Eigen::Index token, double alpha) {
  const double trace = spectrum.trace - spectrum.squares.row(token).sum();
  if (trace <= kNothingLeft * spectrum.trace) return 0.0;
  if (const std::optional<double> sum = sums ? sums->without(token) : std::nullopt) {
    return (std::log(*sum) - alpha * std::log(trace)) / (1.0 - alpha);
  }
  return entropy_of_spectrum(eigenvalues_without(spectrum, token), trace, alpha);
}

}  // namespace

TokenContributions token_contributions(const ConstMatrixRefD& representations, double alpha,
                                       ThreadPool& pool, std::stop_token stop) {
  check_entropy_order(alpha);
  throw_if(representations.rows() < 2, "token_contributions: needs at least 2 tokens, got {}",
           representations.rows());
  throw_if(!representations.allFinite(), "token_contributions: representations must be finite");
  const TokenSpectrum spectrum = spectrum_of(representations);
  throw_if(!(spectrum.trace > 0.0), "token_contributions: representations must not be all zero");
  TokenContributions result;
  result.entropy = entropy_of_spectrum(
      std::span(spectrum.eigenvalues.data(), static_cast<std::size_t>(spectrum.eigenvalues.size())),
      spectrum.trace, alpha);
  result.contributions.resize(representations.rows());
  std::optional<PowerSums> sums;
  if (alpha >= kMinIntegrated && alpha <= kMaxIntegrated) sums.emplace(spectrum, alpha);
  pool.parallel_for(
      representations.rows(),
      [&](std::int64_t token) {
        result.contributions(token) =
            result.entropy - entropy_without(spectrum, sums, token, alpha);
      },
      stop);
  return result;
}

}  // namespace lime
