// SPDX-License-Identifier: Apache-2.0
// A results file of lime-metrics: read, written again, read again, as table and as CSV.
#include "fuzz/fuzz_target.h"
#include "store/results_file.h"

using namespace lime;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::scratch_file("results.json", fuzz::text_of(data, size));
  fuzz::reads_or_refuses([&] {
    const Results results = read_results(path);
    const auto again = fuzz::scratch_file("again.json", results_to_json(results));
    const Results copy = read_results(again);
    fuzz::require(copy.rows == results.rows, "rows are kept");
    fuzz::require(results_to_json(copy) == results_to_json(results), "text is kept");
    results_to_csv(results);
  });
  return 0;
}
