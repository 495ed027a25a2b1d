// SPDX-License-Identifier: Apache-2.0
#include "analysis/experts/experts_analysis.h"

#include "analysis/engine/capture_rows.h"
#include "analysis/engine/row_summaries.h"
#include "analysis/experts/experts_results.h"

namespace lime {
namespace {

struct ExpertsShared {
  ExpertsOptions options;  ///< with the seed of the interval
  std::vector<ChosenCapture> captures;
  std::vector<std::vector<NamedGroups>> groups;  ///< of each capture
};

std::vector<ChosenCapture> open_routed(const CaptureSetOptions& options) {
  std::vector<ChosenCapture> captures = open_without_parts(options);
  for (ChosenCapture& capture : captures) {
    check_expert_sites(capture.reader);
    select_site(capture, kExpertIndicesSite, options);
  }
  return captures;
}

/// Fails before the computation if a layer cannot be read.
void check_layers(const ChosenCapture& capture) {
  for (const int layer : capture.parts.front().layers) {
    const std::int64_t experts = num_experts_of(capture.reader, layer);
    const std::int64_t selected = capture.reader.dim(kExpertIndicesSite, layer);
    throw_if(selected > experts,
             "{}: layer {} selects {} experts per token, but has {}; were the captured sites of "
             "different models",
             quoted_path(capture.reader), layer, selected, experts);
  }
}

void set_bytes(Unit& unit, const ExpertsShared& shared, const LayerPlace& place) {
  const ChosenCapture& capture = shared.captures[place.capture];
  const std::int64_t experts = num_experts_of(capture.reader, place.layer);
  const std::int64_t selected = capture.reader.dim(kExpertIndicesSite, place.layer);
  const std::int64_t rows =
      capture.reader.offsets()[static_cast<std::size_t>(capture.num_sequences)];
  std::int64_t largest = 0;
  std::int64_t domains = 1;
  for (const NamedGroups& named : shared.groups[place.capture]) {
    largest = std::max(largest, named.groups.num_groups);
    if (named.groups.name == "domain") domains = named.groups.num_groups;
  }
  unit.work = capture.num_sequences;
  unit.bytes = rows * selected * 4 + capture.num_sequences * experts * 8 * (4 + domains) +
               experts * experts * 8 * (shared.options.jackknife + 4) +
               summary_bytes(8, shared.options.summary);
  unit.bytes_per_thread = longest_sequence(capture.reader, capture.num_sequences) * experts * 8 +
                          information_bytes(experts, largest) + rows * 4;
}

}  // namespace

void ExpertsOptions::describe(OptionList& list) {
  captures.describe_layers(list);
  captures.describe_skip_tokens(list);
  captures.describe_max_sequences(list);
  list.add(
      "domains", domains,
      "text file with the domain of each sequence, one per line: information about domains, and "
      "their committee");
  list.add("committee", committee,
           "an expert is in the standing committee if it is among the most loaded ones in this "
           "fraction of the domains, or else documents, in (0, 1]");
  list.add("coactivation", coactivation,
           "write which experts are selected together, a matrix per layer");
  list.add("permutations", permutations,
           fmt::format("permutations behind the information about groups, 0 to {}; 0: none",
                       SummaryOptions::kMaxResamples));
  list.add("jackknife", jackknife,
           "jackknife blocks of sequences, for intervals of information and partners, >= 5 and at "
           "most one per sequence; 0: none");
  summary.describe(list);
}

void ExpertsOptions::validate() const {
  captures.validate();
  check_option(committee > 0.0 && committee <= 1.0, "committee", "in (0, 1]", committee);
  check_option(permutations >= 0 && permutations <= SummaryOptions::kMaxResamples, "permutations",
               fmt::format("from 0 to {}", SummaryOptions::kMaxResamples), permutations);
  check_jackknife(jackknife);
  summary.validate("bootstrap");
}

Analysis prepare_experts(const ExpertsOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<ExpertsShared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_routed(options.captures);
  std::vector<std::string> domains;
  if (!options.domains.empty()) domains = read_domains(options.domains);
  for (const ChosenCapture& capture : shared->captures) {
    check_layers(capture);
    shared->groups.push_back(token_groups(capture, domains));
  }
  Analysis analysis = analysis_of("experts", options, shared->captures);
  if (!options.domains.empty()) {
    analysis.inputs.push_back(
        {options.domains.string(), options.domains.string(), {options.domains}});
  }
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    unit.identity = shared->captures[place.capture].identity;
    set_bytes(unit, *shared, place);
    unit.measure = [shared, place](const UnitContext& context) {
      return experts_result(
          read_routed_layer(shared->captures[place.capture], place.layer, context),
          shared->groups[place.capture], shared->options, context);
    };
  });
  analysis.threads = UnitThreads::kInside;
  analysis.present = [shared](Report& report, auto) {
    std::vector<std::string> inputs;
    for (const ChosenCapture& capture : shared->captures) {
      inputs.push_back(describe_sequences(capture));
    }
    fill_experts_report(report, inputs, shared->options);
  };
  return analysis;
}

}  // namespace lime
