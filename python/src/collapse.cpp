// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/collapse/collapse_rows.h"
#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "core/utf8.h"
#include "result_rows.h"
#include "text.h"

namespace lime::python {
namespace {

using TokenTexts = std::map<std::int32_t, std::string>;

/// Texts of token ids; empty for those without.
TokenText text_of(const TokenTexts& texts) {
  return [&texts](std::int32_t token) {
    const auto found = texts.find(token);
    return found == texts.end() ? std::string() : found->second;
  };
}

CollapseOptions collapse_options(const OptionTexts& texts, std::uint64_t seed) {
  CollapseOptions options;
  set_options(options, texts);
  options.summary.seed = seed;
  options.validate();
  return options;
}

/// @param tokens  id of each row; empty: unknown. @param positions  of each row
LayerFacts collapse_layer(const std::vector<RowsF>& sequences,
                          const std::vector<std::int32_t>& tokens,
                          const std::vector<std::int32_t>& positions, int layer,
                          const OptionTexts& texts, std::uint64_t seed, int threads) {
  const CollapseOptions options = collapse_options(texts, seed);
  const std::vector<ConstMatrixRef> refs = matrix_refs(sequences);
  LayerRows rows;
  rows.sequences = {std::ssize(refs), [&refs](std::int64_t index, MatrixF& out) {
                      out = refs[static_cast<std::size_t>(index)];
                    }};
  rows.offsets = {0};
  for (const ConstMatrixRef& one : refs) rows.offsets.push_back(rows.offsets.back() + one.rows());
  rows.tokens = tokens;
  LayerFacts facts;
  facts.layer = layer;
  facts.causes = run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token& stop) {
    return measure_causes(rows, options, pool, {}, stop);
  });
  facts.massive = summarize_massive(facts.causes.massive, tokens, positions);
  facts.findings = findings_of(facts.causes, options);
  return facts;
}

nb::list collapse_ranges(const std::string& label, const std::string& site,
                         const std::vector<LayerFacts>& layers,
                         const std::vector<LayerFacts>& random, const OptionTexts& options,
                         const TokenTexts& texts) {
  TokenTexts shown;
  for (const auto& [token, text] : texts) shown.emplace(token, printable(text));
  nb::list list;
  for (const RangeVerdict& verdict :
       range_verdicts(label, site, layers, random, collapse_options(options, 0), text_of(shown))) {
    list.append(to_dict(verdict.row()));
  }
  return list;
}

}  // namespace

void bind_collapse(nb::module_& module) {
  nb::class_<LayerFacts>(module, "LayerFacts")
      .def_prop_ro("massive_token", [](const LayerFacts& facts) { return facts.massive.token; });
  module.def("collapse_layer", collapse_layer, nb::arg("sequences"), nb::arg("tokens"),
             nb::arg("positions"), nb::arg("layer"), nb::arg("options"), nb::arg("seed"),
             nb::arg("threads"));
  module.def("collapse_row", [](const LayerFacts& facts, const TokenTexts& texts) {
    return to_dict(row_of_facts(facts, text_of(texts)(facts.massive.token)));
  });
  module.def("collapse_ranges", collapse_ranges, nb::arg("label"), nb::arg("site"),
             nb::arg("layers"), nb::arg("random"), nb::arg("options"), nb::arg("texts"));
  module.def("collapse_caveats", [](const std::vector<LayerFacts>& layers, bool has_random) {
    return to_strs(caveats_of(layers, has_random, "random="));
  });
}

}  // namespace lime::python
