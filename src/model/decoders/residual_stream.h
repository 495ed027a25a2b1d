// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "model/kernels/in_place.h"
#include "model/passes/device_link.h"

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
/// (DepthAverage). Hyper-Connections keep several parallel streams (HyperConnections).
class ResidualStream {
 public:
  ResidualStream() = default;
  virtual ~ResidualStream() = default;
  ResidualStream(const ResidualStream&) = delete;
  ResidualStream& operator=(const ResidualStream&) = delete;

  /// Starts with the embedding, whose memory it may overwrite.
  virtual void begin(const at::Tensor& embedding) = 0;

  /// Returns the input of a branch of `layer`, before its norm.
  virtual at::Tensor branch_input(int layer, Branch branch) = 0;

  /// Adds the output of the branch for which branch_input() was called last.
  virtual void add(const at::Tensor& output) = 0;

  /// Ends a block, after both branches of `layer` have been added.
  virtual void end_block([[maybe_unused]] int layer) {}

  /// Returns the stream as hooks and the final norm see it.
  virtual at::Tensor value() const = 0;

  /// Replaces value() with another tensor, whose memory it may overwrite.
  virtual void replace(const at::Tensor& value) = 0;

  /// Transfers what the layers from `next_layer` on need to another device. Call between blocks.
  virtual void cross(Crossing& crossing, int next_layer) = 0;
};

/// x <- x + output.
class PlainStream : public ResidualStream {
 public:
  /// @param in_place  overwrite the stream instead of allocating a new tensor for each sum.
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
