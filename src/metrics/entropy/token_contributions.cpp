// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/token_contributions.h"

#include <Eigen/Eigenvalues>
#include <span>
#include <vector>

#include "core/errors.h"
#include "core/threads/thread_pool.h"
#include "metrics/entropy/matrix_entropy.h"

namespace lime {
namespace {

/// Differences below this fraction of the largest eigenvalue are rounding errors.
constexpr double kRounding = 1e-15;
/// Remaining fraction of the trace below which the rest of a sequence counts as zero.
constexpr double kNothingLeft = 1e-12;
constexpr int kMostSteps = 200;

/// Spectrum of Z^T Z without the eigenvalues that must be 0.
struct TokenSpectrum {
  VectorD eigenvalues;  ///< [r], ascending
  MatrixD squares;      ///< [num_tokens, r], w^2 of each token
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
    spectrum.squares =
        solver.eigenvectors().array().square().rowwise() * spectrum.eigenvalues.transpose().array();
  } else {
    spectrum.squares = (z * solver.eigenvectors()).array().square();
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
    for (int step = 0; step < kMostSteps && high - low > rounding_; ++step) {
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

double entropy_without(const TokenSpectrum& spectrum, Eigen::Index token, double alpha) {
  const double trace = spectrum.trace - spectrum.squares.row(token).sum();
  if (trace <= kNothingLeft * spectrum.trace) return 0.0;
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
  pool.parallel_for(
      representations.rows(),
      [&](std::int64_t token) {
        result.contributions(token) = result.entropy - entropy_without(spectrum, token, alpha);
      },
      stop);
  return result;
}

}  // namespace lime
