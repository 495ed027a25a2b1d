// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_sizes.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

#include "capture/capture_memory.h"
#include "capture/log_likelihood.h"

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

BatchProbe::BatchProbe(const CaptureSetup& setup, const Decoder& decoder)
    : setup_(setup),
      decoder_(decoder),
      longest_first_(static_cast<std::size_t>(setup.input.num_sequences())) {
  std::iota(longest_first_.begin(), longest_first_.end(), std::int64_t{0});
  std::stable_sort(longest_first_.begin(), longest_first_.end(),
                   [&](std::int64_t a, std::int64_t b) {
                     return setup.input.length(a) > setup.input.length(b);
                   });
}

std::int64_t BatchProbe::largest(std::int64_t most) const {
  const std::int64_t available = static_cast<std::int64_t>(longest_first_.size());
  return largest_fitting(setup_.smallest_batch, std::min(most, available),
                         [this](std::int64_t batch_size) { return fits(batch_size); });
}

bool BatchProbe::fits(std::int64_t batch_size) const {
  const std::span sequences(longest_first_.data(), static_cast<std::size_t>(batch_size));
  const at::NoGradGuard no_grad;
  // As many as a pipeline has in flight.
  auto left = static_cast<int>(
      runs_ahead(decoder_.options().devices) ? 2 * decoder_.stages().size() + 1 : 1);
  const int count = left;
  const at::Tensor ids = batch_ids(setup_.input, sequences);
  CapturePasses::Settings settings = setup_.passes;
  settings.edits = nullptr;
  settings.waiting_bytes = ids.numel() * bytes_per_token(settings.points);
  try {
    const auto passes =
        make_passes(decoder_, settings, [&] { return left-- > 0 ? ids : at::Tensor(); });
    for (int pass = 0; pass < count; ++pass) {
      // The transfer to the host also needs memory.
      const ForwardResult result = passes->next(
          [](std::size_t, const at::Tensor& activation) { ActivationRows{activation}; });
      if (setup_.scores) score_sequences(decoder_, result.hidden, setup_.input, sequences);
    }
  } catch (const c10::OutOfMemoryError&) {
    return false;
  }
  return true;
}

namespace {

/// Limit of the rows of whole sequences that are buffered until their window ends.
constexpr std::int64_t kWindowBytes = std::int64_t{64} << 20;

std::int64_t compress_bytes(const CaptureOptions& options, const CapturePlan& plan) {
  if (options.compress == Compression::kNone) return 0;
  std::int64_t longest = 0;
  for (const ActivationInfo& info : plan.activations) longest = std::max(longest, info.dim);
  const std::int64_t value_bytes = options.store == StorageType::kFloat16 ? 2 : 4;
  return compression_bytes({.compress_threads = options.compress_threads()}, longest * value_bytes);
}

CaptureLoad load_of(const CaptureOptions& options, const CaptureSetup& setup,
                    const CapturePlace& place) {
  CaptureLoad load;
  load.is_on_host = place.devices.front().is_cpu();
  load.num_stages = static_cast<int>(place.devices.size());
  if (runs_ahead(place.devices)) {
    load.relayed_bytes_per_token = bytes_per_token(setup.passes.points);
  }
  load.dtype = options.dtype;
  load.longest = setup.input.longest();
  load.num_datasets = static_cast<std::int64_t>(setup.plan.activations.size());
  if (options.rows == RowKind::kTokens) {
    for (const ActivationInfo& info : setup.plan.activations) {
      const bool is_lens = site_kind(info.site, setup.sites) == HookKind::kLogitLens;
      load.bytes_per_token += (is_lens ? setup.config.hidden_size : info.dim) * 4;
    }
  } else {
    load.window_bytes = kWindowBytes;
  }
  load.compress_bytes = compress_bytes(options, setup.plan);
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
  return batch;
}

/// Returns as many sequences as fit on the device, up to the number of tokens beyond which larger
/// passes are not faster.
std::int64_t tried_batch(const CapturePlace& place, const CaptureSetup& setup) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 16;
  const std::int64_t most = std::max(setup.smallest_batch, kMostTokens / setup.input.longest());
  const std::int64_t found = place.largest_batch(setup, most);
  if (found > 0) return found;
  throw InvalidArgument(
      "batch_size: the device's memory is too small for a pass over {} of {} tokens; use a "
      "narrower --dtype, fewer --layers, shorter sequences or another --device",
      setup.smallest_batch == 1 ? "one sequence" : "a pair", setup.input.longest());
}

}  // namespace

void choose_sizes(const CaptureOptions& options, const CaptureTuning& tuning,
                  const CapturePlace& place, CaptureSetup& setup) {
  CaptureLoad load = load_of(options, setup, place);
  std::optional<ByteSize> limit = options.memory_limit;
  std::optional<std::int64_t> batch;
  const std::optional<ResumedBatch> resumed = resumed_batch(options);
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
  limits.batch_size = even(setup.batch_size);
  limits.keeps_duplicates =
      std::ranges::any_of(setup.edits.activations, &ActivationEdit::needs_whole_texts);
  limits.sorts_by_length = !options.keeps_activations() || options.rows != RowKind::kTokens;
  const std::int64_t fitting = kWindowBytes / std::max<std::int64_t>(1, setup.bytes_per_row);
  limits.sequences =
      even(std::clamp(fitting, limits.batch_size, std::max(limits.batch_size, kMaxSequences)));
  if (!setup.batch_is_given) limits.tokens = limits.batch_size * setup.input.longest();
  return limits;
}

}  // namespace lime
