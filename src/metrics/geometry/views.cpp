// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/views.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <numeric>

#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"
#include "metrics/rows.h"

namespace lime {
namespace {

constexpr std::uint64_t kPermutationStream = 2;

bool is_paper(const ViewOptions& options) { return options.preset == ViewPreset::kPaper; }

std::int64_t check_views(const ConstMatrixRef& rows, std::int64_t num_texts) {
  throw_if(num_texts < 2 || rows.rows() % num_texts != 0 || rows.rows() / num_texts < 2,
           "views: needs at least 2 texts with the same number of views, at least 2, got {} rows "
           "for {} texts",
           rows.rows(), num_texts);
  check_finite_rows(rows);
  return rows.rows() / num_texts;
}

/// Returns the rows of view 0 or 1, [num_texts, dim].
MatrixD rows_of_view(const ConstMatrixRef& rows, std::int64_t num_texts, std::int64_t view,
                     const ViewOptions& options) {
  const std::int64_t num_views = check_views(rows, num_texts);
  MatrixD picked = rows(Eigen::seqN(view, num_texts, num_views), Eigen::all).cast<double>();
  if (is_paper(options)) picked.rowwise().normalize();
  return picked;
}

/// Returns Z Z^T.
MatrixD gram_of(const MatrixD& z) {
  MatrixD gram = MatrixD::Zero(z.rows(), z.rows());
  gram.selfadjointView<Eigen::Lower>().rankUpdate(z);
  return gram.selfadjointView<Eigen::Lower>();
}

VectorD eigenvalues_of(const MatrixD& symmetric) {
  linalg::SymmetricPanels packed;
  packed.resize(symmetric.rows());
  packed.values().setZero();
  for (std::int64_t r = 0; r < symmetric.rows(); ++r) {
    const std::int64_t stored = (r / linalg::kPanelRows<double> + 1) * linalg::kPanelRows<double>;
    for (std::int64_t c = 0; c < std::min(stored, symmetric.cols()); ++c) {
      packed.at(r, c) = symmetric(r, c);
    }
  }
  linalg::SymmetricEigenvalues solver;
  return Eigen::Map<const VectorD>(solver.compute(packed).data(), symmetric.rows());
}

double von_neumann_entropy(const VectorD& eigenvalues) {
  return entropy_of_spectrum({eigenvalues.data(), static_cast<std::size_t>(eigenvalues.size())},
                             eigenvalues.sum(), 1.0);
}

/// Returns the entropy of order 1 of a Gram matrix in the preset's unit.
double entropy_of(const MatrixD& gram, std::int64_t num_texts, std::int64_t dim,
                  const ViewOptions& options) {
  const double nats = von_neumann_entropy(eigenvalues_of(gram).cwiseMax(0.0));
  if (is_paper(options)) return nats;
  return in_preset_unit(
      nats, num_texts, dim,
      {.preset = EntropyPreset::kLayerByLayer, .normalization = options.normalization});
}

}  // namespace

void ViewOptions::describe(OptionList& list) {
  list.group("Augmented views");
  list.add("view_preset", preset,
           "conventions of DiME, InfoNCE and LiDAR: those of the Layer by Layer code, or of each "
           "measure's own paper");
  list.add("normalization", normalization,
           "layer-by-layer only: divisor of DiME and LiDAR; N texts, D dimensions");
  list.add("temperature", temperature, "divisor of InfoNCE's similarities, > 0");
  list.add("permutations", permutations, "random permutations of DiME, from 1 to 1000");
  list.add("lidar_delta", delta,
           "regularisation added to the diagonal of LiDAR's within-class scatter, > 0");
}

void ViewOptions::validate() const {
  check_option(temperature > 0.0 && std::isfinite(temperature), "temperature", "> 0", temperature);
  check_option(permutations >= 1 && permutations <= 1000, "permutations", "from 1 to 1000",
               permutations);
  check_option(delta > 0.0 && std::isfinite(delta), "lidar_delta", "> 0", delta);
  throw_if(is_paper(*this) && normalization != EntropyNormalization::kMaxEntropy,
           OptionName("normalization"), "applies to --view-preset layer-by-layer only; omit it");
}

double lidar(const ConstMatrixRef& rows, std::int64_t num_texts, const ViewOptions& options) {
  const std::int64_t num_views = check_views(rows, num_texts);
  MatrixD within = rows.cast<double>();
  MatrixD means(num_texts, rows.cols());
  for (std::int64_t text = 0; text < num_texts; ++text) {
    auto views = within.middleRows(text * num_views, num_views);
    means.row(text) = views.colwise().mean();
    views.rowwise() -= means.row(text);
  }
  const std::int64_t lost = is_paper(options) ? 1 : 0;  // degrees of freedom of a mean
  MatrixD scatter = gram_of(within.transpose());
  scatter /= static_cast<double>(num_texts * (num_views - lost));
  scatter.diagonal().array() += options.delta;
  const Eigen::LLT<MatrixD> cholesky(scatter);
  throw_if<NumericalError>(cholesky.info() != Eigen::Success,
                           "lidar: the within-class scatter is not positive definite");
  // L^-1 (mu_c - mu) / sqrt(n - 1): the Gram matrix of these has the required eigenvalues.
  means.rowwise() -= means.colwise().mean().eval();
  means /= std::sqrt(static_cast<double>(num_texts - lost));
  MatrixD between = means.transpose();
  cholesky.matrixL().solveInPlace(between);
  const MatrixD discriminant =
      num_texts > rows.cols() ? gram_of(between) : gram_of(between.transpose());
  throw_if(!(discriminant.trace() > 0.0), "lidar: all texts have the same mean");
  if (!is_paper(options)) return entropy_of(discriminant, num_texts, rows.cols(), options);
  constexpr double kEpsilon = 1e-8;
  VectorD shifted = VectorD::Constant(rows.cols(), kEpsilon);
  shifted.head(discriminant.rows()) += eigenvalues_of(discriminant).cwiseMax(0.0);
  return std::exp(von_neumann_entropy(shifted));
}

std::vector<double> infonce(const ConstMatrixRef& rows, std::int64_t num_texts,
                            const ViewOptions& options, ThreadPool& pool) {
  MatrixD z(2 * num_texts, rows.cols());
  z << rows_of_view(rows, num_texts, 0, options), rows_of_view(rows, num_texts, 1, options);
  VectorD losses(2 * num_texts);
  constexpr std::int64_t kBlock = 64;
  for_blocks(2 * num_texts, kBlock, pool, [&](std::int64_t first, std::int64_t last) {
    MatrixD s = z.middleRows(first, last - first) * z.transpose() / options.temperature;
    for (std::int64_t i = first; i < last; ++i) {
      auto of_row = s.row(i - first);
      const double positive = of_row[(i + num_texts) % (2 * num_texts)];
      of_row[i] = -std::numeric_limits<double>::infinity();
      const double most = of_row.maxCoeff();
      losses[i] = most + std::log((of_row.array() - most).exp().sum()) - positive;
    }
  });
  const VectorD of_texts = 0.5 * (losses.head(num_texts) + losses.tail(num_texts));
  return {of_texts.begin(), of_texts.end()};
}

std::vector<double> dime(const ConstMatrixRef& rows, std::int64_t num_texts,
                         const ViewOptions& options,
                         std::span<const std::vector<std::int64_t>> permutations, ThreadPool& pool,
                         const std::stop_token& stop) {
  const bool of_dimensions = !is_paper(options) && num_texts > rows.cols();
  const auto gram_of_view = [&](std::int64_t view) {
    const MatrixD z = rows_of_view(rows, num_texts, view, options);
    return of_dimensions ? gram_of(z.transpose()) : gram_of(z);
  };
  const MatrixD a = gram_of_view(0);
  const MatrixD b = gram_of_view(1);
  VectorD entropies(1 + std::ssize(permutations));
  const auto measure = [&](std::int64_t i) {
    MatrixD product = b;
    if (i > 0) product = b(permutations[i - 1], permutations[i - 1]);
    entropies[i] = entropy_of(product.cwiseProduct(a), num_texts, rows.cols(), options);
  };
  pool.parallel_for(entropies.size(), measure, stop);
  const VectorD differences = entropies.tail(entropies.size() - 1).array() - entropies[0];
  return {differences.begin(), differences.end()};
}

ViewMeasures measure_views(const ConstMatrixRef& rows, std::int64_t num_texts,
                           const ViewOptions& options, std::uint64_t seed, ThreadPool& pool,
                           const std::stop_token& stop) {
  const std::int64_t size = is_paper(options) ? num_texts : std::min(num_texts, rows.cols());
  std::vector<std::vector<std::int64_t>> permutations;
  Random random = Random(seed).fork(kPermutationStream);
  for (std::int64_t p = 0; p < options.permutations; ++p) {
    std::vector<std::int64_t>& permutation = permutations.emplace_back(size);
    std::iota(permutation.begin(), permutation.end(), 0);
    random.shuffle(std::span(permutation));
  }
  return {.lidar = lidar(rows, num_texts, options),
          .infonce = infonce(rows, num_texts, options, pool),
          .dime = dime(rows, num_texts, options, permutations, pool, stop)};
}

}  // namespace lime
