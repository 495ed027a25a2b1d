// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/decoders/decoder_weights.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/workspace.h"
#include "model/passes/crossing.h"

namespace lime {

/// The two parts of a block.
enum class Branch { kAttention, kFeedForward };

/// State that one pass carries from block to block. All tensors are [batch, seq, hidden].
///
///   stream.begin(embedding);
///   per layer: for each branch: stream.add(branch(stream.branch_input(layer, branch)));
///              stream.end_block(layer);
///
/// For LLaMA it is the residual stream itself (PlainStream). DenseFormer averages over depth
/// (DepthAverage). Hyper-Connections keep several parallel streams (HyperConnections,
/// ManifoldHyperConnections). Attention Residuals and MUDD combine the outputs of earlier layers
/// (AttentionResiduals, DynamicDenseConnections).
///
/// The input of a branch is a weighted sum of sources: the embedding, then the outputs of attention
/// and MLP of each layer. A stream can record these weights per token: it applies every step to
/// them as well. A trace is [batch, seq, sources], with sizes 1 if all tokens have the same.
class ResidualStream {
 public:
  ResidualStream() = default;
  virtual ~ResidualStream() = default;
  ResidualStream& operator=(const ResidualStream&) = delete;
  /// Returns a stream that shares the tensors of this one; cross() then gives it its own.
  virtual std::unique_ptr<ResidualStream> clone() const = 0;

  /// Starts with the embedding, whose memory it may overwrite.
  virtual void begin(const at::Tensor& embedding) = 0;

  /// Returns the input of a branch of `layer`, before its norm.
  virtual at::Tensor branch_input(int layer, Branch branch) = 0;

  /// Inputs of the projections of keys and values.
  struct KeyValueInputs {
    at::Tensor keys;
    at::Tensor values;
  };
  /// Returns these inputs for the last branch_input() of attention; undefined if those of queries.
  virtual KeyValueInputs key_value_inputs() const { return {}; }
  /// Returns true if some key_value_inputs() are defined.
  virtual bool splits_inputs() const { return false; }

  /// Adds the output of the last branch; its memory may be overwritten if the pass has no graph.
  virtual void add(const at::Tensor& output) = 0;

  /// Ends a block, after both branches of `layer` have been added.
  virtual void end_block([[maybe_unused]] int layer) {}

  /// Returns the stream that hooks and the final norm receive.
  virtual at::Tensor value() const = 0;

  /// Replaces value() with another tensor, whose memory it may overwrite.
  virtual void replace(const at::Tensor& value) = 0;

  /// Replaces streams(), which must be defined.
  virtual void replace_streams([[maybe_unused]] const at::Tensor& streams) {}

  /// Transfers what the layers from `next_layer` on need to another device. Call between blocks.
  virtual void cross(Crossing& crossing, int next_layer) = 0;

  /// Records traces of `count` sources, in tensors of this type. Call before begin().
  void trace_sources(std::int64_t count, const at::TensorOptions& type) {
    num_sources_ = count;
    type_ = type.requires_grad(false);
  }
  bool is_traced() const { return num_sources_ > 0; }

  /// Returns the parallel streams, [batch, seq, streams, hidden]; undefined if there is one only.
  virtual at::Tensor streams() const { return {}; }
  /// Records the weights of the streams. Call before begin().
  void record_stream_weights() { records_weights_ = true; }
  bool records_stream_weights() const { return records_weights_; }
  /// Returns the weights of the parts added since the last call, [batch, seq, streams, streams + 2]
  /// each: of a stream the weight with which the part reads it, that of the part's output in it,
  /// and those of all streams in the new one.
  std::vector<at::Tensor> take_stream_weights() { return std::exchange(stream_weights_, {}); }

  /// Returns the traces of the inputs read since the last take_traces(), which may be replaced.
  std::vector<at::Tensor>& traces() { return traces_; }
  std::vector<at::Tensor> take_traces() { return std::exchange(traces_, {}); }
  /// Returns the trace of value().
  virtual at::Tensor value_trace() const = 0;

 protected:
  ResidualStream(const ResidualStream&) = default;
  void record(const at::Tensor& trace) { traces_.push_back(trace); }
  /// @param read, written  [batch, seq, streams]. @param mixing  [batch, seq, new, streams]
  void record_weights(const at::Tensor& read, const at::Tensor& written, const at::Tensor& mixing) {
    stream_weights_.push_back(
        at::cat({read.unsqueeze(-1), written.unsqueeze(-1), mixing}, -1).detach());
  }
  /// Returns the trace of the next source: 1 for itself; undefined if the stream is not traced.
  at::Tensor next_source() {
    if (!is_traced()) return {};
    at::Tensor trace = at::zeros({1, 1, num_sources_}, type_);
    trace.select(2, next_source_++).fill_(1.0);
    return trace;
  }
  /// Transfers a trace, undefined if there is none, and continues on its device.
  at::Tensor carry_trace(Crossing& crossing, const at::Tensor& trace) {
    if (!trace.defined()) return {};
    const at::Tensor carried = crossing.carry(trace);
    type_ = type_.device(carried.device());
    return carried;
  }

 private:
  std::int64_t num_sources_ = 0;
  std::int64_t next_source_ = 0;
  at::TensorOptions type_;
  std::vector<at::Tensor> traces_;
  bool records_weights_ = false;
  std::vector<at::Tensor> stream_weights_;
};

/// Plain residual stream: x <- x + output.
class PlainStream : public ResidualStream {
 public:
  explicit PlainStream(bool in_place) : in_place_(in_place) {}

  std::unique_ptr<ResidualStream> clone() const override {
    return std::make_unique<PlainStream>(*this);
  }
  void begin(const at::Tensor& embedding) override {
    x_ = embedding;
    trace_ = next_source();
  }
  at::Tensor branch_input(int, Branch) override {
    if (is_traced()) record(trace_);
    return x_;
  }
  void add(const at::Tensor& output) override {
    if (in_place_) {
      add_in_place(x_, output);
    } else {
      x_ = x_ + output;
    }
    if (is_traced()) trace_ = trace_ + next_source();
  }
  at::Tensor value() const override { return x_; }
  void replace(const at::Tensor& value) override { x_ = value; }
  void cross(Crossing& crossing, int) override {
    x_ = crossing.carry(x_);
    trace_ = carry_trace(crossing, trace_);
  }

  at::Tensor value_trace() const override { return trace_; }

 protected:
  at::Tensor trace_;

 private:
  const bool in_place_;
  at::Tensor x_;
};

/// Returns the router before one of the 2 * layers parts, or before the final norm.
const DepthRouterWeights& router_before(std::int64_t part, const DecoderWeights& weights);

/// Returns the stream of a routing.
/// @param workspace  provides the memory; nullptr to build an autograd graph instead
/// @param in_place   use the CPU kernels in that memory
std::unique_ptr<ResidualStream> make_stream(const ModelConfig& config,
                                            const DecoderWeights& weights, Workspace* workspace,
                                            bool in_place);

}  // namespace lime
