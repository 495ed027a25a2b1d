// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/preconditioner.h"

#include <Eigen/Cholesky>

#include "core/errors.h"
#include "metrics/rows.h"

namespace lime::probes {
namespace {

constexpr Eigen::Index kBlock = 128;

/// Copies the columns of block `k` of the full matrix, of which the lower triangle is stored.
template <typename Matrix>
void gather_columns(const Matrix& matrix, Eigen::Index start, Eigen::Index width, Matrix& columns) {
  const Eigen::Index below = start + width;
  columns.topRows(start) = matrix.block(start, 0, width, start).transpose();
  columns.middleRows(start, width) =
      matrix.block(start, start, width, width).template selfadjointView<Eigen::Lower>();
  columns.bottomRows(matrix.rows() - below) =
      matrix.block(below, start, matrix.rows() - below, width);
}

constexpr Eigen::Index kRowBlock = 64;

/// Applies P^-1 in float32, with P first scaled to a unit diagonal.
class DensePreconditioner final : public Preconditioner {
 public:
  DensePreconditioner(const MatrixF& gram, double strength, ThreadPool& pool)
      : unit_((strength * gram.diagonal().cast<double>().array() + 1.0).rsqrt()) {
    MatrixF inverse(gram.rows(), gram.cols());
    // Rounding can make the smallest eigenvalues negative; a ridge slightly above it prevents that.
    double ridge = 1e-6;
    do {
      throw_if<NumericalError>(
          ridge > 1.0, "probe: the inner products of the features are too large for float32");
      for_blocks(gram.rows(), kRowBlock, pool, [&](Eigen::Index first, Eigen::Index last) {
        for (Eigen::Index i = first; i < last; ++i) {
          inverse.row(i).head(i) = (gram.row(i).head(i).cast<double>().transpose().array() *
                                    unit_.head(i).array() * (strength * unit_[i]))
                                       .cast<float>()
                                       .transpose();
          inverse(i, i) = static_cast<float>(1.0 + ridge);
        }
      });
      ridge *= 10.0;
    } while (!invert_positive_definite(inverse, pool));
    inverse_.pack(inverse, {}, pool);
  }

  void apply(const Columns<double>& in, Columns<double>& out, ThreadPool& pool) override {
    scaled_.resize(in.count(), inverse_.padded_cols());
    for (std::int64_t k = 0; k < in.count(); ++k) {
      scaled_.array(k).head(unit_.size()) =
          (in.array(k).head(unit_.size()) * unit_.array()).cast<float>();
    }
    inverse_.multiply(scaled_, product_, pool);
    out.resize(in.count(), in.length());
    for (std::int64_t k = 0; k < in.count(); ++k) {
      out.array(k).head(unit_.size()) = product_.array(k).head(unit_.size()) * unit_.array();
    }
  }

 private:
  VectorD unit_;
  PanelMatrix inverse_;
  Columns<float> scaled_;
  Columns<double> product_;
};

/// Applies P^-1 = I - Z^T (I / strength + Z Z^T)^-1 Z, in float64.
class RowSpacePreconditioner final : public Preconditioner {
 public:
  RowSpacePreconditioner(const PanelMatrix& panel, const VectorD& mean,
                         const VectorD& inverse_scale, const MatrixD& row_gram, double strength,
                         ThreadPool& pool)
      : panel_(panel), mean_(mean), inverse_scale_(inverse_scale), core_(row_gram) {
    core_.diagonal().array() += 1.0 / strength;
    throw_if<NumericalError>(!invert_positive_definite(core_, pool),
                             "probe: the inner products of the rows are too large for float64");
  }

  void apply(const Columns<double>& in, Columns<double>& out, ThreadPool& pool) override {
    const Eigen::Index dim = panel_.cols();
    const Eigen::Index rows = panel_.rows();
    scaled_.resize(in.count(), panel_.padded_cols());
    for (std::int64_t k = 0; k < in.count(); ++k) {
      scaled_.array(k).head(dim) = in.array(k).head(dim) * inverse_scale_.array();
    }
    panel_.multiply(scaled_, products_, pool);
    solved_.resize(in.count(), panel_.padded_rows());
    for (std::int64_t k = 0; k < in.count(); ++k) {
      products_.array(k).head(rows) -= (scaled_.array(k).head(dim) * mean_.array()).sum();
    }
    for_blocks(rows, kRowBlock, pool, [&](Eigen::Index first, Eigen::Index last) {
      for (std::int64_t k = 0; k < in.count(); ++k) {
        solved_.array(k).segment(first, last - first) =
            (core_.middleRows(first, last - first) * products_.array(k).head(rows).matrix())
                .array();
      }
    });
    panel_.multiply_transposed(solved_, back_, pool);
    out.resize(in.count(), in.length());
    for (std::int64_t k = 0; k < in.count(); ++k) {
      const double sum = solved_.array(k).head(rows).sum();
      out.array(k).head(dim) =
          in.array(k).head(dim) -
          (back_.array(k).head(dim) - sum * mean_.array()) * inverse_scale_.array();
    }
  }

 private:
  const PanelMatrix& panel_;
  VectorD mean_;
  VectorD inverse_scale_;
  MatrixD core_;
  Columns<double> scaled_, products_, solved_, back_;
};

VectorD column_sums(const PanelMatrix& panel, ThreadPool& pool) {
  Columns<double> ones, sums;
  ones.resize(1, panel.padded_rows());
  ones.array(0).head(panel.rows()).setOnes();
  panel.multiply_transposed(ones, sums, pool);
  return sums.array(0).head(panel.cols()).matrix();
}

}  // namespace

template <typename Matrix> bool invert_positive_definite(Matrix& matrix, ThreadPool& pool) {
  const Eigen::Index size = matrix.rows();
  const Eigen::Index blocks = (size + kBlock - 1) / kBlock;
  for (Eigen::Index k = 0; k < blocks; ++k) {
    const Eigen::Index start = k * kBlock;
    const Eigen::Index width = std::min(kBlock, size - start);
    Matrix columns(size, width);
    gather_columns(matrix, start, width, columns);
    const Matrix pivot = columns.middleRows(start, width);
    const Eigen::LLT<Matrix> factor(pivot);
    if (factor.info() != Eigen::Success) return false;
    const Matrix pivot_inverse = factor.solve(Matrix::Identity(width, width));
    Matrix scaled(size, width);
    for_blocks(size, kBlock, pool, [&](Eigen::Index first, Eigen::Index last) {
      scaled.middleRows(first, last - first).noalias() =
          columns.middleRows(first, last - first) * pivot_inverse;
    });
    // Long rows first: they take the most time.
    pool.parallel_for(blocks, [&](std::int64_t item) {
      const Eigen::Index i = blocks - 1 - item;
      if (i == k) return;
      const Eigen::Index row = i * kBlock;
      const Eigen::Index height = std::min(kBlock, size - row);
      const auto subtract = [&](Eigen::Index first, Eigen::Index count) {
        if (count <= 0) return;
        matrix.block(row, first, height, count).noalias() -=
            scaled.middleRows(row, height) * columns.middleRows(first, count).transpose();
      };
      const Eigen::Index end = row + height;
      subtract(0, std::min(end, start));
      subtract(start + width, end - (start + width));
      if (i > k) matrix.block(row, start, height, width) = scaled.middleRows(row, height);
    });
    matrix.block(start, 0, width, start) = scaled.topRows(start).transpose();
    matrix.block(start, start, width, width) = -pivot_inverse;
  }
  for_blocks(size, kBlock, pool, [&](Eigen::Index row, Eigen::Index end) {
    matrix.block(row, 0, end - row, end) *= -1;
  });
  for_blocks(size, kBlock, pool, [&](Eigen::Index row, Eigen::Index end) {
    const Eigen::Index height = end - row;
    const Eigen::Index right = size - row;
    matrix.block(row, row, height, right).template triangularView<Eigen::StrictlyUpper>() =
        matrix.block(row, row, right, height)
            .transpose()
            .template triangularView<Eigen::StrictlyUpper>();
  });
  return true;
}

template bool invert_positive_definite(MatrixF&, ThreadPool&);
template bool invert_positive_definite(MatrixD&, ThreadPool&);

PreconditionerFactory::PreconditionerFactory(const PanelMatrix& panel, VectorD mean, VectorD scale,
                                             ThreadPool& pool)
    : panel_(panel), mean_(std::move(mean)), inverse_scale_(scale.cwiseInverse()) {
  const Eigen::Index rows = panel.rows();
  const Eigen::Index dim = panel.cols();
  if (2 * rows >= dim) {
    // `mean` is that of some rows only: centring at it needs the sums s of all rows,
    // (X - m)^T (X - m) = X^T X - s m^T - m s^T + n m m^T, or the result is not positive.
    const VectorD mean_sum = 0.5 * static_cast<double>(rows) * mean_ - column_sums(panel, pool);
    gram_.resize(dim, dim);
    panel.gram(gram_, pool);
    for_blocks(dim, kRowBlock, pool, [&](Eigen::Index first, Eigen::Index last) {
      for (Eigen::Index i = first; i < last; ++i) {
        auto row = gram_.row(i).head(i + 1);
        row = ((row.cast<double>().transpose().array() + mean_sum[i] * mean_.head(i + 1).array() +
                mean_[i] * mean_sum.head(i + 1).array()) *
               (inverse_scale_[i] * inverse_scale_.head(i + 1).array()))
                  .cast<float>()
                  .transpose();
      }
    });
    gram_.diagonal() = gram_.diagonal().cwiseMax(0.0F);
    return;
  }
  // Column k of Z Z^T is Z times row k of Z; row k of X is X^T e_k.
  row_gram_.resize(rows, rows);
  constexpr Eigen::Index kBatch = 32;
  Columns<double> unit, z, product;
  for (Eigen::Index first = 0; first < rows; first += kBatch) {
    const Eigen::Index count = std::min(kBatch, rows - first);
    unit.resize(count, panel.padded_rows());
    for (Eigen::Index k = 0; k < count; ++k) unit.column(k)[first + k] = 1.0;
    panel.multiply_transposed(unit, z, pool);
    VectorD offset(count);
    for (Eigen::Index k = 0; k < count; ++k) {
      auto row = z.array(k).head(dim);
      row = (row - mean_.array()) * inverse_scale_.array().square();
      offset[k] = (row * mean_.array()).sum();
    }
    panel.multiply(z, product, pool);
    for (Eigen::Index k = 0; k < count; ++k) {
      row_gram_.row(first + k) = (product.array(k).head(rows) - offset[k]).matrix().transpose();
    }
  }
}

std::unique_ptr<Preconditioner> PreconditionerFactory::make(double strength,
                                                            ThreadPool& pool) const {
  if (gram_.size() > 0) return std::make_unique<DensePreconditioner>(gram_, strength, pool);
  return std::make_unique<RowSpacePreconditioner>(panel_, mean_, inverse_scale_, row_gram_,
                                                  strength, pool);
}

}  // namespace lime::probes
