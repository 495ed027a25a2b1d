// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/constrained_streams.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <Eigen/Core>
#include <memory>

#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/norm.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/slab_product.h"
#include "model/kernels/source_rows.h"

namespace lime {
namespace {

/// Tokens whose maps are computed together, one per element of a vector register.
constexpr std::int64_t kLanes = 16;
/// Tiles per block of the sums over tokens: fixed, so that results do not depend on the threads.
constexpr std::int64_t kTilesPerSum = 16;

template <typename T> using Lane = Eigen::Array<T, kLanes, 1>;
template <typename T> using Lanes = std::vector<Lane<T>>;
template <typename T> using Logits = Eigen::Matrix<T, Eigen::Dynamic, kLanes, Eigen::RowMajor>;

template <typename T> Lane<T> sigmoid(const Lane<T>& x) { return (T{1} + (-x).exp()).inverse(); }

/// Doubly stochastic matrices of kLanes tokens, from their logits, and the gradient.
template <typename T> class Sinkhorn {
 public:
  Sinkhorn(std::int64_t size, const ConstraintOptions& options)
      : size_(size), eps_(static_cast<T>(options.eps)), steps_(2 * options.iterations - 1) {}

  /// Replaces logits, [size, size], by the matrix. Keeps what the gradient needs.
  void run(Lanes<T>& c) {
    results_.clear();
    divisors_.clear();
    for (std::int64_t j = 0; j < size_; ++j) {
      Lane<T> most = at(c, j, 0);
      for (std::int64_t i = 1; i < size_; ++i) most = most.max(at(c, j, i));
      Lane<T> sum = Lane<T>::Zero();
      for (std::int64_t i = 0; i < size_; ++i) {
        at(c, j, i) = (at(c, j, i) - most).exp();
        sum += at(c, j, i);
      }
      for (std::int64_t i = 0; i < size_; ++i) at(c, j, i) /= sum;
    }
    results_.push_back(c);
    for (Lane<T>& value : c) value += eps_;
    for (std::int64_t step = 0; step < steps_; ++step) {
      for (std::int64_t a = 0; a < size_; ++a) {
        Lane<T> sum = Lane<T>::Constant(eps_);
        for (std::int64_t b = 0; b < size_; ++b) sum += along(c, step, a, b);
        divisors_.push_back(sum);
        const Lane<T> factor = sum.inverse();
        for (std::int64_t b = 0; b < size_; ++b) along(c, step, a, b) *= factor;
      }
      results_.push_back(c);
    }
  }

  /// Replaces the gradient of the matrix of the last run() by that of its logits.
  void backward(Lanes<T>& g) {
    for (std::int64_t step = steps_ - 1; step >= 0; --step) {
      Lanes<T>& result = results_[step + 1];
      for (std::int64_t a = 0; a < size_; ++a) {
        Lane<T> dot = Lane<T>::Zero();
        for (std::int64_t b = 0; b < size_; ++b) {
          dot += along(g, step, a, b) * along(result, step, a, b);
        }
        const Lane<T>& divisor = divisors_[step * size_ + a];
        for (std::int64_t b = 0; b < size_; ++b) {
          along(g, step, a, b) = (along(g, step, a, b) - dot) / divisor;
        }
      }
    }
    Lanes<T>& first = results_.front();
    for (std::int64_t j = 0; j < size_; ++j) {
      Lane<T> dot = Lane<T>::Zero();
      for (std::int64_t i = 0; i < size_; ++i) dot += at(g, j, i) * at(first, j, i);
      for (std::int64_t i = 0; i < size_; ++i) at(g, j, i) = at(first, j, i) * (at(g, j, i) - dot);
    }
  }

 private:
  Lane<T>& at(Lanes<T>& c, std::int64_t row, std::int64_t column) const {
    return c[row * size_ + column];
  }
  /// Returns element b of the a-th sum of a step: of columns in even steps, of rows in odd ones.
  Lane<T>& along(Lanes<T>& c, std::int64_t step, std::int64_t a, std::int64_t b) const {
    return step % 2 == 0 ? at(c, b, a) : at(c, a, b);
  }

  const std::int64_t size_;
  const T eps_;
  const std::int64_t steps_;
  std::vector<Lanes<T>> results_;  // the softmax, then after each step
  Lanes<T> divisors_;
};

/// Tensors of one call. z is [tiles, logits, kLanes] and its inverse rms [tiles, kLanes].
struct Job {
  std::vector<at::Tensor> streams;
  at::Tensor function, scale, base;
  ConstraintOptions options;
  at::Tensor input, pre, mixture, z, inverse_rms;

  std::int64_t count() const { return std::ssize(streams); }
  std::int64_t width() const { return streams.front().size(-1); }
  std::int64_t tokens() const { return streams.front().numel() / width(); }
  std::int64_t tiles() const { return ceil_div(tokens(), kLanes); }
  std::int64_t logits() const { return function.size(0); }
};

/// Works on the tiles of a job; one per thread.
template <typename T> class Tile {
 public:
  explicit Tile(const Job& job)
      : job_(job),
        n_(job.count()),
        width_(job.width()),
        z_(job.logits(), kLanes),
        comb_(static_cast<std::size_t>(n_ * n_)),
        sinkhorn_(n_, job.options) {}

  void forward(std::int64_t tile) {
    first_ = tile * kLanes;
    count_ = std::min(kLanes, job_.tokens() - first_);
    z_.setZero();
    Lane<T> squares = Lane<T>::Zero();
    for (std::int64_t i = 0; i < n_; ++i) {
      const auto x = rows(job_.streams, i);
      add_slab_product(z_.leftCols(count_), part(i), x.transpose());
      squares.head(count_) += x.rowwise().squaredNorm().array();
    }
    const T size = static_cast<T>(n_ * width_);
    const Lane<T> r = (squares / size + static_cast<T>(job_.options.norm_eps)).sqrt().inverse();
    z_.array().rowwise() *= r.transpose();
    Eigen::Map<Logits<T>>(job_.z.data_ptr<T>() + tile * z_.size(), z_.rows(), kLanes) = z_;
    Eigen::Map<Lane<T>>(job_.inverse_rms.data_ptr<T>() + tile * kLanes) = r;
    compute_maps();
    auto to = rows({job_.input}, 0);
    to.setZero();
    for (std::int64_t i = 0; i < n_; ++i) {
      const Lane<T> pre = sigmoid<T>(logit(i, 0)) + static_cast<T>(job_.options.eps);
      const auto x = rows(job_.streams, i);
      for (std::int64_t t = 0; t < count_; ++t) {
        job_.pre.data_ptr<T>()[(first_ + t) * n_ + i] = pre(t);
        to.row(t) += pre(t) * x.row(t);
      }
    }
    if (!job_.mixture.defined()) return;
    for (std::int64_t i = 0; i < n_; ++i) {
      const Lane<T> post = T{2} * sigmoid<T>(logit(n_ + i, 1));
      for (std::int64_t t = 0; t < count_; ++t) {
        T* const row = mixture_row(job_.mixture, t, i);
        for (std::int64_t j = 0; j < n_; ++j) row[j] = comb_[j * n_ + i](t);
        row[n_] = post(t);
      }
    }
  }

  /// @param sums  receives what is added to the gradients of fn, base and scale, one after another
  void backward(std::int64_t tile, const at::Tensor& dinput, const at::Tensor& dmixture,
                const std::vector<at::Tensor>& dstreams, T* sums) {
    first_ = tile * kLanes;
    count_ = std::min(kLanes, job_.tokens() - first_);
    z_ = Eigen::Map<Logits<T>>(job_.z.data_ptr<T>() + tile * z_.size(), z_.rows(), kLanes);
    const Lane<T> r = Eigen::Map<Lane<T>>(job_.inverse_rms.data_ptr<T>() + tile * kLanes);
    compute_maps();
    const auto dy = rows({dinput}, 0);
    Logits<T> dz = Logits<T>::Zero(z_.rows(), kLanes);
    Lanes<T> pre;
    for (std::int64_t i = 0; i < n_; ++i) {
      const Lane<T> s = sigmoid<T>(logit(i, 0));
      pre.push_back(s + static_cast<T>(job_.options.eps));
      const auto x = rows(job_.streams, i);
      for (std::int64_t t = 0; t < count_; ++t) dz(i, t) = dy.row(t).dot(x.row(t));
      dz.row(i).array() *= (s * (T{1} - s)).transpose();
    }
    if (dmixture.defined()) backward_maps(dmixture, dz);
    T* const dbase = sums + z_.rows() * n_ * width_;
    T* const dscale = dbase + z_.rows();
    for (std::int64_t k = 0; k < z_.rows(); ++k) {
      const std::int64_t part = part_of(k);
      dbase[k] += dz.row(k).head(count_).sum();
      dscale[part] += dz.row(k).head(count_).dot(z_.row(k).head(count_));
      dz.row(k) *= job_.scale.data_ptr<T>()[part];
    }
    const Lane<T> along = (dz.array() * z_.array()).colwise().sum().transpose() * r.square() /
                          static_cast<T>(n_ * width_);
    dz.array().rowwise() *= r.transpose();
    for (std::int64_t i = 0; i < n_; ++i) {
      const auto x = rows(job_.streams, i);
      auto dx = rows(dstreams, i);
      dx.noalias() = dz.leftCols(count_).transpose() * part(i);
      for (std::int64_t t = 0; t < count_; ++t) {
        dx.row(t) += pre[i](t) * dy.row(t) - along(t) * x.row(t);
      }
      RowMajorView<T> dpart(sums + i * width_, z_.rows(), width_,
                            Eigen::OuterStride<>(n_ * width_));
      dpart.noalias() += dz.leftCols(count_) * x;
    }
  }

 private:
  /// Returns the rows of this tile's tokens.
  Eigen::Map<RowMajor<T>> rows(const std::vector<at::Tensor>& tensors, std::int64_t index) const {
    T* const data = tensors[index].data_ptr<T>();
    return {data + first_ * width_, count_, width_};
  }
  /// Returns the columns of fn for stream i.
  ConstRowMajorView<T> part(std::int64_t i) const {
    return {job_.function.data_ptr<T>() + i * width_, job_.logits(), width_,
            Eigen::OuterStride<>(n_ * width_)};
  }
  /// 0 for pre, 1 for post, 2 for C.
  std::int64_t part_of(std::int64_t k) const { return std::min<std::int64_t>(k / n_, 2); }
  Lane<T> logit(std::int64_t k, std::int64_t part) const {
    return z_.row(k).array().transpose() * job_.scale.data_ptr<T>()[part] +
           job_.base.data_ptr<T>()[k];
  }
  T* mixture_row(const at::Tensor& mixture, std::int64_t t, std::int64_t i) const {
    return mixture.data_ptr<T>() + ((first_ + t) * n_ + i) * (n_ + 1);
  }

  void compute_maps() {
    if (!job_.mixture.defined()) return;
    for (std::int64_t k = 0; k < n_ * n_; ++k) comb_[k] = logit(2 * n_ + k, 2);
    sinkhorn_.run(comb_);
  }

  void backward_maps(const at::Tensor& dmixture, Logits<T>& dz) {
    Lanes<T> g(comb_.size(), Lane<T>::Zero());
    for (std::int64_t i = 0; i < n_; ++i) {
      const Lane<T> s = sigmoid<T>(logit(n_ + i, 1));
      for (std::int64_t t = 0; t < count_; ++t) {
        const T* const row = mixture_row(dmixture, t, i);
        for (std::int64_t j = 0; j < n_; ++j) g[j * n_ + i](t) = row[j];
        dz(n_ + i, t) = T{2} * row[n_] * s(t) * (T{1} - s(t));
      }
    }
    sinkhorn_.backward(g);
    for (std::int64_t k = 0; k < n_ * n_; ++k) dz.row(2 * n_ + k) = g[k].matrix().transpose();
  }

  const Job& job_;
  const std::int64_t n_;
  const std::int64_t width_;
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
  Logits<T> z_;
  Lanes<T> comb_;
  Sinkhorn<T> sinkhorn_;
};

std::int64_t operations_per_tile(const Job& job) {
  return kLanes * (2 * job.count() * job.width() * (job.logits() + 2) +
                   8 * job.options.iterations * job.logits());
}

template <typename T> void forward_kernel(const Job& job) {
  for_each_tile(job.tiles(), operations_per_tile(job), [&] {
    return [tile = std::make_shared<Tile<T>>(job)](std::int64_t index) { tile->forward(index); };
  });
}

template <typename T>
void backward_kernel(const Job& job, const at::Tensor& dinput, const at::Tensor& dmixture,
                     const std::vector<at::Tensor>& dstreams, const at::Tensor& partial) {
  for_each_tile(partial.size(0), 3 * kTilesPerSum * operations_per_tile(job), [&] {
    return [&, tile = std::make_shared<Tile<T>>(job)](std::int64_t block) {
      T* const sums = partial.data_ptr<T>() + block * partial.size(1);
      const std::int64_t end = std::min(job.tiles(), (block + 1) * kTilesPerSum);
      for (std::int64_t i = block * kTilesPerSum; i < end; ++i) {
        tile->backward(i, dinput, dmixture, dstreams, sums);
      }
    };
  });
}

ConstrainedStreams constrain_with_autograd(const std::vector<at::Tensor>& streams,
                                           const DepthRouterWeights& router,
                                           const ConstraintOptions& options) {
  const std::int64_t n = std::ssize(streams);
  const at::Tensor all = at::stack(streams, 2);
  const bool is_wide = is_wide_type(all);
  const auto wide = [&](const at::Tensor& x) { return is_wide ? x : x.to(at::kFloat); };
  const at::Tensor flat =
      rms_normalize(wide(all).flatten(2), options.norm_eps, RmsNormCast::kBeforeWeight);
  const at::Tensor z = at::matmul(flat, wide(router.projection).t());
  const auto logits = [&](std::int64_t first, std::int64_t count, std::int64_t part) {
    return z.narrow(-1, first, count) * wide(router.gain)[part] +
           wide(router.offset).narrow(0, first, count);
  };
  const at::Tensor pre = at::sigmoid(logits(0, n, 0)) + options.eps;
  ConstrainedStreams out;
  out.input = at::matmul(pre.unsqueeze(-2), wide(all)).squeeze(-2).to(all.scalar_type());
  out.pre = pre.detach();
  if (z.size(-1) == n) return out;
  const at::Tensor post = 2.0 * at::sigmoid(logits(n, n, 1));
  at::Tensor comb = at::softmax(logits(2 * n, n * n, 2).unflatten(-1, {n, n}), -1) + options.eps;
  for (std::int64_t step = 0; step < 2 * options.iterations - 1; ++step) {
    comb = comb / (comb.sum(step % 2 == 0 ? -2 : -1, true) + options.eps);
  }
  out.mixture = at::cat({comb.transpose(-1, -2), post.unsqueeze(-1)}, -1).to(all.scalar_type());
  return out;
}

}  // namespace

ConstrainedStreams constrain_streams(const std::vector<at::Tensor>& streams,
                                     const DepthRouterWeights& router,
                                     const ConstraintOptions& options) {
  const at::Tensor& first = streams.front();
  if (!uses_cpu_kernels(first) && !uses_cpu_gradients(first)) {
    return constrain_with_autograd(streams, router, options);
  }
  Job job;
  {
    const at::NoGradGuard no_grad;
    job.streams = dense(streams);
    job.function = router.projection.detach();
    job.scale = router.gain.detach();
    job.base = router.offset.detach();
    job.options = options;
    const at::TensorOptions type = job.function.options();
    const std::int64_t n = job.count();
    job.input = at::empty(first.sizes(), type);
    job.pre = at::empty({first.size(0), first.size(1), n}, type);
    if (job.logits() > n) job.mixture = at::empty({first.size(0), first.size(1), n, n + 1}, type);
    job.z = at::empty({job.tiles(), job.logits(), kLanes}, type);
    job.inverse_rms = at::empty({job.tiles(), kLanes}, type);
    AT_DISPATCH_FLOATING_TYPES(first.scalar_type(), "constrain_streams",
                               [&] { forward_kernel<scalar_t>(job); });
  }
  ConstrainedStreams out{job.input, job.pre, job.mixture};
  if (!uses_cpu_gradients(first)) return out;
  std::vector<at::Tensor> inputs = streams;
  inputs.insert(inputs.end(), {router.projection, router.gain, router.offset});
  std::vector<at::Tensor> outputs = {out.input};
  if (out.mixture.defined()) outputs.push_back(out.mixture);
  job.input.reset();
  job.pre.reset();
  const auto backward = [job](const std::vector<at::Tensor>& gradients) {
    std::vector<at::Tensor> all = empty_like_all(job.streams);
    const std::int64_t logits = job.logits();
    const std::int64_t weights = job.function.numel();
    const at::Tensor partial =
        at::zeros({ceil_div(job.tiles(), kTilesPerSum), weights + logits + job.scale.size(0)},
                  job.function.options());
    const at::Tensor dmixture = gradients.size() > 1 ? gradients[1].contiguous() : at::Tensor();
    AT_DISPATCH_FLOATING_TYPES(job.function.scalar_type(), "constrain_streams_backward", [&] {
      backward_kernel<scalar_t>(job, gradients[0].contiguous(), dmixture, all, partial);
    });
    const at::Tensor sum = sum_of_rows(partial);
    all.push_back(sum.narrow(0, 0, weights).view(job.function.sizes()));
    all.push_back(sum.narrow(0, weights + logits, job.scale.size(0)));
    all.push_back(sum.narrow(0, weights, logits));
    return all;
  };
  const std::vector<at::Tensor> recorded = differentiable(inputs, outputs, backward);
  out.input = recorded[0];
  if (out.mixture.defined()) out.mixture = recorded[1];
  return out;
}

}  // namespace lime
