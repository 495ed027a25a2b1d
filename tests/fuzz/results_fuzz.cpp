// SPDX-License-Identifier: Apache-2.0
// A results file of lime-metrics: read, written and read again, as table and as CSV, and every
// figure of its metric.
#include "core/errors.h"
#include "fuzz/fuzz_target.h"
#include "store/results_file.h"
#include "viz/figure_file.h"
#include "viz/figure_pgfplots.h"
#include "viz/recipes/recipe.h"

using namespace lime;

namespace {

/// Builds the figure, as CSV and for LaTeX, or catches the error, whose message may quote
/// multi-line texts of the file.
void build(const FigureSource& source, const std::string& kind) {
  try {
    const Figure figure = make_figure({&source, 1}, {.kind = kind});
    fuzz::require(!figure.panels.empty(), "a figure has panels");
    figure_to_csv(figure);
    figure_to_pgfplots(figure, {});
  } catch (const Error& refusal) {
    static_cast<void>(refusal);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = fuzz::scratch_file("results.json", fuzz::text_of(data, size));
  fuzz::reads_or_refuses([&] {
    const Results results = read_results(path);
    const auto again = fuzz::scratch_file("again.json", results_to_json(results));
    const Results copy = read_results(again);
    fuzz::require(results_to_json(copy) == results_to_json(results), "text is kept");
    results_to_csv(results);
    const FigureSource source{path, results};
    for (const Recipe* const recipe : recipes_of(results.metric)) build(source, recipe->name);
  });
  return 0;
}
