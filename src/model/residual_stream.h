// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "model/device_link.h"
#include "model/in_place.h"

namespace lime {

/// The two parts of a block.
enum class Branch { kAttention, kFeedForward };

/// What carries one pass from block to block. All tensors are [batch, seq, hidden].
///
///   stream.begin(embedding);
///   per layer: for each branch: stream.add(branch(stream.branch_input(layer, branch)));
///              stream.end_block(layer);
///
/// For LLaMA it is the residual stream itself (PlainStream); DenseFormer averages over depth
/// (DepthAverage), Hyper-Connections keep several streams side by side (HyperConnections).
class ResidualStream {
 public:
  ResidualStream() = default;
  virtual ~ResidualStream() = default;
  ResidualStream(const ResidualStream&) = delete;
  ResidualStream& operator=(const ResidualStream&) = delete;

  /// Starts with the embedding, whose memory it may write over.
  virtual void begin(const at::Tensor& embedding) = 0;

  /// What a branch of `layer` reads, before its norm.
  virtual at::Tensor branch_input(int layer, Branch branch) = 0;

  /// Adds what the branch, for which branch_input() was called last, made of it.
  virtual void add(const at::Tensor& output) = 0;

  /// Called when both branches of `layer` have been added.
  virtual void end_block([[maybe_unused]] int layer) {}

  /// The stream as hooks and the final norm see it.
  virtual at::Tensor value() const = 0;

  /// Puts another tensor, whose memory it may write over, in the place of value().
  virtual void replace(const at::Tensor& value) = 0;

  /// Carries what the layers from `next_layer` on need to another device. Between blocks.
  virtual void cross(Crossing& crossing, int next_layer) = 0;
};

/// x <- x + output.
class PlainStream : public ResidualStream {
 public:
  /// @param in_place  write over the stream instead of making a new tensor for each sum.
  explicit PlainStream(bool in_place) : in_place_(in_place) {}

  void begin(const at::Tensor& embedding) override { x_ = embedding; }
  at::Tensor branch_input(int, Branch) override { return x_; }
  void add(const at::Tensor& output) override {
    if (in_place_) {
      add_in_place(x_, output);
    } else {
      x_ = x_ + output;
    }
  }
  at::Tensor value() const override { return x_; }
  void replace(const at::Tensor& value) override { x_ = value; }
  void cross(Crossing& crossing, int) override { x_ = crossing.carry(x_); }

 private:
  const bool in_place_;
  at::Tensor x_;
};

}  // namespace lime
