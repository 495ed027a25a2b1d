// SPDX-License-Identifier: Apache-2.0
#include "linalg/packed_product.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/matrix.h"
#include "metrics/random_matrix.h"

namespace lime::linalg {
namespace {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename T> class PackedProductTest : public ::testing::Test {
 protected:
  static Matrix<T> random(std::int64_t rows, std::int64_t depth, std::uint64_t seed) {
    return lime::testing::random_matrix(rows, depth, seed).template cast<T>();
  }

  /// Packs the rows of a matrix, or the columns if it is stored transposed.
  static Panels<T> packed(const Matrix<T>& matrix, std::int64_t slab_depth,
                          bool transposed = false) {
    Panels<T> panels;
    panels.resize(matrix.rows(), matrix.cols(), slab_depth);
    const Matrix<T> stored = transposed ? Matrix<T>(matrix.transpose()) : matrix;
    const std::int64_t row_step = transposed ? 1 : matrix.cols();
    const std::int64_t column_step = transposed ? matrix.rows() : 1;
    for (std::int64_t slab = 0; slab < panels.num_slabs(); ++slab) {
      for (std::int64_t i = 0; i < panels.num_panels(); ++i) {
        const std::int64_t row = i * kPanelRows<T>;
        pack_panel(panels.panel(slab, i), std::min(kPanelRows<T>, matrix.rows() - row),
                   panels.depth_of(slab),
                   stored.data() + row * row_step + panels.first_of(slab) * column_step, row_step,
                   column_step);
      }
    }
    return panels;
  }

  /// Computes C (+)= A B^T with C stored column by column, whose columns are `gap` longer.
  static Matrix<T> product(const Panels<T>& a, const Panels<T>& b, const Matrix<T>& before,
                           Accumulate accumulate, Triangle triangle = Triangle::kBoth) {
    constexpr std::int64_t kGap = 3;
    Matrix<T> c = Matrix<T>::Constant(b.rows(), a.rows() + kGap, kUntouched);
    c.leftCols(a.rows()) = before.transpose();
    for (std::int64_t slab = 0; slab < a.num_slabs(); ++slab) {
      multiply_slabs(a.slab(slab), {0, a.num_panels()}, b.slab(slab), {0, b.num_panels()},
                     slab > 0 ? Accumulate::kYes : accumulate, triangle,
                     [&](std::int64_t i, std::int64_t j) {
                       const std::int64_t row = i * kPanelRows<T>;
                       const std::int64_t column = j * kPanelRows<T>;
                       return ProductBlock<T>{&c(column, row), a.rows() + kGap,
                                              std::min(kPanelRows<T>, a.rows() - row),
                                              std::min(kPanelRows<T>, b.rows() - column)};
                     });
    }
    EXPECT_TRUE((c.rightCols(kGap).array() == kUntouched).all());
    return c.leftCols(a.rows()).transpose();
  }

  static constexpr T kUntouched = T{-77};
  /// Sums of up to 300 products, in another order.
  static constexpr T kTolerance = std::numeric_limits<T>::epsilon() * T{20};
};

using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PackedProductTest, Scalars);

struct Shape {
  std::int64_t rows, columns, depth, slab_depth;
};

/// Around the sizes of registers, tiles, panels, blocks of panels and slabs.
constexpr Shape kShapes[] = {{1, 1, 1, 0},       {8, 4, 5, 0},      {48, 48, 128, 0},
                             {47, 50, 129, 128}, {100, 7, 300, 96}, {9, 130, 33, 16},
                             {24, 25, 64, 64},   {49, 1300, 20, 7}};

TYPED_TEST(PackedProductTest, IsTheNaiveProductForEveryShape) {
  using T = TypeParam;
  for (const auto& [rows, columns, depth, slab_depth] : kShapes) {
    const Matrix<T> a = this->random(rows, depth, 1);
    const Matrix<T> b = this->random(columns, depth, 2);
    const Matrix<T> before = this->random(rows, columns, 3);
    const Matrix<T> naive = a.lazyProduct(b.transpose());
    const T bound = this->kTolerance * a.norm() * b.norm();
    for (const bool transposed : {false, true}) {
      const Panels<T> packed_a = this->packed(a, slab_depth, transposed);
      const Panels<T> packed_b = this->packed(b, slab_depth, transposed);
      const Matrix<T> found = this->product(packed_a, packed_b, before, Accumulate::kNo);
      EXPECT_LE((found - naive).norm(), bound) << rows << " x " << columns << " x " << depth;
      const Matrix<T> sum = this->product(packed_a, packed_b, before, Accumulate::kYes);
      EXPECT_LE((sum - before - naive).norm(), bound + this->kTolerance * before.norm());
    }
  }
}

TYPED_TEST(PackedProductTest, ComputesTheLowerTriangleOnly) {
  using T = TypeParam;
  for (const std::int64_t rows : {5, 48, 70, 200}) {
    const Matrix<T> a = this->random(rows, 60, 4);
    const Panels<T> packed = this->packed(a, 0);
    const Matrix<T> before = Matrix<T>::Constant(rows, rows, this->kUntouched);
    const Matrix<T> all = this->product(packed, packed, before, Accumulate::kNo);
    const Matrix<T> lower =
        this->product(packed, packed, before, Accumulate::kNo, Triangle::kLower);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < rows; ++c) {
        const bool is_above = c / kPanelRows<T> > r / kPanelRows<T>;
        if (c <= r) {
          EXPECT_EQ(lower(r, c), all(r, c)) << r << ", " << c;
        }
        if (is_above) {
          EXPECT_EQ(lower(r, c), this->kUntouched) << r << ", " << c;
        }
      }
    }
  }
}

/// An element is one sum in the order of the depth: where it is in a tile and a block, and how many
/// others there are, changes no bit. Hence results do not depend on the division among threads.
TYPED_TEST(PackedProductTest, GivesTheSameBitsInAnyPlace) {
  using T = TypeParam;
  const Matrix<T> a = this->random(130, 200, 5);
  const Matrix<T> b = this->random(110, 200, 6);
  const Matrix<T> zero = Matrix<T>::Zero(130, 110);
  const Matrix<T> all =
      this->product(this->packed(a, 64), this->packed(b, 64), zero, Accumulate::kNo);
  for (const std::int64_t row : {0, 1, 47, 129}) {
    for (const std::int64_t column : {0, 5, 60, 109}) {
      const Matrix<T> one =
          this->product(this->packed(a.row(row), 64), this->packed(b.row(column), 64),
                        Matrix<T>::Zero(1, 1), Accumulate::kNo);
      EXPECT_EQ(one(0, 0), all(row, column)) << row << ", " << column;
    }
  }
}

TYPED_TEST(PackedProductTest, PacksEmptyRowsAsZeros) {
  using T = TypeParam;
  const Panels<T> packed = this->packed(this->random(kPanelRows<T> + 2, 9, 7), 4);
  for (std::int64_t slab = 0; slab < packed.num_slabs(); ++slab) {
    for (std::int64_t p = 0; p < packed.depth_of(slab); ++p) {
      for (std::int64_t r = 2; r < kPanelRows<T>; ++r) {
        EXPECT_EQ(packed.panel(slab, 1)[p * kPanelRows<T> + r], T{0});
      }
    }
  }
}

}  // namespace
}  // namespace lime::linalg
