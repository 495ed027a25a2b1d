// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "core/running_statistics.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/entropy/token_contributions.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime::python {
namespace {

EntropyOptions entropy_options(const OptionTexts& texts) {
  EntropyOptions options;
  set_options(options, texts);
  options.validate();
  return options;
}

std::optional<Standardization> standardization_of(const EntropyOptions& options,
                                                  const RunningStatistics* statistics) {
  if (!needs_standardization(options.preset) || statistics == nullptr) return std::nullopt;
  return make_standardization(*statistics);
}

linalg::AffineRows<double> affine_rows(const RowsD& rows) {
  check_layout(rows);
  return {.x = rows.data(),
          .num_rows = static_cast<std::int64_t>(rows.shape(0)),
          .num_cols = static_cast<std::int64_t>(rows.shape(1)),
          .row_stride = rows.stride(0)};
}

/// Computes the entropies of sequences in double, a type that captures do not have.
SequenceEntropies entropies_in_double(const std::vector<RowsD>& sequences,
                                      const std::optional<Standardization>& standardization,
                                      const EntropyOptions& options, ThreadPool& pool,
                                      const std::stop_token& stop) {
  const auto count = static_cast<std::int64_t>(sequences.size());
  const auto num_orders = static_cast<Eigen::Index>(options.orders().size());
  const Eigen::Index bounds = options.top_k ? count : 0;
  SequenceEntropies all{.alpha = options.orders(), .values = MatrixD(count, num_orders)};
  all.lower.resize(bounds, num_orders);
  all.upper.resize(bounds, num_orders);
  all.left_out.resize(static_cast<std::size_t>(bounds));
  for (const RowsD& rows : sequences) {
    all.num_tokens.push_back(static_cast<std::int64_t>(rows.shape(0)));
    all.dim = static_cast<std::int64_t>(rows.shape(1));
  }
  pool.parallel_for(
      count,
      [&](std::int64_t i) {
        EntropyCalculator calculator(options, standardization);
        const auto at = static_cast<std::size_t>(i);
        const SequenceEntropy one = calculator.compute(affine_rows(sequences[at]));
        for (Eigen::Index order = 0; order < num_orders; ++order) {
          const auto k = static_cast<std::size_t>(order);
          all.values(i, order) = one.values[k];
          if (bounds == 0) continue;
          all.lower(i, order) = one.lower[k];
          all.upper(i, order) = one.upper[k];
          all.left_out[at] = one.left_out;
        }
      },
      stop);
  return all;
}

nb::dict to_dict(SequenceEntropies all, const EntropyOptions& options) {
  std::vector<double> ceilings;
  for (const std::int64_t tokens : all.num_tokens) {
    ceilings.push_back(entropy_ceiling(tokens, all.dim, options));
  }
  nb::dict result;
  result["alpha"] = to_numpy(std::move(all.alpha));
  result["num_tokens"] = to_numpy(std::move(all.num_tokens));
  result["ceiling"] = to_numpy(std::move(ceilings));
  result["unit"] = std::string(entropy_unit(options));
  result["values"] = matrix_to_numpy(std::move(all.values));
  if (options.top_k) {
    result["lower"] = matrix_to_numpy(std::move(all.lower));
    result["upper"] = matrix_to_numpy(std::move(all.upper));
    result["left_out"] = to_numpy(std::move(all.left_out));
  }
  return result;
}

/// Values of a call that takes less than a millisecond.
constexpr std::int64_t kFewValues = 4096;

nb::dict entropies(const std::vector<RowsF>& sequences, const RunningStatistics* statistics,
                   const OptionTexts& texts, int threads) {
  const EntropyOptions options = entropy_options(texts);
  const std::vector<ConstMatrixRef> rows = matrix_refs(sequences);
  const auto compute = [&](ThreadPool& pool, const std::stop_token& stop) {
    const SequenceSource source{std::ssize(rows), [&](std::int64_t index, MatrixF& matrix) {
                                  matrix = rows[static_cast<std::size_t>(index)];
                                }};
    return sequence_entropies(source, standardization_of(options, statistics), options, pool, {},
                              stop);
  };
  std::int64_t values = 0;
  for (const ConstMatrixRef& one : rows) values += one.size();
  return to_dict(values <= kFewValues ? run_at_once(compute) : run_with_threads(threads, compute),
                 options);
}

nb::dict double_entropies(const std::vector<RowsD>& sequences, const RunningStatistics* statistics,
                          const OptionTexts& texts, int threads) {
  const EntropyOptions options = entropy_options(texts);
  return to_dict(run_with_threads(threads,
                                  [&](ThreadPool& pool, const std::stop_token& stop) {
                                    return entropies_in_double(
                                        sequences, standardization_of(options, statistics), options,
                                        pool, stop);
                                  }),
                 options);
}

template <typename Scalar>
std::vector<double> gram_eigenvalues(const linalg::AffineRows<Scalar>& rows) {
  linalg::SymmetricPanels gram;
  linalg::GramBuilder().smaller_gram(rows, gram);
  linalg::SymmetricEigenvalues solver;
  const std::span<const double> ascending = solver.compute(gram);
  return {ascending.rbegin(), ascending.rend()};
}

nb::object spectrum(const RowsD& rows) {
  const linalg::AffineRows<double> affine = affine_rows(rows);
  return to_numpy(run_with_threads(1, [&](ThreadPool&, const std::stop_token&) {
    check_finite(affine);
    return gram_eigenvalues(affine);
  }));
}

nb::tuple contributions(const RowsD& rows, double alpha, int threads) {
  check_layout(rows);
  const Eigen::Map<const MatrixD, 0, Eigen::OuterStride<>> matrix(
      rows.data(), static_cast<Eigen::Index>(rows.shape(0)),
      static_cast<Eigen::Index>(rows.shape(1)), Eigen::OuterStride<>(rows.stride(0)));
  TokenContributions result =
      run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token& stop) {
        return token_contributions(matrix, alpha, pool, stop);
      });
  return nb::make_tuple(result.entropy, vector_to_numpy(std::move(result.contributions)));
}

}  // namespace

void bind_entropy(nb::module_& module) {
  module.def("entropies", entropies, nb::arg("sequences"), nb::arg("statistics").none(),
             nb::arg("options"), nb::arg("threads"));
  module.def("double_entropies", double_entropies, nb::arg("sequences"),
             nb::arg("statistics").none(), nb::arg("options"), nb::arg("threads"));
  module.def("needs_statistics", [](const std::string& preset) {
    return needs_standardization(enum_value<EntropyPreset>(preset, "preset"));
  });
  module.def("spectrum", spectrum);
  module.def("entropy_of_spectrum",
             [](const Column<double>& eigenvalues, double trace, double alpha) {
               return entropy_of_spectrum(span_of(eigenvalues), trace, alpha);
             });
  module.def("token_contributions", contributions);
  module.def("standardize", [](const RowsF& rows, const RunningStatistics& statistics) {
    return matrix_to_numpy(standardize(matrix_ref(rows), make_standardization(statistics)));
  });
}

}  // namespace lime::python
