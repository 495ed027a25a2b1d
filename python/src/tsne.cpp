// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/tsne.h"

#include <optional>
#include <string>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "metrics/tsne/trustworthiness.h"

namespace lime::python {
namespace {

std::optional<MatrixD> start_of(const std::optional<RowsD>& start) {
  if (!start) return std::nullopt;
  check_layout(*start);
  return MatrixD(Eigen::Map<const MatrixD, 0, Eigen::OuterStride<>>(
      start->data(), static_cast<Eigen::Index>(start->shape(0)),
      static_cast<Eigen::Index>(start->shape(1)), Eigen::OuterStride<>(start->stride(0))));
}

nb::dict embed(const RowsF& rows, const OptionTexts& texts, std::uint64_t seed,
               const std::optional<RowsD>& start, int threads) {
  TsneOptions options;
  set_options(options, texts);
  options.seed = seed;
  options.neighbors.seed = seed;
  const ConstMatrixRef points = matrix_ref(rows);
  options.validate(points.rows());
  const std::optional<MatrixD> initial = start_of(start);
  TsneResult found = run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token& stop) {
    return tsne(points, options, pool, initial, {}, stop);
  });
  nb::dict result;
  result["kl_divergence"] = found.kl_divergence;
  result["grad_norm"] = found.grad_norm;
  result["iterations"] = found.iterations;
  result["end"] = std::string(enum_name(found.end));
  result["recall"] = found.recall;
  result["embedding"] = matrix_to_numpy(std::move(found.embedding));
  return result;
}

double trustworthiness_of(const RowsF& rows, const RowsD& embedding, std::int64_t num_neighbors,
                          std::int64_t max_queries, std::uint64_t seed, int threads) {
  const ConstMatrixRef points = matrix_ref(rows);
  const MatrixD places = *start_of(embedding);
  return run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token& stop) {
    return trustworthiness(
        points, places, {.num_neighbors = num_neighbors, .max_queries = max_queries, .seed = seed},
        pool, stop);
  });
}

}  // namespace

void bind_tsne(nb::module_& module) {
  module.def("tsne", embed, nb::arg("rows"), nb::arg("options"), nb::arg("seed"),
             nb::arg("start").none(), nb::arg("threads"));
  module.def("trustworthiness", trustworthiness_of);
}

}  // namespace lime::python
