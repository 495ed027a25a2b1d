// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/hyper_connections.h"

#include <ATen/Dispatch.h>

#include <cmath>

#include "model/kernels/activation.h"
#include "model/kernels/constrained_streams.h"
#include "model/kernels/depth_mixture.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/source_mixture.h"

namespace lime {
namespace {

using Slot = Workspace::Slot;

constexpr double kNormEpsilon = 1e-5;

template <typename T> using Rows = Eigen::Map<RowMajor<T>>;
template <typename T> using ConstRows = Eigen::Map<const RowMajor<T>>;

/// Concatenated weights of one branch: alpha, then beta in the last column.
struct JoinedWeights {
  at::Tensor fixed;     // [rate, rate + 2]
  at::Tensor function;  // [hidden, rate + 2], undefined if nothing depends on the token
  at::Tensor scale;     // [rate + 2]
};

JoinedWeights join(const HyperConnectionWeights& weights) {
  JoinedWeights joined;
  joined.fixed = at::cat({weights.static_alpha, weights.static_beta.unsqueeze(1)}, 1);
  if (!weights.dynamic_alpha.defined()) return joined;
  joined.function = at::cat({weights.dynamic_alpha, weights.dynamic_beta.unsqueeze(1)}, 1);
  joined.scale = at::cat(
      {weights.dynamic_alpha_scale.expand({joined.fixed.size(1) - 1}), weights.dynamic_beta_scale});
  return joined;
}

/// Standardises each row: subtracts its mean and divides by its standard deviation.
template <typename T> void normalize_rows(const ConstRows<T>& x, RowMajor<double>& normalized) {
  normalized = x.template cast<double>();
  normalized.colwise() -= normalized.rowwise().mean().eval();
  for (Eigen::Index row = 0; row < x.rows(); ++row) {
    const double variance = normalized.row(row).squaredNorm() / static_cast<double>(x.cols());
    normalized.row(row) /= std::sqrt(variance + kNormEpsilon);
  }
}

/// Transforms the streams, [tokens, rate, hidden], into h', in place. The weights, which affect all
/// later layers and cost little, are computed in double.
/// @param input, beta  receive the input of the branch, [tokens, hidden], and [tokens, rate]
template <typename T>
void mix_kernel(const at::Tensor& streams, const JoinedWeights& weights, const at::Tensor& input,
                const at::Tensor& beta) {
  const std::int64_t rate = streams.size(1);
  const std::int64_t dim = streams.size(2);
  const RowMajor<double> fixed =
      ConstRows<T>(weights.fixed.data_ptr<T>(), rate, rate + 2).template cast<double>();
  const bool is_dynamic = weights.function.defined();
  RowMajor<double> function;
  RowMajor<double> scale;
  if (is_dynamic) {
    function = ConstRows<T>(weights.function.data_ptr<T>(), dim, rate + 2).template cast<double>();
    scale = ConstRows<T>(weights.scale.data_ptr<T>(), 1, rate + 2).template cast<double>();
  }
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    RowMajor<double> normalized(rate, dim);
    RowMajor<double> weight = fixed;
    RowMajor<T> mixed(rate + 1, dim);
    RowMajor<T> all = fixed.cast<T>();
    for (std::int64_t token = begin; token < end; ++token) {
      T* const data = streams.data_ptr<T>() + token * rate * dim;
      const ConstRows<T> h(data, rate, dim);
      if (is_dynamic) {
        normalize_rows<T>(h, normalized);
        weight.noalias() = normalized * function;
        weight = fixed.array() + weight.array().tanh().rowwise() * scale.row(0).array();
        all = weight.cast<T>();
      }
      mixed.noalias() = all.leftCols(rate + 1).transpose().lazyProduct(h);
      Rows<T>(input.data_ptr<T>() + token * dim, 1, dim) = mixed.row(0);
      Rows<T>(data, rate, dim) = mixed.bottomRows(rate);
      Rows<T>(beta.data_ptr<T>() + token * rate, rate, 1) = all.col(rate + 1);
    }
  };
  const std::int64_t operations = (is_dynamic ? 4 : 2) * rate * (rate + 2) * dim;
  for_each_block(streams.size(0), operations, run);
}

/// Computes h_i += beta_i * output, in place.
template <typename T>
void add_kernel(const at::Tensor& streams, const at::Tensor& beta, const at::Tensor& output) {
  const std::int64_t rate = streams.size(1);
  const std::int64_t dim = streams.size(2);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t token = begin; token < end; ++token) {
      const ConstRows<T> b(beta.data_ptr<T>() + token * rate, rate, 1);
      const ConstRows<T> y(output.data_ptr<T>() + token * dim, 1, dim);
      Rows<T>(streams.data_ptr<T>() + token * rate * dim, rate, dim).noalias() += b.lazyProduct(y);
    }
  };
  for_each_block(streams.size(0), 2 * rate * dim, run);
}

/// The `rate` residual streams of Hyper-Connections, all initialised with the embedding.
///
///   [x, h'_1 ... h'_n] = A^T [h_1 ... h_n],   h_i = b_i * branch(norm(x)) + h'_i
///
/// for each branch, with A [rate, rate + 1] and b [rate] either fixed (static) or, dynamic,
///
///   A = static_alpha + dynamic_alpha_scale * tanh(layer_norm(h) dynamic_alpha_fn)
///   b = static_beta + dynamic_beta_scale * tanh(layer_norm(h) dynamic_beta_fn)
///
/// for each token, with row i of A and b_i computed from h_i. layer_norm has neither gain nor bias,
/// eps 1e-5. value() is the sum of the streams, which is also the input of the final norm;
/// replace() adds the same correction to each stream. For inference on the CPU all streams of a
/// token are mixed in one pass. Source: Zhu et al. (2024), arXiv:2409.19606, algorithms 2 and 3;
/// the names and norms follow the baseline in the LIMe paper's code (src/lm/hc.py).
class HyperConnections final : public ResidualStream {
 public:
  HyperConnections(const DecoderWeights& weights, std::int64_t rate, Workspace* workspace,
                   bool in_place)
      : weights_(weights), rate_(rate), workspace_(workspace), in_place_(in_place) {}

  std::unique_ptr<ResidualStream> clone() const override {
    return std::make_unique<HyperConnections>(*this);
  }
  void begin(const at::Tensor& embedding) override {
    streams_ = embedding.unsqueeze(2).expand({-1, -1, rate_, -1});
    if (is_traced()) trace_ = next_source().unsqueeze(2).expand({-1, -1, rate_, -1});
    if (workspace_ == nullptr) return;
    const at::Tensor memory = workspace_->get(Slot::kBuffer, streams_.sizes(), streams_.options());
    copy_in_place(memory, streams_);
    streams_ = memory;
  }

  at::Tensor branch_input(int layer, Branch branch) override {
    const LayerWeights& weights = weights_.layers[layer];
    const HyperConnectionWeights& own =
        branch == Branch::kAttention ? weights.hyper_attention : weights.hyper_feed_forward;
    if (records_stream_weights()) {
      const at::Tensor all = maps(own);
      record_weights(all.select(3, 0), all.select(3, rate_ + 1),
                     all.narrow(3, 1, rate_).transpose(2, 3));
    }
    if (is_traced()) {
      const at::Tensor mixed = at::matmul(transposed_alpha(maps(own)).detach(), trace_);
      record(mixed.select(2, 0));
      trace_ = mixed.narrow(2, 1, rate_);
    }
    return in_place_ ? mix_in_place(own) : mix(own);
  }

  void add(const at::Tensor& output) override {
    if (is_traced()) trace_ = trace_ + beta_.detach().unsqueeze(-1) * next_source().unsqueeze(2);
    if (!in_place_) {
      streams_ = beta_.unsqueeze(-1) * output.unsqueeze(2) + streams_;
      return;
    }
    const at::Tensor dense = output.contiguous();
    AT_DISPATCH_FLOATING_TYPES(streams_.scalar_type(), "hyper_connections",
                               [&] { add_kernel<scalar_t>(streams_.flatten(0, 1), beta_, dense); });
  }

  at::Tensor value() const override {
    if (!in_place_) return streams_.sum(2);
    at::Tensor sum =
        at::empty({streams_.size(0), streams_.size(1), streams_.size(3)}, streams_.options());
    for_each_token_range(sum, [&](std::int64_t begin, std::int64_t length) {
      at::Tensor part = sum.narrow(1, begin, length);
      part.copy_(streams_.narrow(1, begin, length).sum(2));
    });
    return sum;
  }

  at::Tensor streams() const override { return streams_; }
  void replace_streams(const at::Tensor& streams) override {
    streams_ = workspace_ != nullptr ? streams_.copy_(streams) : streams;
  }

  void replace(const at::Tensor& value) override {
    const at::Tensor change = (value - this->value()).div(static_cast<double>(rate_)).unsqueeze(2);
    streams_ = in_place_ ? streams_.add_(change) : streams_ + change;
  }

  void cross(Crossing& crossing, int) override {
    streams_ = crossing.carry(streams_);
    trace_ = carry_trace(crossing, trace_);
  }

  at::Tensor value_trace() const override { return trace_.sum(2); }

 private:
  /// Computes alpha and beta of each token, [batch, seq, rate, rate + 2].
  at::Tensor maps(const HyperConnectionWeights& weights) const {
    const JoinedWeights joined = join(weights);
    if (!joined.function.defined()) return repeat_for_tokens(joined.fixed, streams_);
    const at::Tensor normalized =
        at::layer_norm(streams_, {streams_.size(3)}, {}, {}, kNormEpsilon);
    const LinearWeights function{joined.function.t().contiguous(), {}};
    const at::Tensor logits = linear_with_gradients(normalized, {&function})[0];
    return scale_and_shift(soft_cap(logits, 1.0), joined.scale.expand_as(joined.fixed).contiguous(),
                           joined.fixed);
  }
  at::Tensor transposed_alpha(const at::Tensor& maps) const {
    return maps.narrow(3, 0, rate_ + 1).transpose(2, 3);
  }

  at::Tensor mix(const HyperConnectionWeights& weights) {
    const at::Tensor all = maps(weights);
    beta_ = all.select(3, rate_ + 1);
    if (uses_cpu_gradients(streams_)) {
      const std::vector<at::Tensor> mixed = mix_sources(streams_.unbind(2), transposed_alpha(all));
      streams_ = at::stack(at::TensorList(mixed).slice(1), 2);
      return mixed[0];
    }
    const at::Tensor mixed = at::matmul(transposed_alpha(all), streams_);
    streams_ = mixed.narrow(2, 1, rate_);
    return mixed.select(2, 0);
  }

  at::Tensor mix_in_place(const HyperConnectionWeights& weights) {
    const std::int64_t batch = streams_.size(0);
    const std::int64_t seq = streams_.size(1);
    const std::int64_t dim = streams_.size(3);
    const at::Tensor input = workspace_->get(Slot::kRouted, {batch, seq, dim}, streams_.options());
    beta_ = workspace_->get(Slot::kBeta, {batch, seq, rate_}, streams_.options());
    const JoinedWeights joined = join(weights);
    AT_DISPATCH_FLOATING_TYPES(streams_.scalar_type(), "hyper_connections", [&] {
      mix_kernel<scalar_t>(streams_.flatten(0, 1), joined, input, beta_);
    });
    return input;
  }

  const DecoderWeights& weights_;
  const std::int64_t rate_;
  Workspace* const workspace_;
  const bool in_place_;
  at::Tensor streams_;  // h or, between branch_input() and add(), h'; [batch, seq, rate, hidden]
  at::Tensor trace_;    // of the streams, [batch, seq, rate, sources]
  at::Tensor beta_;     // of the current branch, [batch, seq, rate]
};

/// The residual streams of manifold-constrained Hyper-Connections, all initialised with the
/// embedding. See constrain_streams() for their maps, which depend on the token.
///
///   h_i <- sum_j C[j, i] h_j + post_i f(sum_j pre_j h_j)
///
/// C is doubly stochastic, so that the streams neither grow nor vanish. value() is the input of the
/// next part of a layer, and after the last one sum_j pre_j h_j with the weights of the head;
/// replace() replaces that input and adds the same change to each stream. Source: Xie et al.
/// (2025), arXiv:2512.24880; the module `deepseek_v4` of transformers 5.
class ManifoldHyperConnections final : public ResidualStream {
 public:
  ManifoldHyperConnections(const ModelConfig& config, const DecoderWeights& weights)
      : config_(config), weights_(weights) {}

  std::unique_ptr<ResidualStream> clone() const override {
    return std::make_unique<ManifoldHyperConnections>(*this);
  }
  void begin(const at::Tensor& embedding) override {
    const std::int64_t count = config_.mhc.hc_mult;
    streams_.assign(static_cast<std::size_t>(count), embedding);
    if (is_traced()) trace_ = next_source().unsqueeze(2).expand({-1, -1, count, -1});
  }

  at::Tensor branch_input(int, Branch) override {
    if (is_traced()) record(value_trace());
    return next().input;
  }

  void add(const at::Tensor& output) override {
    std::vector<at::Tensor> sources = streams_;
    sources.push_back(output);
    const at::Tensor weights = next().mixture;
    if (records_stream_weights()) {
      const std::int64_t count = config_.mhc.hc_mult;
      record_weights(next().pre, weights.select(3, count), weights.narrow(3, 0, count));
    }
    streams_ = mix_sources(sources, weights);
    if (is_traced()) {
      const std::int64_t count = config_.mhc.hc_mult;
      const at::Tensor fixed = weights.detach();
      trace_ = at::matmul(fixed.narrow(3, 0, count), trace_) +
               fixed.narrow(3, count, 1) * next_source().unsqueeze(2);
    }
    ++part_;
    next_ = {};
  }

  at::Tensor value() const override { return next().input; }
  at::Tensor streams() const override { return at::stack(streams_, 2); }
  void replace_streams(const at::Tensor& streams) override {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams_[i] = streams.select(2, static_cast<std::int64_t>(i)).contiguous();
    }
    next_ = {};
  }

  void replace(const at::Tensor& value) override {
    const at::Tensor change = value - next().input;
    for (at::Tensor& stream : streams_) stream = stream + change;
    next_.input = value;
  }

  void cross(Crossing& crossing, int) override {
    for (at::Tensor& stream : streams_) stream = crossing.carry(stream);
    next_ = {crossing.carry(next_.input), crossing.carry(next_.pre), crossing.carry(next_.mixture)};
    trace_ = carry_trace(crossing, trace_);
  }

  at::Tensor value_trace() const override {
    return at::matmul(next().pre.to(trace_.scalar_type()).unsqueeze(-2), trace_).squeeze(-2);
  }

 private:
  const ConstrainedStreams& next() const {
    if (next_.input.defined()) return next_;
    const DepthRouterWeights router =
        on_device_of(streams_.front(), router_before(part_, weights_));
    return next_ = constrain_streams(streams_, router,
                                     {.norm_eps = config_.spec.norm.eps,
                                      .eps = config_.mhc.hc_eps,
                                      .iterations = config_.mhc.hc_sinkhorn_iters});
  }

  const ModelConfig& config_;
  const DecoderWeights& weights_;
  std::int64_t part_ = 0;  // the next one, of 2 * layers
  std::vector<at::Tensor> streams_;
  at::Tensor trace_;                 // [batch, seq, streams, sources]
  mutable ConstrainedStreams next_;  // for the next part, once it has been computed
};

}  // namespace

std::unique_ptr<ResidualStream> make_hyper_connections(const ModelConfig& config,
                                                       const DecoderWeights& weights,
                                                       Workspace* workspace, bool in_place) {
  if (config.routing == DepthRouting::kManifoldHyperConnections) {
    return std::make_unique<ManifoldHyperConnections>(config, weights);
  }
  return std::make_unique<HyperConnections>(weights, config.hyper_connections.rate, workspace,
                                            in_place);
}

void initialize_hyper_connection(const HyperConnectionWeights& weights, std::int64_t layer) {
  const std::int64_t rate = weights.static_beta.size(0);
  at::Tensor alpha = weights.static_alpha;
  alpha.zero_().narrow(1, 1, rate).fill_diagonal_(1.0);
  alpha[layer % rate][0].fill_(1.0);
  at::Tensor(weights.static_beta).fill_(1.0);
  if (!weights.dynamic_alpha.defined()) return;
  constexpr double kScale = 0.01;
  at::Tensor(weights.dynamic_alpha).zero_();
  at::Tensor(weights.dynamic_beta).zero_();
  at::Tensor(weights.dynamic_alpha_scale).fill_(kScale);
  at::Tensor(weights.dynamic_beta_scale).fill_(kScale);
}

}  // namespace lime
