// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/exact_repulsion.h"

#include <algorithm>
#include <vector>

#include "metrics/tsne/float_lanes.h"

namespace lime::tsne_detail {
namespace {

/// Register type of the scalar type, and its reciprocal.
template <typename Scalar>
struct Register;

template <>
struct Register<float> {
  using Simd = SimdF;
  static Simd reciprocal(const Simd& value) { return tsne_detail::reciprocal(value); }
};

template <>
struct Register<double> {
  using Simd = simd::Vector<double>;
  static Simd reciprocal(const Simd& value) { return 1.0 / value; }
};

/// Registers of points that are compared with one other point at a time.
constexpr int kVectors = 4;
/// Number of other points after which float sums are added to double ones.
constexpr std::int64_t kSumBlock = 512;

template <typename Scalar>
class ExactRepulsion : public Repulsion {
 public:
  explicit ExactRepulsion(ThreadPool& pool) : pool_(pool) {}

  double compute(const MatrixD& embedding, MatrixD& force) override {
    const std::int64_t count = embedding.rows();
    const std::int64_t num_groups = (count + kGroup - 1) / kGroup;
    x_.setZero(num_groups * kGroup);
    y_.setZero(num_groups * kGroup);
    x_.head(count) = embedding.col(0).array().template cast<Scalar>();
    y_.head(count) = embedding.col(1).array().template cast<Scalar>();
    force.resize(count, 2);
    sums_.resize(count);
    pool_.parallel_for(num_groups,
                       [&](std::int64_t group) { compute_group(group * kGroup, count, force); });
    // Each point interacts with itself, at q = 1.
    return sums_.sum() - static_cast<double>(count);
  }

 private:
  using Simd = typename Register<Scalar>::Simd;
  static constexpr int kLanes = static_cast<int>(Simd::size());
  static constexpr int kGroup = kVectors * kLanes;

  /// Computes the forces of all points on the points [first, first + kGroup).
  void compute_group(std::int64_t first, std::int64_t count, MatrixD& force) {
    double total[3][kGroup] = {};
    for (std::int64_t j = 0; j < count; j += kSumBlock) {
      add_block(first, j, std::min(count, j + kSumBlock), total);
    }
    const std::int64_t in_group = std::min<std::int64_t>(kGroup, count - first);
    for (std::int64_t i = 0; i < in_group; ++i) {
      force(first + i, 0) = total[0][i];
      force(first + i, 1) = total[1][i];
      sums_[first + i] = total[2][i];
    }
  }

  void add_block(std::int64_t first, std::int64_t begin, std::int64_t end,
                 double (&total)[3][kGroup]) const {
    Simd x[kVectors];
    Simd y[kVectors];
    Simd force_x[kVectors] = {};
    Simd force_y[kVectors] = {};
    Simd sum[kVectors] = {};
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      x[v] = load(x_.data() + first + v * kLanes);
      y[v] = load(y_.data() + first + v * kLanes);
    }
    for (std::int64_t j = begin; j < end; ++j) {
      const Simd other_x(x_[j]);
      const Simd other_y(y_[j]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const Simd dx = x[v] - other_x;
        const Simd dy = y[v] - other_y;
        const Simd q = Register<Scalar>::reciprocal(dy * dy + (dx * dx + Simd(Scalar{1})));
        const Simd squared = q * q;
        sum[v] += q;
        force_x[v] += squared * dx;
        force_y[v] += squared * dy;
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      add_lanes(force_x[v], total[0] + v * kLanes);
      add_lanes(force_y[v], total[1] + v * kLanes);
      add_lanes(sum[v], total[2] + v * kLanes);
    }
  }

  static void add_lanes(const Simd& value, double* to) {
    Scalar lanes[kLanes];
    store(lanes, value);
    for (int lane = 0; lane < kLanes; ++lane) to[lane] += static_cast<double>(lanes[lane]);
  }

  ThreadPool& pool_;
  Eigen::Array<Scalar, Eigen::Dynamic, 1> x_;
  Eigen::Array<Scalar, Eigen::Dynamic, 1> y_;
  Eigen::ArrayXd sums_;
};

}  // namespace

std::unique_ptr<Repulsion> make_exact_repulsion(ThreadPool& pool) {
  return std::make_unique<ExactRepulsion<float>>(pool);
}

std::unique_ptr<Repulsion> make_double_repulsion(ThreadPool& pool) {
  return std::make_unique<ExactRepulsion<double>>(pool);
}

}  // namespace lime::tsne_detail
