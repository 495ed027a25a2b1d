// SPDX-License-Identifier: Apache-2.0
#include "analysis/experts/experts_analysis.h"

#include <cmath>

#include "analysis/effects/effects.h"
#include "analysis/engine/capture_rows.h"
#include "analysis/engine/row_summaries.h"
#include "analysis/experts/experts_results.h"
#include "store/results/matrix_rows.h"

namespace lime {
namespace {

struct ExpertsShared {
  ExpertsOptions options;  ///< with the seed of the interval
  std::vector<ChosenCapture> captures;
  std::vector<std::vector<NamedGroups>> groups;  ///< of each capture
  std::optional<SweepEffects> effects;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< may be null
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
             "{}: layer {} selects {} experts per token, but has {}; capture its "
             "sites from one model",
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

void check_sequences(const ExpertsShared& shared) {
  if (!shared.options.sequence) return;
  for (const ChosenCapture& capture : shared.captures) {
    throw_if(*shared.options.sequence >= capture.num_sequences, OptionName("sequence"),
             "must be < {}, the number of sequences of {}, got {}", capture.num_sequences,
             quoted_path(capture.reader), *shared.options.sequence);
  }
}

/// Adds a row per token of the sequence: its experts, the one with the largest weight first.
void add_tokens(const ExpertsShared& shared, const LayerPlace& place, UnitResult& result) {
  const std::int64_t sequence = *shared.options.sequence;
  const CaptureReader& capture = shared.captures[place.capture].reader;
  const MatrixF experts = capture.read_sequence(kExpertIndicesSite, place.layer, sequence);
  MatrixF weights;
  if (capture.has(kExpertWeightsSite, place.layer)) {
    weights = capture.read_sequence(kExpertWeightsSite, place.layer, sequence);
  }
  const std::int64_t first = capture.offsets()[static_cast<std::size_t>(sequence)];
  for (Eigen::Index t = 0; t < experts.rows(); ++t) {
    const auto at = static_cast<std::size_t>(first + t);
    const std::int32_t token = capture.rows().token[at];
    Eigen::Index largest = 0;
    if (weights.size() > 0) weights.row(t).maxCoeff(&largest);
    ResultRow& row =
        result.rows.emplace_back(ResultRow{{col::kKind, "token"},
                                           {col::kSequence, sequence},
                                           {col::kPosition, capture.rows().position[at]},
                                           {col::kToken, token}});
    if (shared.tokenizer) row.set(col::kText, shared.tokenizer->token_text(token));
    row.set(col::kExpert, std::llround(experts(t, largest)));
    if (weights.size() > 0) row.set(col::kWeight, weights(t, largest));
    const VectorD all = experts.row(t).transpose().cast<double>();
    row.set(col::kExperts, std::vector<double>(all.begin(), all.end()));
  }
}

void open_effects(ExpertsShared& shared, Analysis& analysis) {
  const std::filesystem::path& path = shared.options.effects;
  if (path.empty()) return;
  throw_if(shared.captures.size() != 1, OptionName("effects"),
           "belongs to one model, got {} captures; run the command for each",
           shared.captures.size());
  const CaptureReader& capture = shared.captures.front().reader;
  shared.effects.emplace(path, "experts", std::vector<std::string>{"expert"});
  shared.effects->check_model(capture.info().checkpoint_sha256, capture.path().string());
  analysis.inputs.push_back(shared.effects->input());
  const std::string warning = shared.effects->warning_on_text(capture.info().input_sha256);
  if (!warning.empty()) analysis.warnings.push_back(warning);
}

/// Returns the load of every expert beside the effect of its removal.
std::vector<ResultRow> rows_of_effects(const ExpertsShared& shared,
                                       std::span<const UnitResult> units,
                                       std::span<const int> layers) {
  std::vector<ComponentMass> loads;
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const ResultRow* const row : rows_with(units[i].rows, {{col::kKind, "load"}})) {
      const std::vector<double>& shares = array_in(*row, col::kShare).values;
      for (std::size_t expert = 0; expert < shares.size(); ++expert) {
        loads.push_back({{{col::kLayer, layers[i]}, {col::kExpert, expert}}, shares[expert]});
      }
    }
  }
  return effect_rows(*shared.effects, "expert", {{col::kLabel, shared.captures.front().label}},
                     loads, shared.options.summary);
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
  list.add("effects", effects,
           "results of lime-capture sweep --over experts of the same model: load and effect of "
           "each expert, and whether they agree");
  list.add("sequence", sequence,
           "index of a sequence, >= 0, whose tokens are listed with their experts");
  list.add("checkpoint", checkpoint,
           "checkpoint whose tokenizer decodes the tokens of --sequence; default: ids only");
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
  check_option(sequence.value_or(0) >= 0, "sequence", ">= 0", sequence.value_or(0));
  throw_if(!checkpoint.empty() && !sequence, OptionName("checkpoint"),
           "decodes the tokens of --sequence; add --sequence, or omit --checkpoint");
  summary.validate("bootstrap");
}

Analysis prepare_experts(const ExpertsOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<ExpertsShared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_routed(options.captures);
  check_sequences(*shared);
  if (!options.checkpoint.empty()) {
    shared->tokenizer = tokenizer_of(options.checkpoint, shared->captures);
  }
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
      UnitResult result =
          experts_result(read_routed_layer(shared->captures[place.capture], place.layer, context),
                         shared->groups[place.capture], shared->options, context);
      if (shared->options.sequence) add_tokens(*shared, place, result);
      return result;
    };
  });
  analysis.threads = UnitThreads::kInside;
  open_effects(*shared, analysis);
  if (shared->effects) {
    const std::vector<int> layers = shared->captures.front().parts.front().layers;
    analysis.more_rows = [shared, layers](std::span<const UnitResult> units) {
      return rows_of_effects(*shared, units, layers);
    };
  }
  analysis.present = [shared](Report& report, auto) {
    std::vector<std::string> inputs;
    for (const ChosenCapture& capture : shared->captures) {
      inputs.push_back(describe_sequences(capture));
    }
    fill_experts_report(report, inputs, shared->options);
    if (shared->effects) add_effect_sections(report, "load");
  };
  return analysis;
}

}  // namespace lime
