// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_sizes.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <numeric>

#include "capture/activation_rows.h"
#include "capture/scores.h"
#include "model/kernels/rotary.h"

namespace lime {

at::Tensor batch_ids(const CaptureInput& input, std::span<const std::int64_t> sequences) {
  std::int64_t longest = 0;
  for (const std::int64_t s : sequences) longest = std::max(longest, input.length(s));
  const auto count = static_cast<std::int64_t>(sequences.size());
  at::Tensor ids = at::zeros({count, longest}, at::kLong);
  std::int64_t* row = ids.data_ptr<std::int64_t>();
  for (const std::int64_t s : sequences) {
    const auto from = input.ids_of(s);
    std::copy(from.begin(), from.end(), row);
    row += longest;
  }
  return ids;
}

std::int64_t largest_fitting(std::int64_t step, std::int64_t most,
                             const std::function<bool(std::int64_t)>& fits) {
  std::int64_t good = 0;               // in steps, as are all values here
  std::int64_t bad = most / step + 1;  // never tried
  for (std::int64_t next = 1; next < bad; next = std::min(2 * next, bad - 1)) {
    if (!fits(next * step)) {
      bad = next;
      break;
    }
    good = next;
    if (next == bad - 1) break;
  }
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle * step) ? good : bad) = middle;
  }
  return good * step;
}

std::int64_t largest_batch(const CaptureSetup& setup, const Decoder& decoder, std::int64_t most) {
  std::vector<std::int64_t> longest_first(setup.input.sequences.size());
  std::iota(longest_first.begin(), longest_first.end(), 0);
  std::ranges::stable_sort(longest_first, std::greater(),
                           [&](std::int64_t s) { return setup.input.length(s); });
  const auto fits = [&](std::int64_t batch_size) {
    const auto sequences = std::span(longest_first).first(static_cast<std::size_t>(batch_size));
    const at::NoGradGuard no_grad;
    // As many as a pipeline has in flight.
    auto left = static_cast<int>(
        runs_ahead(decoder.options().devices) ? 2 * decoder.stages().size() + 1 : 1);
    const int count = left;
    const at::Tensor ids = batch_ids(setup.input, sequences);
    CapturePasses::Settings settings = setup.passes;
    settings.edits = nullptr;
    settings.waiting_bytes = ids.numel() * bytes_per_token(settings.points);
    try {
      const auto passes =
          make_passes(decoder, settings, [&] { return left-- > 0 ? ids : at::Tensor(); });
      for (int pass = 0; pass < count; ++pass) {
        // The transfer to the host also needs memory.
        const ForwardResult result = passes->next(
            [](std::size_t, const at::Tensor& activation) { ActivationRows{activation}; });
        if (setup.scores) score_sequences(decoder, result.hidden, setup.input, sequences);
      }
    } catch (const c10::OutOfMemoryError&) {
      return false;
    }
    return true;
  };
  return largest_fitting(setup.smallest_batch, std::min(most, std::ssize(longest_first)), fits);
}

namespace {

/// Limit of the rows of whole sequences that are buffered until their window ends.
constexpr std::int64_t kWindowBytes = std::int64_t{64} << 20;

/// Limit of the shards that are written at once. One file takes 2 to 3 GB/s, whatever the number of
/// threads, since Linux locks a file while it is written; a GPU computes about 30 GB/s.
constexpr std::int64_t kMostAtOnce = 8;
/// Bytes that are worth a file of their own.
constexpr std::int64_t kLeastBytesAtOnce = std::int64_t{256} << 20;

/// Returns the threads that check and write the rows of each shard.
int writer_threads_of(const CaptureOptions& options, std::int64_t shards_at_once) {
  return std::max(1, options.writer_threads() / static_cast<int>(shards_at_once));
}

std::int64_t chunk_bytes(const CaptureOptions& options, const CapturePlan& plan,
                         std::int64_t shards_at_once) {
  std::int64_t longest = 0;
  for (const ActivationInfo& info : plan.activations) longest = std::max(longest, info.dim);
  const std::int64_t value_bytes = options.store == StorageType::kFloat16 ? 2 : 4;
  const int threads = writer_threads_of(options, shards_at_once);
  return shards_at_once * chunk_memory({.threads = threads}, longest * value_bytes);
}

/// Returns how many shards may be written at once.
std::int64_t most_at_once(const CaptureOptions& options, const CaptureTuning& tuning,
                          const CapturePlace& place, const CaptureSetup& setup) {
  // Several processes already write several files. Pooled rows, pairs and edits depend on which
  // sequences share a pass, and so do sequences with different rotary angles.
  const bool can_share = options.share().is_whole() && options.keeps_activations() &&
                         options.rows == RowKind::kTokens && options.pairs.empty() &&
                         setup.edits.activations.empty() &&
                         !rotates_differently(setup.config.spec.ropes, 1, setup.input.longest());
  if (!can_share) return 1;
  if (tuning.shards_at_once) return *tuning.shards_at_once;
  if (place.devices.front().is_cpu()) return 1;
  const std::int64_t bytes = setup.selection->num_rows() * setup.bytes_per_row;
  return std::clamp<std::int64_t>(bytes / kLeastBytesAtOnce, 1, kMostAtOnce);
}

/// Returns the largest divisor of `batch_size` up to `most`: every shard has as many sequences of a
/// pass as the others.
std::int64_t shards_of_pass(std::int64_t batch_size, std::int64_t most) {
  std::int64_t count = std::min(batch_size, most);
  while (batch_size % count != 0) --count;
  return count;
}

CaptureLoad load_of(const CaptureOptions& options, const CaptureSetup& setup,
                    const CapturePlace& place, std::int64_t shards_at_once) {
  CaptureLoad load;
  load.is_on_host = place.devices.front().is_cpu();
  load.num_stages = static_cast<int>(place.devices.size());
  if (runs_ahead(place.devices)) {
    load.relayed_bytes_per_token = bytes_per_token(setup.passes.points);
  }
  load.dtype = options.dtype;
  load.longest = setup.input.longest();
  load.num_datasets = shards_at_once * std::ssize(setup.plan.activations);
  if (options.rows == RowKind::kTokens) {
    for (const ActivationInfo& info : setup.plan.activations) {
      const bool is_lens = site_kind(info.site, setup.sites) == HookKind::kLogitLens;
      load.bytes_per_token += (is_lens ? setup.config.hidden_size : info.dim) * 4;
    }
  } else {
    load.window_bytes = kWindowBytes;
  }
  load.chunk_bytes = chunk_bytes(options, setup.plan, shards_at_once);
  load.keeps_patterns =
      std::ranges::find(setup.sites, HookKind::kPattern, &CaptureSite::kind) != setup.sites.end();
  load.smallest_batch = setup.smallest_batch;
  return load;
}

/// Sequences per pass of the run to resume.
struct ResumedBatch {
  std::int64_t sequences = 0;
  /// Whether the user gave the number; earlier versions did not store it.
  std::optional<bool> is_given = std::nullopt;
  std::int64_t shards_at_once = 1;
};

/// Returns the batch of the run to resume, which uses the same passes even if memory and limit have
/// changed.
std::optional<ResumedBatch> resumed_batch(const CaptureOptions& options) {
  if (!options.resumes()) return std::nullopt;
  const std::optional<CaptureInfo> started = unfinished_info(options.output);
  if (!started) return std::nullopt;
  const Json sequences = started->options.value("batch_size", Json());
  if (!sequences.is_number_integer() || sequences < 1) return std::nullopt;
  ResumedBatch batch{.sequences = sequences.get<std::int64_t>()};
  const Json is_given = started->extra.value("batch_size_given", Json());
  if (is_given.is_boolean()) batch.is_given = is_given.get<bool>();
  const Json at_once = started->extra.value("shards_at_once", Json());
  const bool is_valid = at_once.is_number_integer() && at_once > 0 && at_once <= batch.sequences;
  if (is_valid) batch.shards_at_once = at_once.get<std::int64_t>();
  return batch;
}

/// Returns as many sequences as fit on the device, up to the number of tokens beyond which larger
/// passes are not faster.
std::int64_t tried_batch(const CapturePlace& place, const CaptureSetup& setup) {
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 16;
  const std::int64_t most = std::max(setup.smallest_batch, kMaxTokens / setup.input.longest());
  const std::int64_t found = place.largest_batch(setup, most);
  if (found > 0) return found;
  throw InvalidArgument(OptionName("batch_size"),
                        "the device's memory is too small for a pass over {} of {} tokens; use a "
                        "narrower --dtype, fewer --layers, shorter sequences or another --device",
                        setup.smallest_batch == 1 ? "one sequence" : "a pair",
                        setup.input.longest());
}

}  // namespace

void choose_sizes(const CaptureOptions& options, const CaptureTuning& tuning,
                  const CapturePlace& place, CaptureSetup& setup) {
  std::optional<ByteSize> limit = options.memory_limit;
  std::optional<std::int64_t> batch;
  const std::optional<ResumedBatch> resumed = resumed_batch(options);
  const std::int64_t at_once =
      resumed ? resumed->shards_at_once : most_at_once(options, tuning, place, setup);
  CaptureLoad load = load_of(options, setup, place, at_once);
  const bool is_automatic = options.batch_size && options.batch_size->is_automatic;
  const bool is_given = options.batch_size && !is_automatic;
  if (is_given) {
    batch = options.batch_size->sequences;
    load.requested_batch = batch;
  } else if (resumed) {
    batch = resumed->sequences;
    load.resumed_batch = batch;
  } else if (is_automatic && place.largest_batch) {
    batch = tried_batch(place, setup);
  }
  if (is_automatic && !limit) limit = ByteSize{resident_memory() + available_memory()};
  const std::int64_t usual = choose_batch_size(batch, setup.input.longest());
  const MemoryPlan plan = plan_capture_memory(setup.config, load, usual, tuning.queue_bytes, limit);
  setup.batch_size = plan.batch_size;
  setup.shards_at_once = shards_of_pass(setup.batch_size, at_once);
  setup.writer_threads = writer_threads_of(options, setup.shards_at_once);
  setup.batch_is_given = resumed && resumed->is_given ? *resumed->is_given : is_given;
  setup.queue_bytes = plan.queue_bytes;
  setup.passes.waiting_bytes = static_cast<std::size_t>(load.relay_bytes(plan.batch_size));
  setup.preview.memory_bytes = plan.memory.total();
}

WindowLimits plan_passes(const CaptureOptions& options, const CaptureSetup& setup) {
  constexpr std::int64_t kMaxSequences = std::int64_t{1} << 14;
  const auto even = [&](std::int64_t count) {
    return options.pairs.empty() ? count : count + count % 2;
  };
  WindowLimits limits;
  limits.batch_size = even(setup.batch_size) / setup.shards_at_once;
  limits.ropes = setup.config.spec.ropes;
  limits.keeps_duplicates =
      std::ranges::any_of(setup.edits.activations, &ActivationEdit::needs_whole_texts);
  limits.sorts_by_length = !options.keeps_activations() || options.rows != RowKind::kTokens;
  const std::int64_t fitting = kWindowBytes / std::max<std::int64_t>(1, setup.bytes_per_row);
  limits.sequences =
      even(std::clamp(fitting, limits.batch_size, std::max(limits.batch_size, kMaxSequences)));
  if (!setup.batch_is_given) limits.tokens = limits.batch_size * setup.input.longest();
  return limits;
}

namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
/// A smaller queue would stall the model at every batch.
constexpr std::int64_t kSmallestQueue = 32 * kMebibyte;
/// Maximum size of a chunk of a dataset.
constexpr std::int64_t kChunkBytes = 4 * kMebibyte;
/// Memory of allocators, threads and matrix product buffers in addition to the tensors.
constexpr std::int64_t kOverhead = 96 * kMebibyte;

std::int64_t element_bytes(ComputeType dtype) {
  return static_cast<std::int64_t>(c10::elementSize(scalar_type(dtype)));
}

/// Returns the weights plus, while loading, the largest one as float32.
std::int64_t weight_bytes(const ModelConfig& config, const CaptureLoad& load) {
  std::int64_t elements = 0;
  std::int64_t largest = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    const std::int64_t count = element_count(spec.shape);
    elements += count;
    largest = std::max(largest, count);
  }
  const std::int64_t size = element_bytes(load.dtype);
  if (!load.is_on_host) return largest * std::max<std::int64_t>(size, 4);
  const bool is_staged = size < 4;
  return elements * size + (is_staged ? largest * 4 : 0);
}

std::string size_text(std::int64_t bytes) { return human_bytes(static_cast<double>(bytes)); }

struct RoutingElements {
  std::int64_t carried = 0;  ///< the stream and the outputs of earlier layers
  std::int64_t mix = 0;      ///< the mix of those outputs
};

/// Returns the elements per token that a routing needs.
RoutingElements routing_elements(const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t kv = config.num_key_value_heads * config.head_dim;
  const std::int64_t layers = config.num_hidden_layers;
  switch (config.routing) {
    case DepthRouting::kLime:
      if (config.lime.router == RouterKind::kNone) break;
      return {hidden + layers * 2 * kv, 2 * kv};
    case DepthRouting::kDenseFormer: return {(layers + 2) * hidden, 0};
    case DepthRouting::kHyperConnections:
      return {config.hyper_connections.rate * hidden, (config.hyper_connections.rate + 1) * hidden};
    case DepthRouting::kResFormer: return {hidden + kv, kv};
    case DepthRouting::kAttentionResiduals:
      return {(2 + (config.attn_res.num_blocks == 0 ? 2 * layers : config.attn_res.num_blocks)) *
                  hidden,
              2 * hidden};
    case DepthRouting::kManifoldHyperConnections:
      return {config.mhc.hc_mult * hidden, (config.mhc.hc_mult + 1) * hidden};
    case DepthRouting::kDepthAttention:
      return {hidden + std::ssize(depth_attention_sources(config, layers - 1)) * 2 * kv, kv};
    case DepthRouting::kMudd: return {(layers + 5) * hidden, 5 * hidden};
    case DepthRouting::kNone: break;
  }
  return {hidden, 0};
}

std::int64_t elements_per_token(const ModelConfig& config, const CaptureLoad& load) {
  // Scores, and the pattern computed from them.
  const std::int64_t patterns = 2 * config.num_attention_heads * load.longest;
  return pass_elements_per_token(config) + (load.keeps_patterns ? patterns : 0);
}

/// Returns the bytes of a pass on one device, or of all passes in flight in a pipeline, where
/// transferred tensors exist on both sides of a stage boundary, plus the copied activations.
std::int64_t bytes_of_passes(const ModelConfig& config, const CaptureLoad& load) {
  const std::int64_t relayed = load.num_stages * load.relayed_bytes_per_token;
  if (!load.is_on_host) return relayed;
  std::int64_t elements = elements_per_token(config, load);
  if (load.num_stages > 1) {
    elements = 2 * load.num_stages * (elements + 2 * carried_elements_per_token(config));
  }
  return relayed + elements * element_bytes(load.dtype);
}

/// Memory of a capture as a function of its batch and queue sizes.
class MemoryModel {
 public:
  MemoryModel(const ModelConfig& config, const CaptureLoad& load)
      : load_(load),
        program_(resident_memory() + kOverhead),
        weights_(weight_bytes(config, load)),
        pass_per_sequence_(load.longest * (bytes_of_passes(config, load) + load.bytes_per_token)) {}

  CaptureMemory of(std::int64_t batch_size, std::int64_t queue_bytes) const {
    CaptureMemory memory;
    memory.program = program_;
    memory.weights = weights_;
    memory.pass = batch_size * pass_per_sequence_;
    // A batch larger than the queue passes through it alone.
    memory.waiting = std::max(queue_bytes, batch_size * load_.longest * load_.bytes_per_token) +
                     load_.window_bytes + load_.chunk_bytes + load_.num_datasets * kChunkBytes;
    return memory;
  }

  /// Returns the largest batch up to `most` that fits with the smallest queue, by halving; 0 if
  /// none does.
  std::int64_t largest_batch(std::int64_t most, std::int64_t limit) const {
    for (std::int64_t batch = most; batch >= load_.smallest_batch; batch /= 2) {
      const std::int64_t whole = batch / load_.smallest_batch * load_.smallest_batch;
      if (of(whole, kSmallestQueue).total() <= limit) return whole;
    }
    return 0;
  }

 private:
  const CaptureLoad& load_;
  std::int64_t program_;
  std::int64_t weights_;
  std::int64_t pass_per_sequence_;
};

/// Returns the limit to report for this many bytes: 2% more, because the program grows slightly.
std::int64_t limit_mebibytes(std::int64_t bytes) {
  return static_cast<std::int64_t>(
      std::ceil(1.02 * static_cast<double>(bytes) / static_cast<double>(kMebibyte)));
}

[[noreturn]] void refuse(const CaptureLoad& load, const CaptureMemory& least, ByteSize limit) {
  throw InvalidArgument(
      OptionName("memory_limit"),
      "{} is too little for weights of {}, a pass over {} of up to {} tokens with "
      "{}, {} of write buffers and {} of the program; pass --memory-limit {}MiB or more, a "
      "narrower --dtype, fewer --layers or shorter sequences",
      limit.to_string(), size_text(least.weights),
      load.smallest_batch == 1 ? "one sequence" : "a pair", load.longest, size_text(least.pass),
      size_text(least.waiting), size_text(least.program), limit_mebibytes(least.total()));
}

}  // namespace

std::int64_t carried_elements_per_token(const ModelConfig& config) {
  return routing_elements(config).carried;
}

std::int64_t pass_elements_per_token(const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  const std::int64_t q = config.num_attention_heads * config.head_dim;
  const std::int64_t kv = config.num_key_value_heads * config.head_dim;
  const auto [carried, mix] = routing_elements(config);
  // The normalised stream and the branch output; projections before and after rotation, attention
  // input; gate, up and their product; the stream itself and the outputs of earlier layers.
  // Experts: their outputs; logits, weights and indices, of 8 bytes; the shared expert as an MLP.
  const DecoderSpec& spec = config.spec;
  std::int64_t inner = 0;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    std::int64_t own = 3 * config.mlp_width(layer);
    if (const ExpertsSpec* const experts = spec.experts_of(layer)) {
      const std::int64_t selected = experts->num_experts_per_tok;
      own += selected * (2 * hidden + 4) + 2 * experts->num_experts;
      if (experts->shared_intermediate_size)
        own += 3 * *experts->shared_intermediate_size + 3 * hidden;
    }
    inner = std::max(inner, own);
  }
  std::int64_t elements = 3 * hidden + 3 * q + 4 * kv + inner + carried + mix;
  if (spec.qk_norm != QkNorm::kNone) elements += q + kv;
  if (spec.norm_placement != NormPlacement::kBefore) elements += hidden;
  if (spec.parallel_residual || spec.residual_multiplier != 1.0) elements += hidden;
  return elements;
}

MemoryPlan plan_capture_memory(const ModelConfig& config, const CaptureLoad& load,
                               std::int64_t batch_size, std::size_t queue_bytes,
                               std::optional<ByteSize> limit) {
  const MemoryModel model(config, load);
  const auto most = static_cast<std::int64_t>(queue_bytes);
  MemoryPlan plan{batch_size, queue_bytes, model.of(batch_size, most)};
  if (!limit || plan.memory.total() <= limit->bytes) return plan;
  plan.batch_size = model.largest_batch(batch_size, limit->bytes);
  if (load.resumed_batch && plan.batch_size < batch_size) {
    const std::int64_t needed = model.of(batch_size, kSmallestQueue).total();
    throw InvalidArgument(OptionName("memory_limit"),
                          "the capture was started with passes of {} sequences of up to {} tokens, "
                          "which need {}, more than {}; resume with --memory-limit {}MiB or more",
                          batch_size, load.longest, size_text(needed), limit->to_string(),
                          limit_mebibytes(needed));
  }
  if (plan.batch_size == 0) refuse(load, model.of(load.smallest_batch, kSmallestQueue), *limit);
  if (load.requested_batch && plan.batch_size < batch_size) {
    throw InvalidArgument(OptionName("memory_limit"),
                          "{} sequences of up to {} tokens per pass need {}, more than {}; "
                          "--batch-size {} fits",
                          batch_size, load.longest,
                          size_text(model.of(batch_size, kSmallestQueue).total()),
                          limit->to_string(), plan.batch_size);
  }
  const std::int64_t rest =
      limit->bytes - model.of(plan.batch_size, kSmallestQueue).total() + kSmallestQueue;
  plan.queue_bytes = static_cast<std::size_t>(std::clamp(rest, kSmallestQueue, most));
  plan.memory = model.of(plan.batch_size, static_cast<std::int64_t>(plan.queue_bytes));
  return plan;
}

}  // namespace lime
