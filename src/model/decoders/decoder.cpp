// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/decoder.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "checkpoint/parameters.h"
#include "checkpoint/router_layout.h"
#include "model/kernels/linear.h"
#include "model/kernels/rotary.h"
#include "model/kernels/sent_to.h"
#include "model/passes/forward_pass.h"
#include "model/passes/output_head.h"
#include "model/passes/side_stream.h"

namespace lime {
namespace {

at::TensorOptions computing_options(const DecoderOptions& options) {
  for (const c10::Device device : options.devices) check_computes(options.dtype, device);
  return at::TensorOptions().dtype(scalar_type(options.dtype)).device(options.devices.front());
}

std::vector<DecoderStage> make_stages(const ModelConfig& config, const DecoderOptions& options) {
  config.validate("decoder");
  check_devices(options.devices);
  const DecoderSizes sizes = decoder_sizes(config);
  const auto bytes = static_cast<std::int64_t>(c10::elementSize(scalar_type(options.dtype)));
  std::vector<DecoderStage> stages;
  for (const LayerRange& layers : plan_stages(sizes, static_cast<int>(options.devices.size()))) {
    stages.push_back({options.devices[stages.size()], layers, sizes.of(layers) * bytes});
  }
  return stages;
}

/// Checks the ids on their original device.
void check_ids(const at::Tensor& ids, std::int64_t vocab_size) {
  throw_if(ids.dim() != 2 || ids.numel() == 0 || ids.scalar_type() != at::kLong,
           "decoder: ids must be int64 [batch, seq] and not empty, got {} [{}]",
           c10::toString(ids.scalar_type()), fmt::join(ids.sizes(), ", "));
  const at::Tensor on_cpu = ids.to(at::kCPU).contiguous();
  const std::int64_t* const begin = on_cpu.data_ptr<std::int64_t>();
  const std::int64_t* const end = begin + on_cpu.numel();
  const auto outside =
      std::find_if(begin, end, [&](std::int64_t id) { return id < 0 || id >= vocab_size; });
  if (outside == end) return;
  const std::int64_t place = outside - begin;
  throw InvalidArgument(
      "decoder: token ids must be from 0 to {}, got {} in sequence {} at position {}",
      vocab_size - 1, *outside, place / ids.size(1), place % ids.size(1));
}

void check_options(const ForwardOptions& options, const ModelConfig& config) {
  const bool has_logits = options.logits != LogitsFor::kNone && !options.stop_after_layer;
  if (has_logits || options.targets.defined()) config.require_head("decoder");
  const std::int64_t num_layers = config.num_hidden_layers;
  if (options.stop_after_layer &&
      (*options.stop_after_layer < 0 || *options.stop_after_layer >= num_layers)) {
    throw InvalidArgument("decoder: stop_after_layer must be from 0 to {}, got {}", num_layers - 1,
                          *options.stop_after_layer);
  }
}

void check_gradients(const ForwardOptions& options, std::size_t num_stages) {
  throw_if(options.cache != nullptr || options.tree != nullptr,
           "decoder: a cache or a tree is for inference; disable gradients first");
  throw_if(num_stages > 1, "decoder: gradients need one device, got {}; disable them first",
           num_stages);
}

/// Copies one tensor of the checkpoint into its parameter, converting it on the way.
void load_parameter(const Checkpoint& checkpoint, const NamedTensor& parameter) {
  const auto read_into = [&](const at::Tensor& to) {
    const auto count = static_cast<std::size_t>(to.numel());
    if (to.scalar_type() == at::kDouble) {
      checkpoint.read(parameter.name, std::span(to.data_ptr<double>(), count));
    } else {
      checkpoint.read(parameter.name, std::span(to.data_ptr<float>(), count));
    }
  };
  const at::Tensor& to = parameter.tensor;
  if (to.is_cpu() && is_wide_type(to) && to.is_contiguous()) {
    read_into(to);
    return;
  }
  const at::Tensor staged = at::empty(
      to.sizes(), at::TensorOptions(to.scalar_type() == at::kDouble ? at::kDouble : at::kFloat));
  read_into(staged);
  to.copy_(staged);
}

}  // namespace

struct Decoder::Impl {
  Impl(const ModelConfig& model_config, const DecoderOptions& decoder_options)
      : config(model_config),
        options(decoder_options),
        stages(make_stages(config, options)),
        weights(config, computing_options(options), stages),
        frequencies() {
    for (const RopeSpec& rope : config.spec.ropes) {
      frequencies.push_back(
          rotary_frequencies(rope, config.rotary_dim(), scalar_type(options.dtype)));
    }
    for (std::size_t i = 1; i < stages.size(); ++i) {
      links.push_back(std::make_unique<DeviceLink>(stages[i - 1].device, stages[i].device));
    }
  }

  /// Begins a pass over checked ids.
  std::unique_ptr<ForwardPass> begin(const at::Tensor& ids, const ForwardOptions& forward,
                                     Workspace* workspace) const {
    auto pass = std::make_unique<ForwardPass>(
        ForwardPass::Model{config, options, weights, frequencies}, forward, workspace);
    pass->begin(sent_to(stages.front().device, ids));
    return pass;
  }

  ModelConfig config;
  DecoderOptions options;
  std::vector<DecoderStage> stages;
  DecoderWeights weights;
  std::vector<at::Tensor> frequencies;             // of DecoderSpec::ropes
  std::vector<std::unique_ptr<DeviceLink>> links;  // from stage i to stage i + 1
};

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

Decoder::Decoder(const ModelConfig& config, std::uint64_t seed, const DecoderOptions& options)
    : impl_(std::make_unique<Impl>(config, options)) {
  initialize_weights(impl_->weights, config, seed);
}

const ModelConfig& Decoder::config() const { return impl_->config; }
const DecoderOptions& Decoder::options() const { return impl_->options; }
const std::vector<DecoderStage>& Decoder::stages() const { return impl_->stages; }

std::vector<DeviceLink::Traffic> Decoder::traffic() const {
  std::vector<DeviceLink::Traffic> traffic;
  for (const auto& link : impl_->links) traffic.push_back(link->traffic());
  return traffic;
}

const std::vector<NamedTensor>& Decoder::parameters() const { return impl_->weights.parameters; }

const at::Tensor& Decoder::parameter(std::string_view name) const {
  for (const NamedTensor& entry : parameters()) {
    if (entry.name == name) return entry.tensor;
  }
  throw InvalidArgument("decoder: unknown parameter '{}'", name);
}

void Decoder::set_requires_grad(bool requires_grad) {
  for (const NamedTensor& entry : parameters()) entry.tensor.set_requires_grad(requires_grad);
}

ForwardResult Decoder::forward(const at::Tensor& ids, const ForwardOptions& options) const {
  check_ids(ids, impl_->config.vocab_size);
  check_options(options, impl_->config);
  if (c10::GradMode::is_enabled() && impl_->weights.requires_grad()) {
    check_gradients(options, stages().size());
    const auto pass = impl_->begin(ids, options, nullptr);
    pass->run_layers(stages().front().layers);
    return pass->end();
  }
  const at::NoGradGuard no_grad;
  Workspace local;
  Workspace* const workspace = options.workspace != nullptr ? options.workspace : &local;
  const auto pass = impl_->begin(ids, options, workspace);
  const std::size_t last = last_stage(options.stop_after_layer);
  for (std::size_t stage = 0; stage <= last; ++stage) run_stage(*pass, stage, stage < last);
  return pass->end();
}

std::unique_ptr<ForwardPass> Decoder::begin_pass(const at::Tensor& ids,
                                                 const ForwardOptions& options) const {
  check_ids(ids, impl_->config.vocab_size);
  check_options(options, impl_->config);
  const at::NoGradGuard no_grad;
  return impl_->begin(ids, options, options.workspace);
}

void Decoder::run_stage(ForwardPass& pass, std::size_t stage, bool has_next) const {
  const at::NoGradGuard no_grad;
  if (stage > 0) pass.arrive();
  pass.run_layers(stages()[stage].layers);
  if (has_next) pass.depart(*impl_->links[stage]);
}

std::size_t Decoder::last_stage(std::optional<int> stop_after_layer) const {
  std::size_t stage = 0;
  const int last_layer = stop_after_layer.value_or(stages().back().layers.end() - 1);
  while (stages()[stage].layers.end() <= last_layer) ++stage;
  return stage;
}

at::Tensor Decoder::logits_of(const at::Tensor& hidden) const {
  const at::NoGradGuard no_grad;
  impl_->config.require_head("decoder");
  const DecoderSpec& spec = impl_->config.spec;
  const at::Tensor normalized =
      spec.has_final_norm
          ? apply_norm(hidden, impl_->weights.final_norm, spec.norm, impl_->options.rms_norm_cast)
          : hidden;
  return output_logits(normalized, impl_->weights, spec);
}

Decoder load_decoder(const Checkpoint& checkpoint, const DecoderOptions& options,
                     const ProgressFn& on_progress) {
  auto impl = std::make_unique<Decoder::Impl>(checkpoint.config(), options);
  const at::NoGradGuard no_grad;
  Progress progress;
  const auto size_of = [](const NamedTensor& parameter) {
    return static_cast<std::int64_t>(parameter.tensor.nbytes());
  };
  for (const NamedTensor& parameter : impl->weights.parameters) {
    progress.total += size_of(parameter);
  }
  for (const NamedTensor& parameter : impl->weights.parameters) {
    if (on_progress) on_progress(progress);
    load_parameter(checkpoint, parameter);
    progress.done += size_of(parameter);
  }
  return Decoder(std::move(impl));
}

void load_blocks(const Checkpoint& checkpoint, const Decoder& decoder) {
  std::set<std::string> of_checkpoint;
  for (const ParameterSpec& spec : parameter_specs(checkpoint.config())) {
    of_checkpoint.insert(spec.name);
  }
  const at::NoGradGuard no_grad;
  for (const ParameterSpec& spec : parameter_specs(decoder.config())) {
    if (of_checkpoint.erase(spec.name) > 0) {
      load_parameter(checkpoint, {spec.name, decoder.parameter(spec.name)});
    } else if (!is_routing(spec.part)) {
      throw InvalidArgument(
          OptionName("decoder"), "'{}' needs '{}', which '{}' lacks; train a new model with it",
          enum_name(decoder.config().routing), spec.name, checkpoint.path().string());
    }
  }
  throw_if(!of_checkpoint.empty(), OptionName("decoder"),
           "'{}' has no parameter '{}', which '{}' contains; train a new model with it",
           enum_name(decoder.config().routing), *of_checkpoint.begin(), checkpoint.path().string());
}

void apply_router_edits(const std::vector<RouterEdit>& edits, const Decoder& decoder) {
  if (edits.empty()) return;
  const ModelConfig& config = decoder.config();
  check_router_edits(edits, config);
  const RouteScales scales(edits);
  const at::NoGradGuard no_grad;
  const std::int64_t heads = config.num_key_value_heads;
  const std::int64_t mixed = config.lime.head_mixing ? heads : 1;
  for (std::int64_t layer = 1; layer < config.num_hidden_layers; ++layer) {
    const std::vector<std::int64_t> sources = router_sources(config.lime, layer);
    const at::Tensor router =
        decoder.parameter(layer_parameter(config, layer, "self_attn.lime_router.static_weights"))
            .view({heads, std::ssize(sources), mixed, -1});
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t place = 0; place < std::ssize(sources); ++place) {
        for (std::int64_t other = 0; other < mixed; ++other) {
          const double scale =
              scales.at(layer, head, sources[place], config.lime.head_mixing ? other : head);
          if (scale != 1.0) router[head][place][other].mul_(scale);
        }
      }
    }
  }
}

}  // namespace lime
