// SPDX-License-Identifier: Apache-2.0
#include <faiss/IndexFlat.h>
#include <fmt/core.h>

#include <Eigen/Core>
#include <memory>
#include <utility>

#include "bench/kernels/blas.h"
#include "bench/kernels/comparison.h"
#include "core/random.h"
#include "core/threads/thread_pool.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"
#include "metrics/neighbors/exact_search.h"
#include "metrics/probes/panel_matrix.h"

namespace lime {
namespace {

MatrixF random_matrix(std::int64_t rows, std::int64_t cols) {
  Random random(1);
  MatrixF matrix(rows, cols);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    matrix.data()[i] = static_cast<float>(random.normal());
  }
  return matrix;
}

/// Eigenvalues of Gram matrices of random rows, by our solver and by LAPACK.
struct Eigenvalues {
  explicit Eigenvalues(std::int64_t size, int num_matrices) : count(num_matrices) {
    const MatrixF rows = random_matrix(size, size + 64);
    linalg::GramBuilder builder;
    builder.smaller_gram(linalg::affine_rows(rows), gram);
    const MatrixD wide = rows.cast<double>();
    dense = wide * wide.transpose();
    work.resize(static_cast<std::size_t>(5 * size * 64 + 4 * size * size));
    int_work.resize(static_cast<std::size_t>(10 * size));
    values.resize(size);
    tridiagonals.resize(static_cast<std::size_t>(count));
  }

  void ours() {
    std::vector<linalg::Tridiagonal*> all;
    for (linalg::Tridiagonal& tridiagonal : tridiagonals) {
      packed.resize(gram.size());
      packed.values() = gram.values();
      solver.reduce(packed, tridiagonal);
      all.push_back(&tridiagonal);
    }
    tridiagonal_solver.compute(all);
  }

  template <typename Routine> void lapack(const Routine& routine) {
    const auto size = static_cast<int>(dense.rows());
    const auto work_size = static_cast<int>(work.size());
    const auto int_work_size = static_cast<int>(int_work.size());
    int info = 0;
    for (int i = 0; i < count; ++i) {
      overwritten = dense;
      routine("N", "L", &size, overwritten.data(), &size, values.data(), work.data(), &work_size,
              int_work.data(), &int_work_size, &info);
    }
  }

  /// Reduces with dsytrd instead of our first two stages; the last one is ours.
  void dsytrd() {
    const auto size = static_cast<int>(dense.rows());
    const auto work_size = static_cast<int>(work.size());
    std::vector<linalg::Tridiagonal*> all;
    for (linalg::Tridiagonal& tridiagonal : tridiagonals) {
      overwritten = dense;
      tridiagonal.exponent = 0;
      tridiagonal.diagonal.resize(static_cast<std::size_t>(size));
      tridiagonal.subdiagonal.resize(static_cast<std::size_t>(size));
      int info = 0;
      dsytrd_("L", &size, overwritten.data(), &size, tridiagonal.diagonal.data(),
              tridiagonal.subdiagonal.data(), values.data(), work.data(), &work_size, &info);
      all.push_back(&tridiagonal);
    }
    tridiagonal_solver.compute(all);
  }

  int count;
  linalg::SymmetricPanels gram, packed;
  MatrixD dense, overwritten;
  std::vector<double> work;
  std::vector<int> int_work;
  VectorD values;
  linalg::SymmetricEigenvalues solver;
  std::vector<linalg::Tridiagonal> tridiagonals;
  linalg::TridiagonalEigenvalues tridiagonal_solver;
};

Comparison compare_eigenvalues(std::int64_t size, int count) {
  const auto job = std::make_shared<Eigenvalues>(size, count);
  return {"eigenvalues, float64",
          count == 1 ? fmt::format("{}", size) : fmt::format("{} x {}", count, size),
          {"", [job] { job->ours(); }},
          {{"dsyevd", [job] { job->lapack(dsyevd_); }},
           {"dsyevd_2stage", [job] { job->lapack(dsyevd_2stage_); }},
           {"dsytrd, then our last stage", [job] { job->dsytrd(); }}}};
}

/// Standardised float32 rows to the smaller Gram matrix in float64. The library routine needs a
/// copy of the standardised rows.
Comparison compare_grams(std::int64_t tokens, std::int64_t dim) {
  struct Job {
    MatrixF rows;
    VectorD shift, scale;
    linalg::GramBuilder builder;
    linalg::SymmetricPanels gram;
    MatrixD wide, dense;
  };
  const auto job = std::make_shared<Job>();
  job->rows = random_matrix(tokens, dim);
  job->shift = VectorD::Constant(dim, 0.1);
  job->scale = VectorD::Constant(dim, 0.9);
  const std::int64_t size = std::min(tokens, dim);
  job->dense.resize(size, size);
  const auto ours = [job] {
    linalg::AffineRows<float> rows = linalg::affine_rows(job->rows);
    rows.shift = job->shift.data();
    rows.column_scale = job->scale.data();
    job->builder.smaller_gram(rows, job->gram);
  };
  const auto library = [job, tokens = static_cast<int>(tokens), dim = static_cast<int>(dim)] {
    job->wide = (job->rows.cast<double>().rowwise() - job->shift.transpose()).array().rowwise() *
                job->scale.transpose().array();
    const double one = 1.0;
    const double zero = 0.0;
    // The row-major rows are the columns of Fortran's matrix.
    if (tokens <= dim) {
      dsyrk_("L", "T", &tokens, &dim, &one, job->wide.data(), &dim, &zero, job->dense.data(),
             &tokens);
    } else {
      dsyrk_("L", "N", &dim, &tokens, &one, job->wide.data(), &dim, &zero, job->dense.data(), &dim);
    }
  };
  return {"Gram matrix, float64",
          fmt::format("{} x {}", tokens, dim),
          {"", ours},
          {{"dsyrk", library}}};
}

/// Products of a probe: rows times the columns of the weights, and their transpose times those of
/// the residuals.
struct ProbeProducts {
  ProbeProducts(std::int64_t num_rows, std::int64_t dim, std::int64_t num_columns)
      : rows(random_matrix(num_rows, dim)) {
    packed.pack(rows, {}, pool);
    by_feature.resize(num_columns, packed.padded_cols());
    by_row.resize(num_columns, packed.padded_rows());
    for (std::int64_t c = 0; c < num_columns; ++c) {
      by_feature.array(c).head(dim).setConstant(0.5F);
      by_row.array(c).head(num_rows).setConstant(0.5F);
    }
    dense_by_feature = random_matrix(num_columns, dim);
    dense_by_row = random_matrix(num_columns, num_rows);
    gram.resize(dim, dim);
  }

  ThreadPool pool{1};
  MatrixF rows, dense_by_feature, dense_by_row, dense_out, gram;
  probes::PanelMatrix packed;
  probes::Columns<float> by_feature, by_row;
  probes::Columns<double> out;
};

std::vector<Comparison> compare_probe_products(std::int64_t num_rows, std::int64_t dim,
                                               std::int64_t num_columns) {
  const auto job = std::make_shared<ProbeProducts>(num_rows, dim, num_columns);
  const auto rows = static_cast<int>(num_rows);
  const auto features = static_cast<int>(dim);
  const auto columns = static_cast<int>(num_columns);
  const auto sgemm = [=] {
    job->dense_out.resize(columns, rows);
    blas::multiply(false, true, columns, rows, features, job->dense_by_feature.data(), features,
                   job->rows.data(), features, job->dense_out.data(), rows);
  };
  const auto transposed_sgemm = [=] {
    job->dense_out.resize(columns, features);
    blas::multiply(false, false, columns, features, rows, job->dense_by_row.data(), rows,
                   job->rows.data(), features, job->dense_out.data(), features);
  };
  const auto ssyrk = [=] {
    const float one = 1.0F;
    const float zero = 0.0F;
    ssyrk_("L", "N", &features, &rows, &one, job->rows.data(), &features, &zero, job->gram.data(),
           &features);
  };
  return {{"scores of a probe",
           fmt::format("{} x {}, {} columns", num_rows, dim, num_columns),
           {"", [job] { job->packed.multiply(job->by_feature, job->out, job->pool); }},
           {{"sgemm", sgemm}}},
          {"gradient of a probe",
           fmt::format("{} x {}, {} columns", num_rows, dim, num_columns),
           {"", [job] { job->packed.multiply_transposed(job->by_row, job->out, job->pool); }},
           {{"sgemm", transposed_sgemm}}},
          {"Gram matrix of a probe, float32",
           fmt::format("{} x {}", num_rows, dim),
           {"", [job] { job->packed.gram(job->gram, job->pool); }},
           {{"ssyrk", ssyrk}}}};
}

Comparison compare_neighbors(std::int64_t num_points, std::int64_t dim, std::int64_t wanted) {
  struct Job {
    MatrixF points;
    ThreadPool pool{1};
    std::unique_ptr<neighbors::PackedPoints> packed;
    std::unique_ptr<faiss::IndexFlatL2> index;
    std::vector<std::int64_t> self, labels;
    std::vector<float> distances;
  };
  const auto job = std::make_shared<Job>();
  job->points = random_matrix(num_points, dim);
  job->packed = std::make_unique<neighbors::PackedPoints>(
      job->points, neighbors::centering_of(job->points, job->pool), job->pool);
  job->index = std::make_unique<faiss::IndexFlatL2>(dim);
  job->index->add(num_points, job->points.data());
  for (std::int64_t i = 0; i < num_points; ++i) job->self.push_back(i);
  job->labels.resize(static_cast<std::size_t>(num_points * (wanted + 1)));
  job->distances.resize(job->labels.size());
  const auto ours = [=] {
    neighbors::exact_search(*job->packed, *job->packed,
                            {.num_neighbors = wanted, .self = job->self}, job->pool, {});
  };
  const auto library = [=] {
    job->index->search(num_points, job->points.data(), wanted + 1, job->distances.data(),
                       job->labels.data());
  };
  return {"nearest neighbours",
          fmt::format("{} x {}, {} each", num_points, dim, wanted),
          {"", ours},
          {{"FAISS IndexFlatL2", library}}};
}

}  // namespace

std::vector<Comparison> compare_metric_kernels() {
  std::vector<Comparison> all;
  for (const std::int64_t size : {128, 512, 1024, 2048}) {
    all.push_back(compare_eigenvalues(size, 1));
  }
  for (const std::int64_t size : {128, 512, 1024, 2048})
    all.push_back(compare_eigenvalues(size, 8));
  for (const auto& [tokens, dim] : {std::pair{512, 576}, {128, 2048}, {2048, 512}, {2048, 2048}}) {
    all.push_back(compare_grams(tokens, dim));
  }
  for (Comparison& comparison : compare_probe_products(6672, 2048, 4)) {
    all.push_back(std::move(comparison));
  }
  for (Comparison& comparison : compare_probe_products(12288, 576, 20)) {
    all.push_back(std::move(comparison));
  }
  all.push_back(compare_neighbors(6672, 2048, 90));
  all.push_back(compare_neighbors(12288, 576, 90));
  return all;
}

}  // namespace lime
