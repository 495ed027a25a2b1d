// SPDX-License-Identifier: Apache-2.0
#include "measure/device_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

namespace lime {
namespace {

/// Maximum size of the rows in double that are measured at once.
constexpr std::int64_t kChunkBytes = std::int64_t{256} << 20;

}  // namespace

void for_each_length(const at::Tensor& activation, const CaptureBatch& batch, std::int64_t skip,
                     const DeviceRowsFn& f) {
  const at::Tensor rows = activation.detach().flatten(2);
  std::map<std::int64_t, std::vector<std::int64_t>> places;  // in the batch, by length
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    places[batch.lengths[s]].push_back(static_cast<std::int64_t>(s));
  }
  for (const auto& [length, indices] : places) {
    if (length <= skip) continue;
    const std::int64_t row_bytes = (length - skip) * rows.size(2) * 8;
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, kChunkBytes / row_bytes));
    for (std::size_t first = 0; first < indices.size(); first += most) {
      const std::span<const std::int64_t> chunk =
          std::span(indices).subspan(first, std::min(most, indices.size() - first));
      std::vector<std::int64_t> sequences;
      for (const std::int64_t place : chunk) {
        sequences.push_back(batch.sequences[static_cast<std::size_t>(place)]);
      }
      const bool is_whole = std::ssize(chunk) == rows.size(0);
      const at::Tensor chosen =
          is_whole
              ? rows
              : rows.index_select(
                    0, at::tensor(at::ArrayRef<std::int64_t>(chunk.data(), chunk.size()), at::kLong)
                           .to(rows.device()));
      f(sequences, chosen.narrow(1, skip, length - skip).to(at::kDouble).contiguous());
    }
  }
}

void DeviceStatistics::add(const at::Tensor& rows) {
  const at::Tensor flat = rows.flatten(0, 1);
  const auto count = static_cast<double>(flat.size(0));
  const at::Tensor mean = flat.mean(0);
  const at::Tensor m2 = (flat - mean).square_().sum(0);
  if (count_ == 0) {
    mean_ = mean;
    m2_ = m2;
  } else {
    const auto before = static_cast<double>(count_);
    const double all = before + count;
    const at::Tensor delta = mean - mean_;
    mean_ = mean_ + delta * (count / all);
    m2_ = m2_ + m2 + delta.square() * (before * count / all);
  }
  count_ += flat.size(0);
}

RunningStatistics DeviceStatistics::read() const {
  const std::vector<double> mean = to_host(mean_);
  const std::vector<double> m2 = to_host(m2_);
  RunningStatistics statistics;
  statistics.merge(count_, mean, m2);
  return statistics;
}

std::vector<double> to_host(const at::Tensor& tensor) {
  const at::Tensor host = tensor.to(at::kCPU, at::kDouble).contiguous();
  const double* const data = host.data_ptr<double>();
  return {data, data + host.numel()};
}

}  // namespace lime
