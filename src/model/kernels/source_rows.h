// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Functions.h>

#include <Eigen/Core>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/kernels/linear.h"

namespace lime {

/// Vectors of equal width, one per token and source.
template <typename T> class SourceRows {
 public:
  /// @param data  the first row of each source
  SourceRows(std::vector<T*> data, std::int64_t width) : width_(width), data_(std::move(data)) {}
  SourceRows(const std::vector<at::Tensor>& sources, std::int64_t width) : width_(width) {
    for (const at::Tensor& source : sources) data_.push_back(source.data_ptr<T>());
  }
  std::int64_t count() const { return static_cast<std::int64_t>(data_.size()); }
  std::int64_t width() const { return width_; }
  Row<T> operator()(std::int64_t source, std::int64_t token) const {
    return Row<T>(data_[source] + token * width_, width_);
  }

 private:
  std::int64_t width_;
  std::vector<T*> data_;
};

/// Computes y = sum_j weight(j) row(j), four rows at a time.
template <typename T, typename WeightOf, typename RowOf>
void combine(Row<T> y, std::int64_t count, const WeightOf& weight, const RowOf& row) {
  y.setZero();
  std::int64_t j = 0;
  for (; j + 4 <= count; j += 4) {
    y += weight(j) * row(j) + weight(j + 1) * row(j + 1) + weight(j + 2) * row(j + 2) +
         weight(j + 3) * row(j + 3);
  }
  for (; j < count; ++j) y += weight(j) * row(j);
}

/// Returns the tensors outside the graph, contiguous.
inline std::vector<at::Tensor> dense(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& tensor : tensors) all.push_back(tensor.detach().contiguous());
  return all;
}

inline std::vector<at::Tensor> empty_like_all(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& tensor : tensors) {
    all.push_back(at::empty(tensor.sizes(), tensor.options()));
  }
  return all;
}

}  // namespace lime
