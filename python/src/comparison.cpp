// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "metrics/comparison/paired_comparison.h"
#include "metrics/comparison/significance.h"
#include "metrics/jackknife.h"
#include "metrics/summary.h"

namespace lime::python {
namespace {

nb::dict summary(const Column<double>& values, std::int64_t resamples, double confidence,
                 std::uint64_t seed) {
  const SummaryOptions options = {.confidence = confidence, .resamples = resamples, .seed = seed};
  options.validate();
  const Summary found = run_with_threads(
      1, [&](ThreadPool&, const std::stop_token&) { return summarize(span_of(values), options); });
  nb::dict result;
  result["n"] = found.n;
  result["mean"] = found.mean;
  result["std"] = found.std;
  result["ci_low"] = found.ci_low;
  result["ci_high"] = found.ci_high;
  return result;
}

nb::dict compare(const Column<double>& first, const Column<double>& second, double confidence,
                 std::int64_t resamples, std::uint64_t seed) {
  const PairedComparison found = run_with_threads(1, [&](ThreadPool&, const std::stop_token&) {
    return compare_paired(span_of(first), span_of(second),
                          {.confidence = confidence, .resamples = resamples, .seed = seed});
  });
  nb::dict result;
  result["n"] = found.n;
  result["difference"] = found.difference;
  result["std"] = found.std;
  result["ci_low"] = found.ci_low;
  result["ci_high"] = found.ci_high;
  result["p_value"] = found.p_value;
  result["exact"] = found.exact;
  return result;
}

}  // namespace

void bind_comparison(nb::module_& module) {
  module.def("summarize", summary);
  module.def("compare_paired", compare);
  module.def("cut_into_blocks", [](std::int64_t num_items, std::int64_t num_blocks) {
    std::vector<std::pair<std::int64_t, std::int64_t>> ends;
    for (const Block& block : cut_into_blocks(num_items, num_blocks)) {
      ends.emplace_back(block.first, block.last);
    }
    return ends;
  });
  module.def("jackknife", [](double all, const Column<double>& without, double confidence) {
    Jackknife found = jackknife(all, span_of(without), confidence);
    nb::dict result;
    result["standard_error"] = found.standard_error;
    result["ci_low"] = found.ci_low;
    result["ci_high"] = found.ci_high;
    result["pseudo_values"] = to_numpy(std::move(found.pseudo_values));
    return result;
  });
  module.def("holm_adjusted", [](const Column<double>& p_values) {
    return to_numpy(holm_adjusted(span_of(p_values)));
  });
}

}  // namespace lime::python
