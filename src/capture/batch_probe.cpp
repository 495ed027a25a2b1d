// SPDX-License-Identifier: Apache-2.0
#include "capture/batch_probe.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <numeric>

#include "capture/activation_rows.h"
#include "capture/capture_passes.h"
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

}  // namespace lime
