// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/residual_stream.h"

#include "model/decoders/hyper_connections.h"
#include "model/kernels/activation.h"
#include "model/kernels/depth_mixture.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/norm.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/source_mixture.h"

namespace lime {
namespace {

/// A tensor of a stream with its trace, which is undefined if the stream is not traced.
struct TracedTensor {
  at::Tensor value;
  at::Tensor trace;
};

/// Residual stream of DenseFormer: every period-th block ends in a weighted average over depth.
///
///   Y_i = block_i(X_{i-1}),   X_i = sum over k = i, i - dilation, ... of alpha_i[k] * Y_k
///
/// with Y_0 the embedding. value() after a block is X_i, the input of the next block; the average
/// is over outputs Y, not over earlier averages. For inference, the outputs that an average reads
/// are contiguous in one buffer, so that an average is one matrix product. Source: Pagliardini et
/// al. (2024), arXiv:2402.02622, sections 3.1 and 3.2; its released code.
class DepthAverage final : public PlainStream {
 public:
  DepthAverage(const ModelConfig& config, const DecoderWeights& weights, Workspace* workspace,
               bool in_place)
      : PlainStream(in_place),
        config_(config.denseformer),
        weights_(weights),
        workspace_(workspace),
        outputs_per_group_(config.num_hidden_layers / config_.dilation + 1),
        groups_(static_cast<std::size_t>(config_.dilation), -1) {
    for (std::int64_t depth = config_.period; depth <= config.num_hidden_layers;
         depth += config_.period) {
      std::int64_t& group = groups_[depth % config_.dilation];
      if (group < 0) group = num_groups_++;
    }
  }

  std::unique_ptr<ResidualStream> clone() const override {
    return std::make_unique<DepthAverage>(*this);
  }
  void begin(const at::Tensor& embedding) override {
    PlainStream::begin(embedding);
    if (workspace_ != nullptr) {
      memory_ = workspace_->get(Workspace::Slot::kBuffer,
                                {num_groups_ * outputs_per_group_, embedding.numel()},
                                embedding.options());
    }
    keep(0);
  }

  void end_block(int layer) override {
    const std::int64_t depth = layer + 1;
    keep(depth);
    const at::Tensor& alpha = weights_.layers[layer].depth_average;
    if (!alpha.defined()) return;
    if (is_traced()) trace_ = average(alpha.detach(), depth, traces_);
    if (workspace_ == nullptr) {
      replace(average(alpha, depth, outputs_));
      return;
    }
    at::Tensor averaged = value().view({1, -1});  // the original output has been stored
    wide_product_out(averaged, alpha,
                     memory_.narrow(0, group_of(depth) * outputs_per_group_, alpha.size(1)));
  }

  void cross(Crossing& crossing, int next_layer) override {
    PlainStream::cross(crossing, next_layer);
    for (at::Tensor& trace : traces_) trace = carry_trace(crossing, trace);
    if (!memory_.defined()) return;
    const at::Tensor memory = crossing.place_for(memory_);
    for (std::int64_t rest = 0; rest < std::min<std::int64_t>(config_.dilation, next_layer + 1);
         ++rest) {
      if (group_of(rest) < 0) continue;
      const std::int64_t first = group_of(rest) * outputs_per_group_;
      const std::int64_t count = (next_layer - rest) / config_.dilation + 1;  // stored so far
      crossing.carry_into(memory.narrow(0, first, count), memory_.narrow(0, first, count));
    }
    memory_ = memory;
  }

 private:
  std::int64_t group_of(std::int64_t depth) const { return groups_[depth % config_.dilation]; }

  void keep(std::int64_t depth) {
    if (is_traced()) traces_.push_back(trace_);
    if (workspace_ == nullptr) {
      outputs_.push_back(value());
    } else if (group_of(depth) >= 0) {
      const std::int64_t place = group_of(depth) * outputs_per_group_ + depth / config_.dilation;
      copy_in_place(memory_.select(0, place).view(value().sizes()), value());
    }
  }

  /// Computes the average of outputs by depth, with gradients.
  at::Tensor average(const at::Tensor& alpha, std::int64_t depth,
                     const std::vector<at::Tensor>& outputs) const {
    const std::int64_t count = alpha.size(1);
    std::vector<at::Tensor> sources;
    for (std::int64_t i = 0; i < count; ++i) {
      sources.push_back(outputs[depth - (count - 1 - i) * config_.dilation]);
    }
    if (uses_cpu_gradients(sources.front())) {
      return mix_sources(sources, repeat_for_tokens(alpha, sources.front()))[0];
    }
    at::Tensor averaged;
    for (std::int64_t i = 0; i < count; ++i) {
      const at::Tensor term = sources[i] * alpha[0][i];
      averaged = i == 0 ? term : averaged + term;
    }
    return averaged;
  }

  const DenseFormerConfig config_;
  const DecoderWeights& weights_;
  Workspace* const workspace_;
  std::int64_t outputs_per_group_;
  std::vector<std::int64_t> groups_;  // of depth % dilation; -1 where no average reads them
  std::int64_t num_groups_ = 0;
  std::vector<at::Tensor> traces_;   // of the outputs, by depth
  at::Tensor memory_;                // [groups * outputs_per_group, batch * seq * hidden]
  std::vector<at::Tensor> outputs_;  // by depth, with gradients
};

/// Residual stream of Attention Residuals: every part of a layer reads an attention over depth.
///
///   h_p = sum_i a_i x_i,   a = softmax_i(w_p . rms_norm_p(x_i) + [i is the last] bias_p)
///
/// The sources x_i before part p are the embedding, the sums of the outputs of earlier blocks, and
/// the partial sum of the block of p; AttnResSources lists the variants of the open implementation.
/// value() is the input of the next part, and after the last one that of the final norm: another
/// attention over depth or, of states, the last state. replace() replaces that input only. Source:
/// Kimi Team (2026), arXiv:2603.15031, equations 2 to 6.
class AttentionResiduals final : public ResidualStream {
 public:
  AttentionResiduals(const ModelConfig& config, const DecoderWeights& weights, bool has_graph)
      : config_(config),
        weights_(weights),
        has_graph_(has_graph),
        has_states_(config.attn_res.sources == AttnResSources::kStates),
        parts_per_block_(config.attn_res.num_blocks == 0
                             ? 1
                             : 2 * config.num_hidden_layers / config.attn_res.num_blocks) {}

  std::unique_ptr<ResidualStream> clone() const override {
    return std::make_unique<AttentionResiduals>(*this);
  }
  void begin(const at::Tensor& embedding) override {
    sources_ = {{embedding, next_source()}};
    if (config_.attn_res.sources != AttnResSources::kOutputs) partial_ = sources_.front();
  }

  at::Tensor branch_input(int, Branch) override {
    if (is_traced()) record(next().trace);
    return next().value;
  }

  void add(const at::Tensor& output) override {
    const bool is_first = part_ > 0 && part_ % parts_per_block_ == 0;
    if (is_first && !has_states_) sources_.push_back(std::exchange(partial_, {}));
    const at::Tensor trace = next_source();
    if (partial_.value.defined()) {
      partial_ = {partial_.value + output, is_traced() ? partial_.trace + trace : trace};
    } else {
      partial_ = {has_graph_ ? output : output.clone(), trace};
    }
    ++part_;
    if (has_states_ && part_ % parts_per_block_ == 0) sources_.push_back(partial_);
    next_ = {};
  }

  at::Tensor value() const override { return next().value; }
  void replace(const at::Tensor& value) override { next_ = {value, next().trace}; }

  void cross(Crossing& crossing, int) override {
    const auto carry = [&](TracedTensor& tensor) {
      tensor = {crossing.carry(tensor.value), carry_trace(crossing, tensor.trace)};
    };
    for (TracedTensor& source : sources_) carry(source);
    carry(partial_);
    carry(next_);
  }

  at::Tensor value_trace() const override { return next().trace; }

 private:
  const TracedTensor& next() const {
    if (next_.value.defined()) return next_;
    const DepthRouterWeights& router = router_before(part_, weights_);
    if (!router.projection.defined()) return next_ = partial_;
    std::vector<at::Tensor> values;
    for (const TracedTensor& source : sources_) values.push_back(source.value);
    if (partial_.value.defined()) values.push_back(partial_.value);
    const DepthMixture mixture =
        attend_over_depth(values, on_device_of(values.front(), router), config_.spec.norm.eps);
    next_.value = mixture.mixed;
    if (!is_traced()) return next_;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const at::Tensor& trace = i < sources_.size() ? sources_[i].trace : partial_.trace;
      const at::Tensor term = mixture.weights.narrow(2, static_cast<std::int64_t>(i), 1) * trace;
      next_.trace = i == 0 ? term : next_.trace + term;
    }
    return next_;
  }

  const ModelConfig& config_;
  const DecoderWeights& weights_;
  const bool has_graph_;
  const bool has_states_;
  const std::int64_t parts_per_block_;
  std::int64_t part_ = 0;  // the next one, of 2 * layers
  std::vector<TracedTensor> sources_;
  TracedTensor partial_;       // of the current block, or undefined
  mutable TracedTensor next_;  // input of the next part, once it has been computed
};

/// Residual stream of MUDDFormer: multiway dynamic dense connections.
///
///   x_c = sum_j A[c, j] y_j,    A = W_2 gelu(W_1 (y_l / rms(y_l))) + B,    c in {q, k, v, r}
///
/// after each layer, for each token, with y_0 the embedding and y_j the output of layer j - 1.
/// Attention reads x_q, x_k and x_v; its output and that of the MLP are added to x_r, which is
/// value(). After the last layer there is one way only. replace() adds the same change to all ways.
/// Source: Xiao et al. (2025), arXiv:2502.12170; its released PyTorch code.
class DynamicDenseConnections final : public ResidualStream {
 public:
  DynamicDenseConnections(const ModelConfig& config, const DecoderWeights& weights)
      : config_(config), weights_(weights) {}

  std::unique_ptr<ResidualStream> clone() const override {
    return std::make_unique<DynamicDenseConnections>(*this);
  }
  void begin(const at::Tensor& embedding) override {
    outputs_ = {{embedding, next_source()}};
    ways_.assign(4, outputs_.front());
  }

  at::Tensor branch_input(int, Branch branch) override {
    const bool is_attention = branch == Branch::kAttention;
    if (is_traced()) {
      for (std::size_t way = is_attention ? 0 : 3; way < (is_attention ? 3U : 4U); ++way) {
        record(ways_[way].trace);
      }
    }
    return ways_[is_attention ? 0 : 3].value;
  }

  KeyValueInputs key_value_inputs() const override {
    if (reads_embedding_) return {};
    return {ways_[1].value, ways_[2].value};
  }
  bool splits_inputs() const override { return true; }

  void add(const at::Tensor& output) override {
    TracedTensor& stream = ways_.back();
    stream.value = stream.value + output;
    if (is_traced()) stream.trace = stream.trace + next_source();
  }

  void end_block(int layer) override {
    const DepthRouterWeights& router = weights_.layers[layer].output_router;
    const at::Tensor& latest = ways_.back().value;
    const at::Tensor ones =
        at::ones({latest.size(-1)}, router.projection.options().requires_grad(false));
    const at::Tensor normalized =
        rms_norm(latest, ones, config_.spec.norm.eps, RmsNormCast::kBeforeWeight);
    const LinearWeights first{router.projection, {}};
    const LinearWeights second{router.expansion, router.offset.flatten()};
    const at::Tensor inner =
        activate(linear_with_gradients(normalized, {&first})[0], {}, Activation::kGelu);
    const at::Tensor mixture =
        linear_with_gradients(inner, {&second})[0].unflatten(-1, router.offset.sizes());
    outputs_.push_back(ways_.back());
    std::vector<at::Tensor> sources;
    for (const TracedTensor& output : outputs_) sources.push_back(output.value);
    const std::vector<at::Tensor> mixed = mix_sources(sources, mixture);
    at::Tensor traces;
    if (is_traced()) {
      std::vector<at::Tensor> all;
      for (const TracedTensor& output : outputs_) {
        all.push_back(output.trace.expand({latest.size(0), latest.size(1), -1}));
      }
      traces = at::matmul(mixture.detach(), at::stack(all, 2));
    }
    ways_.clear();
    for (std::size_t way = 0; way < mixed.size(); ++way) {
      ways_.push_back({mixed[way], is_traced() ? traces.select(2, static_cast<std::int64_t>(way))
                                               : at::Tensor()});
    }
    reads_embedding_ = false;
  }

  at::Tensor value() const override { return ways_.back().value; }

  void replace(const at::Tensor& value) override {
    const at::Tensor change = value - ways_.back().value;
    for (TracedTensor& way : ways_) way.value = way.value + change;
    ways_.back().value = value;
  }

  void cross(Crossing& crossing, int) override {
    for (std::vector<TracedTensor>* const all : {&outputs_, &ways_}) {
      for (TracedTensor& tensor : *all) {
        tensor = {crossing.carry(tensor.value), carry_trace(crossing, tensor.trace)};
      }
    }
  }

  at::Tensor value_trace() const override { return ways_.back().trace; }

 private:
  const ModelConfig& config_;
  const DecoderWeights& weights_;
  bool reads_embedding_ = true;        // in layer 0, all ways are the embedding
  std::vector<TracedTensor> outputs_;  // y
  std::vector<TracedTensor> ways_;     // q, k, v, r, or r alone
};

}  // namespace

const DepthRouterWeights& router_before(std::int64_t part, const DecoderWeights& weights) {
  if (part == 2 * std::ssize(weights.layers)) return weights.final_router;
  const LayerWeights& layer = weights.layers[part / 2];
  return part % 2 == 0 ? layer.attention_router : layer.feed_forward_router;
}

std::unique_ptr<ResidualStream> make_stream(const ModelConfig& config,
                                            const DecoderWeights& weights, Workspace* workspace,
                                            bool in_place) {
  switch (config.routing) {
    case DepthRouting::kDenseFormer:
      return std::make_unique<DepthAverage>(config, weights, workspace, in_place);
    case DepthRouting::kHyperConnections:
    case DepthRouting::kManifoldHyperConnections:
      return make_hyper_connections(config, weights, workspace, in_place);
    case DepthRouting::kAttentionResiduals:
      return std::make_unique<AttentionResiduals>(config, weights, workspace == nullptr);
    case DepthRouting::kMudd: return std::make_unique<DynamicDenseConnections>(config, weights);
    default: return std::make_unique<PlainStream>(in_place);
  }
}

}  // namespace lime
