// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/router_tape.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "checkpoint/router_layout.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/linear.h"
#include "model/kernels/router_products.h"

namespace lime {
namespace {

void write_block(const at::Tensor& block, const at::Tensor& keys, const at::Tensor& values) {
  const KeysAndValues place = views_of(block, keys);
  place.keys.copy_(keys);
  place.values.copy_(values);
}

template <typename T>
void add_rows(WideRows<const T>& rows, const at::Tensor& memory, std::int64_t layer) {
  const std::int64_t heads = memory.size(1);
  for (std::int64_t head = 0; head < heads; ++head) {
    rows.push_back(memory.data_ptr<T>() + layer * memory.stride(0) + head * memory.stride(1));
  }
}

template <typename T> WideRows<T> rows_of_block(const at::Tensor& block) {
  WideRows<T> rows;
  for (std::int64_t head = 0; head < block.size(0); ++head) {
    rows.push_back(block.data_ptr<T>() + head * block.stride(0));
  }
  return rows;
}

}  // namespace

KeysAndValues views_of(const at::Tensor& block, const at::Tensor& like) {
  const at::Tensor by_token =
      block.view({like.size(2), like.size(0), like.size(1), 2, like.size(3)})
          .permute({1, 2, 0, 3, 4});
  return {by_token.select(3, 0), by_token.select(3, 1)};
}

bool RouterTape::can_route(const ModelConfig& config) {
  return !config.lime.dynamic && !config.lime.per_dimension && c10::GradMode::is_enabled();
}

RouterTape::RouterTape(const ModelConfig& config, const DecoderWeights& weights)
    : heads_(config.num_key_value_heads),
      mixes_heads_(config.lime.head_mixing && config.lime.router != RouterKind::kAverage),
      layers_(static_cast<std::size_t>(config.num_hidden_layers)) {
  for (std::int64_t l = 0; l < config.num_hidden_layers; ++l) {
    Layer& layer = layers_[l];
    layer.sources = router_sources(config.lime, l);
    for (std::size_t place = 0; place < layer.sources.size(); ++place) {
      layers_[layer.sources[place]].readers.push_back({l, static_cast<std::int64_t>(place)});
    }
    const at::Tensor& own = weights.layers[l].router.weights;
    if (!own.defined()) continue;
    layer.weights = own.detach();
    layer.gradient = at::zeros(own.sizes(), layer.weights.options());
  }
}

at::Tensor RouterTape::weights_in_graph(const DecoderWeights& weights) {
  std::vector<at::Tensor> inputs;
  for (const LayerWeights& layer : weights.layers) {
    if (layer.router.weights.defined()) inputs.push_back(layer.router.weights);
  }
  if (inputs.empty()) return {};
  const at::Tensor scalar = at::zeros({}, weights.embedding.options());
  return differentiable(
      inputs, {scalar}, [tape = shared_from_this()](const std::vector<at::Tensor>&) {
        std::vector<at::Tensor> gradients;
        for (std::size_t i = 0; i < tape->layers_.size(); ++i) {
          const Layer& layer = tape->layers_[i];
          if (!layer.weights.defined()) continue;
          gradients.push_back(tape->joined_gradients_.defined()
                                  ? tape->joined_gradient(layer, static_cast<std::int64_t>(i))
                                  : layer.gradient);
        }
        return gradients;
      })[0];
}

KeysAndValues RouterTape::mix(int layer, const KeysAndValues& own, const at::Tensor& weights) {
  const std::int64_t tokens = own.keys.size(0) * own.keys.size(1);
  std::vector<at::Tensor> outputs;
  {
    const at::NoGradGuard no_grad;
    if (!buffer_.defined()) {
      buffer_ = at::empty({std::ssize(layers_), heads_, tokens, 2, own.keys.size(3)},
                          own.values.options());  // autocast rotates keys in float
      if (!uses_cpu_kernels(own.keys)) join_weights();
    }
    write_block(buffer_[layer], own.keys, own.values);
    if (layer == 0) {
      outputs = {own.keys.detach().to(own.values.scalar_type()), own.values.detach()};
    } else {
      at::Tensor routed;
      if (joined_weights_.defined()) {
        routed = route_by_library(layer);
      } else {
        AT_DISPATCH_FLOATING_TYPES(buffer_.scalar_type(), "route",
                                   [&] { routed = route<scalar_t>(layer); });
      }
      const KeysAndValues views = views_of(routed, own.keys);
      outputs = {views.keys, views.values};
    }
  }
  std::vector<at::Tensor> inputs = {own.keys, own.values};
  if (weights.defined()) inputs.push_back(weights);
  layers_read_ = std::max<std::int64_t>(layers_read_, layer + 1);
  const std::vector<at::Tensor> routed =
      differentiable(inputs, outputs,
                     [tape = shared_from_this(), layer,
                      count = inputs.size()](const std::vector<at::Tensor>& gradients) {
                       std::vector<at::Tensor> all = tape->backward(layer, gradients);
                       all.resize(count);
                       return all;
                     });
  return {routed[0], routed[1]};
}

template <typename T>
T RouterTape::weight(std::int64_t layer, std::int64_t place, std::int64_t head,
                     std::int64_t mixed) const {
  const Layer& own = layers_[layer];
  if (!mixes_heads_ && head != mixed) return T{0};
  if (!own.weights.defined()) {
    // Layer 0 reads itself; an average is uniform.
    if (layer == 0) return head == mixed ? T{1} : T{0};
    return T{1} / static_cast<T>(own.sources.size());
  }
  const std::int64_t column = mixes_heads_ ? place * heads_ + mixed : place;
  return own.weights.data_ptr<T>()[head * own.weights.stride(0) + column];
}

template <typename T> at::Tensor RouterTape::route(std::int64_t layer) const {
  const std::vector<std::int64_t>& sources = layers_[layer].sources;
  WideRows<const T> rows;
  for (const std::int64_t source : sources) add_rows(rows, buffer_, source);
  std::vector<T> left;
  for (std::int64_t head = 0; head < heads_; ++head) {
    for (std::int64_t place = 0; place < std::ssize(sources); ++place) {
      for (std::int64_t mixed = 0; mixed < heads_; ++mixed) {
        left.push_back(weight<T>(layer, place, head, mixed));
      }
    }
  }
  const at::Tensor out = at::empty(buffer_.sizes().slice(1), buffer_.options());
  wide_rows_product(rows_of_block<T>(out), left, rows, out.stride(0));
  return out;
}

std::vector<at::Tensor> RouterTape::backward(std::int64_t layer,
                                             const std::vector<at::Tensor>& gradients) {
  const at::Tensor routed = at::empty(buffer_.sizes().slice(1), buffer_.options());
  write_block(routed, gradients[0], gradients[1]);
  at::Tensor own;
  if (joined_weights_.defined()) {
    own = route_backward_by_library(layer, routed);
  } else {
    AT_DISPATCH_FLOATING_TYPES(buffer_.scalar_type(), "route_backward",
                               [&] { own = route_backward<scalar_t>(layer, routed); });
  }
  // Earlier layers need this layer's routed gradients; its keys and values are not read again.
  buffer_[layer].copy_(routed);
  const KeysAndValues views = views_of(own, gradients[0]);
  return {views.keys.contiguous(), views.values.contiguous()};
}

template <typename T>
at::Tensor RouterTape::route_backward(std::int64_t layer, const at::Tensor& routed) {
  const std::vector<Source>& all_readers = layers_[layer].readers;
  std::vector<Source> readers;
  for (const Source& reader : all_readers) {
    if (reader.layer < layers_read_) readers.push_back(reader);
  }
  const at::Tensor own = at::empty(buffer_.sizes().slice(1), buffer_.options());
  if (readers.empty()) return own.zero_();
  WideRows<const T> gradients;
  for (const Source& reader : readers) {
    if (reader.layer == layer) {
      add_rows(gradients, routed.unsqueeze(0), 0);
    } else {
      add_rows(gradients, buffer_, reader.layer);
    }
  }
  std::vector<T> left;
  for (std::int64_t mixed = 0; mixed < heads_; ++mixed) {
    for (const Source& reader : readers) {
      for (std::int64_t head = 0; head < heads_; ++head) {
        left.push_back(weight<T>(reader.layer, reader.place, head, mixed));
      }
    }
  }
  WideRows<const T> rows;
  add_rows(rows, buffer_, layer);
  const std::vector<T> dots =
      wide_rows_backward(rows_of_block<T>(own), left, gradients, rows, own.stride(0));
  const T* dot = dots.data();
  for (const Source& reader : readers) {
    const at::Tensor& to = layers_[reader.layer].gradient;
    for (std::int64_t head = 0; head < heads_; ++head) {
      for (std::int64_t mixed = 0; mixed < heads_; ++mixed, ++dot) {
        if (!to.defined() || (!mixes_heads_ && head != mixed)) continue;
        const std::int64_t column = mixes_heads_ ? reader.place * heads_ + mixed : reader.place;
        to.data_ptr<T>()[head * to.stride(0) + column] = *dot;
      }
    }
  }
  return own;
}

namespace {

/// Consecutive layers.
struct Run {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Splits ascending layers into runs.
std::vector<Run> runs_of(const std::vector<std::int64_t>& layers) {
  std::vector<Run> runs;
  for (const std::int64_t layer : layers) {
    if (runs.empty() || layer != runs.back().first + runs.back().count) runs.push_back({layer, 0});
    ++runs.back().count;
  }
  return runs;
}

/// Adds left [heads, n * heads] times right [n, heads, ...] to `sum`, or starts it.
void add_product(at::Tensor& sum, const at::Tensor& left, const at::Tensor& right) {
  const at::Tensor rows = right.flatten(0, 1).flatten(1);
  if (sum.defined()) {
    sum.addmm_(left, rows);
  } else {
    sum = at::mm(left, rows);
  }
}

}  // namespace

void RouterTape::join_weights() {
  const std::int64_t count = std::ssize(layers_);
  joined_weights_ = at::zeros({count, count, heads_, heads_}, buffer_.options());
  joined_gradients_ = at::zeros_like(joined_weights_);
  const at::Tensor same_head = at::eye(heads_, buffer_.options());
  joined_weights_[0][0].copy_(same_head);
  for (std::int64_t l = 1; l < count; ++l) {
    const Layer& layer = layers_[l];
    const auto sources = std::ssize(layer.sources);
    at::Tensor weights = same_head.div(static_cast<double>(sources)).unsqueeze(0);
    if (layer.weights.defined()) {
      const at::Tensor own = layer.weights.view({heads_, sources, -1}).transpose(0, 1);
      weights = mixes_heads_ ? own : own * same_head;
    }
    std::int64_t place = 0;
    for (const Run& run : runs_of(layer.sources)) {
      joined_weights_[l]
          .narrow(0, run.first, run.count)
          .copy_(layer.weights.defined() ? weights.narrow(0, place, run.count) : weights);
      place += run.count;
    }
  }
}

at::Tensor RouterTape::route_by_library(std::int64_t layer) const {
  at::Tensor routed;
  for (const Run& run : runs_of(layers_[layer].sources)) {
    const at::Tensor left = joined_weights_[layer].narrow(0, run.first, run.count).transpose(0, 1);
    add_product(routed, left.flatten(1), buffer_.narrow(0, run.first, run.count));
  }
  return routed.view(buffer_.sizes().slice(1));
}

at::Tensor RouterTape::route_backward_by_library(std::int64_t layer, const at::Tensor& routed) {
  std::vector<std::int64_t> readers;
  bool reads_itself = false;
  for (const Source& reader : layers_[layer].readers) {
    if (reader.layer == layer) reads_itself = true;
    if (reader.layer > layer && reader.layer < layers_read_) readers.push_back(reader.layer);
  }
  const at::Tensor rows = buffer_[layer].flatten(1).t();  // [columns, heads]
  at::Tensor own;
  const auto add = [&](const Run& run, const at::Tensor& gradients) {
    const at::Tensor left = joined_weights_.narrow(0, run.first, run.count).select(1, layer);
    add_product(own, left.permute({2, 0, 1}).flatten(1), gradients);
    const at::Tensor dots = at::mm(gradients.flatten(0, 1).flatten(1), rows);
    joined_gradients_.narrow(0, run.first, run.count)
        .select(1, layer)
        .copy_(dots.view({run.count, heads_, heads_}));
  };
  if (reads_itself) add({layer, 1}, routed.unsqueeze(0));
  for (const Run& run : runs_of(readers)) add(run, buffer_.narrow(0, run.first, run.count));
  if (!own.defined()) return at::zeros(buffer_.sizes().slice(1), buffer_.options());
  return own.view(buffer_.sizes().slice(1));
}

at::Tensor RouterTape::joined_gradient(const Layer& layer, std::int64_t index) const {
  std::vector<at::Tensor> parts;  // [sources, heads, heads]
  for (const Run& run : runs_of(layer.sources)) {
    parts.push_back(joined_gradients_[index].narrow(0, run.first, run.count));
  }
  const at::Tensor all = at::cat(parts);
  const at::Tensor own =
      mixes_heads_ ? all.transpose(0, 1) : all.diagonal(0, 1, 2).t().unsqueeze(2);
  return own.reshape(layer.weights.sizes()).to(layer.weights.scalar_type());
}

}  // namespace lime
