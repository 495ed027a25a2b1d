// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "train/process_place.h"

namespace lime {

/// The processes that train one model together, each on its share of every batch.
///
/// They meet through LibTorch's c10d: NCCL for a GPU, Gloo for the processor, MPI where LibTorch
/// was built with it only. All must call the same functions in the same order. Every function
/// throws IoError if another process is gone, and Interrupted if that is so, or an answer does not
/// come within 20 s, after `stop` was requested.
class ProcessGroup {
 public:
  static constexpr std::chrono::seconds kMeetingTimeout{300};

  /// Meets the others; waits for them for as long as `timeout`.
  /// @throws InvalidArgument  if this build's LibTorch has nothing to talk with.
  /// @throws IoError          if they cannot be reached, or one has not come in time; names it.
  /// @throws Interrupted      as soon as `stop` is requested while one is missing.
  ProcessGroup(const ProcessPlace& place, c10::Device device, std::stop_token stop = {},
               std::chrono::seconds timeout = kMeetingTimeout);
  ~ProcessGroup();

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }

  /// Sums each tensor over all processes, in place; all get the same bits.
  void sum(const std::vector<at::Tensor>& tensors);
  double sum(double value);
  /// Overwrites the tensors with those of rank 0.
  void take_from_first(const std::vector<at::Tensor>& tensors);
  /// Waits until all are here.
  void wait_for_all() { sum(0.0); }

 private:
  struct Impl;
  const ProcessPlace place_;
  const c10::Device device_;
  const std::stop_token stop_;
  std::unique_ptr<Impl> impl_;
};

/// Rows [first, first + count) of `total` that process `rank` of `size` computes: as equal as can
/// be, the first ones longer.
struct RowShare {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
RowShare share_of_rows(std::int64_t total, int rank, int size);

}  // namespace lime
