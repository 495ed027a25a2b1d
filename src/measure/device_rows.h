// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "capture/activation_collector.h"
#include "core/running_statistics.h"

namespace lime {

/// Called with sequences of equal length and their rows, [sequences, tokens, dim], in double.
using DeviceRowsFn =
    std::function<void(std::span<const std::int64_t> sequences, const at::Tensor& rows)>;

/// Cuts an activation into sequences of equal length, without padding, on its device.
/// @param activation  [batch, seq, dim] or [batch, seq, heads, head_dim], any dtype.
/// @param skip        tokens to omit at the start of each sequence; those without more are left out
void for_each_length(const at::Tensor& activation, const CaptureBatch& batch, std::int64_t skip,
                     const DeviceRowsFn& f);

/// Accumulates RunningStatistics on the device of the rows.
class DeviceStatistics {
 public:
  /// @param rows  [sequences, tokens, dim], double.
  void add(const at::Tensor& rows);
  RunningStatistics read() const;

 private:
  std::int64_t count_ = 0;
  at::Tensor mean_;
  at::Tensor m2_;
};

/// Copies a tensor to the CPU in double. @return its elements, row-major.
std::vector<double> to_host(const at::Tensor& tensor);

}  // namespace lime
