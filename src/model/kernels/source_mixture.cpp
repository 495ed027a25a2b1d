// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/source_mixture.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <Eigen/Core>
#include <algorithm>
#include <utility>

#include "model/kernels/differentiable.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/source_rows.h"

namespace lime {
namespace {

/// Computes y_c = sum_j w[c, j] x_j for `count` rows.
/// @param weight  returns w[c, j] of a row, given c * sources + j: a number, or one per dimension
template <typename T, typename WeightOf>
void mix_rows(const SourceRows<T>& y, const SourceRows<T>& x, std::int64_t count,
              const WeightOf& weight) {
  const std::int64_t operations = 2 * x.width() * y.count() * x.count();
  for_each_block(count, operations, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t c = 0; c < y.count(); ++c) {
        combine<T>(
            y(c, row), x.count(), [&](std::int64_t j) { return weight(row, c * x.count() + j); },
            [&](std::int64_t j) { return x(j, row); });
      }
    }
  });
}

/// Computes dx_j = sum_c w[c, j] dy_c, and adds dw[c, j] with `add`, in blocks of rows.
/// @param add  called with the block, the row, c * sources + j, dy_c and x_j
template <typename T, typename WeightOf, typename AddTo>
void mix_rows_backward(const SourceRows<T>& dx, const SourceRows<T>& dy, const SourceRows<T>& x,
                       std::int64_t count, const WeightOf& weight, const AddTo& add) {
  const std::int64_t outputs = dy.count();
  const auto run = [&](std::int64_t block) {
    const std::int64_t end = std::min(count, (block + 1) * kRowsPerSum);
    for (std::int64_t row = block * kRowsPerSum; row < end; ++row) {
      for (std::int64_t j = 0; j < x.count(); ++j) {
        combine<T>(
            dx(j, row), outputs, [&](std::int64_t c) { return weight(row, c * x.count() + j); },
            [&](std::int64_t c) { return dy(c, row); });
        for (std::int64_t c = 0; c < outputs; ++c) {
          add(block, row, c * x.count() + j, dy(c, row), x(j, row));
        }
      }
    }
  };
  for_each_tile(ceil_div(count, kRowsPerSum), 4 * kRowsPerSum * x.width() * outputs * x.count(),
                [&] { return run; });
}

/// Returns the weights of each row, [rows, stride].
template <typename T> auto weights_of_rows(const T* weights, std::int64_t stride) {
  return [=](std::int64_t row, std::int64_t place) { return weights[row * stride + place]; };
}

/// Stores dw[c, j] = dy_c . x_j of each row.
template <typename T> auto store_dots(T* dw, std::int64_t stride) {
  return [=](std::int64_t, std::int64_t row, std::int64_t place, const Row<T>& dy,
             const Row<T>& x) { dw[row * stride + place] = (dy * x).sum(); };
}

}  // namespace

std::vector<at::Tensor> mix_sources(const std::vector<at::Tensor>& sources,
                                    const at::Tensor& weights) {
  const at::Tensor& first = sources.front();
  if (!uses_cpu_kernels(first) && !uses_cpu_gradients(first)) {
    return at::matmul(weights, at::stack(sources, 2)).unbind(2);
  }
  const std::int64_t width = first.size(-1);
  const std::int64_t tokens = weights.size(0) * weights.size(1);
  const std::int64_t stride = weights.size(2) * weights.size(3);
  std::vector<at::Tensor> saved;
  std::vector<at::Tensor> outputs;
  const at::Tensor own = weights.detach().contiguous();
  {
    const at::NoGradGuard no_grad;
    saved = dense(sources);
    for (std::int64_t c = 0; c < weights.size(2); ++c) {
      outputs.push_back(at::empty(first.sizes(), saved[0].options()));
    }
    AT_DISPATCH_FLOATING_TYPES(first.scalar_type(), "mix_sources", [&] {
      mix_rows<scalar_t>({outputs, width}, {saved, width}, tokens,
                         weights_of_rows(own.data_ptr<scalar_t>(), stride));
    });
  }
  if (!uses_cpu_gradients(first)) return outputs;
  std::vector<at::Tensor> inputs = sources;
  inputs.push_back(weights);
  return differentiable(inputs, outputs, [=](const std::vector<at::Tensor>& gradients) {
    const std::vector<at::Tensor> dy = dense(gradients);
    std::vector<at::Tensor> all = empty_like_all(saved);
    const at::Tensor dw = at::empty(own.sizes(), own.options());
    AT_DISPATCH_FLOATING_TYPES(own.scalar_type(), "mix_sources_backward", [&] {
      mix_rows_backward<scalar_t>({all, width}, {dy, width}, {saved, width}, tokens,
                                  weights_of_rows(own.data_ptr<scalar_t>(), stride),
                                  store_dots(dw.data_ptr<scalar_t>(), stride));
    });
    all.push_back(dw);
    return all;
  });
}

namespace {

/// Routers with weights per token or dimension. Their heads form groups that read the same buffered
/// heads: one of all heads or, without head mixing, one per head.
struct BlockMixture {
  BlockMixture(const std::vector<at::Tensor>& all, const RouterMixture& mixture)
      : blocks(dense(all)),
        is_dynamic(mixture.is_dynamic),
        mixes_heads(mixture.weights.size(is_dynamic ? 3 : 2) > 1) {
    weights = mixture.weights;
    if (is_dynamic && mixes_heads) weights = weights.transpose(0, 1);
    if (!is_dynamic) weights = weights.expand({-1, -1, -1, blocks[0].size(3)});
    values = weights.detach().contiguous();
  }

  std::int64_t heads() const { return blocks[0].size(0); }
  std::int64_t num_groups() const { return mixes_heads ? 1 : heads(); }
  /// Rows are the keys and values of a token, or each of them if dimensions have their own weights.
  std::int64_t width() const { return blocks[0].size(3) * (is_dynamic ? 2 : 1); }
  std::int64_t count() const { return blocks[0][0].numel() / width(); }
  /// Number of weights of a group, of one token if they depend on it.
  std::int64_t stride() const { return values.numel() / num_groups() / (is_dynamic ? count() : 1); }

  /// Returns the rows of some blocks that a group reads or writes.
  template <typename T>
  SourceRows<T> rows(const std::vector<at::Tensor>& from, std::int64_t group) const {
    std::vector<T*> data;
    for (const at::Tensor& block : from) {
      for (std::int64_t head = 0; head < heads(); ++head) {
        if (mixes_heads || head == group) data.push_back(block[head].data_ptr<T>());
      }
    }
    return {data, width()};
  }
  /// Calls `run` with the weights of a group, as mix_rows() expects them.
  template <typename T, typename Run> void with_weights(std::int64_t group, const Run& run) const {
    T* const data = values.data_ptr<T>() + group * values.numel() / num_groups();
    if (is_dynamic) return run(weights_of_rows(data, stride()));
    run([data, size = width()](std::int64_t, std::int64_t place) {
      return ConstRow<T>(data + place * size, size);
    });
  }

  template <typename T> void forward(const at::Tensor& out) const {
    for (std::int64_t group = 0; group < num_groups(); ++group) {
      with_weights<T>(group, [&](const auto& weight) {
        mix_rows<T>(rows<T>({out}, group), rows<T>(blocks, group), count(), weight);
      });
    }
  }

  template <typename T>
  void backward(const std::vector<at::Tensor>& dx, const at::Tensor& dw,
                const at::Tensor& dy) const {
    for (std::int64_t group = 0; group < num_groups(); ++group) {
      const auto run = [&](const auto& add) {
        with_weights<T>(group, [&](const auto& weight) {
          mix_rows_backward<T>(rows<T>(dx, group), rows<T>({dy}, group), rows<T>(blocks, group),
                               count(), weight, add);
        });
      };
      const at::Tensor own = dw.view({num_groups(), -1})[group];
      if (is_dynamic) {
        run(store_dots(own.data_ptr<T>(), stride()));
        continue;
      }
      const at::Tensor partial =
          at::zeros({ceil_div(count(), kRowsPerSum), stride()}, dw.options());
      run([sums = partial.data_ptr<T>(), stride = stride(), size = width()](
              std::int64_t block, std::int64_t, std::int64_t place, const Row<T>& gradient,
              const Row<T>& x) {
        Row<T>(sums + block * stride + place * size, size) += gradient * x;
      });
      own.copy_(sum_of_rows(partial));
    }
  }

  std::vector<at::Tensor> blocks;
  bool is_dynamic = false;
  bool mixes_heads = true;
  /// [tokens, kv_heads, sources, kv_heads] or, without mixing, [kv_heads, tokens, sources, 1]; the
  /// same for all tokens: [kv_heads, sources, mixed, head_dim].
  at::Tensor weights;
  at::Tensor values;  // the same, contiguous and not in the graph
};

}  // namespace

at::Tensor mix_blocks(const std::vector<at::Tensor>& blocks, const RouterMixture& mixture) {
  if (!uses_cpu_gradients(blocks.front())) {
    at::Tensor routed;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      routed = add_source(routed, mixture, static_cast<std::int64_t>(i), blocks[i]);
    }
    return routed;
  }
  BlockMixture own(blocks, mixture);
  const at::Tensor out = at::empty(own.blocks[0].sizes(), own.blocks[0].options());
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "mix_blocks", [&] { own.forward<scalar_t>(out); });
  std::vector<at::Tensor> inputs = blocks;
  inputs.push_back(std::exchange(own.weights, {}));
  return differentiable(inputs, {out}, [own](const std::vector<at::Tensor>& gradients) {
    std::vector<at::Tensor> all = empty_like_all(own.blocks);
    const at::Tensor dw = at::empty(own.values.sizes(), own.values.options());
    AT_DISPATCH_FLOATING_TYPES(dw.scalar_type(), "mix_blocks_backward",
                               [&] { own.backward<scalar_t>(all, dw, gradients[0].contiguous()); });
    all.push_back(dw);
    return all;
  })[0];
}

void mix_blocks_out(const at::Tensor& out, const std::vector<at::Tensor>& blocks,
                    const RouterMixture& mixture) {
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "mix_blocks",
                             [&] { BlockMixture(blocks, mixture).forward<scalar_t>(out); });
}

}  // namespace lime
