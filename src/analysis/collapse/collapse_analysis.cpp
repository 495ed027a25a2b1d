// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapse/collapse_analysis.h"

#include "analysis/collapse/collapse_report.h"
#include "analysis/collapse/collapse_rows.h"
#include "analysis/collapse/random_capture.h"
#include "analysis/engine/capture_rows.h"
#include "analysis/engine/run_analysis.h"
#include "core/program/program.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr const char* kDefaultSite = "hidden";

struct CollapseShared {
  CollapseAnalysisOptions options;      ///< with the seed of the intervals
  std::vector<ChosenCapture> captures;  ///< that with random weights is the last one
  bool has_random = false;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< may be null
  std::vector<LayerPlace> places;              ///< of the units

  bool is_random(std::size_t capture) const { return has_random && capture + 1 == captures.size(); }
};

/// Returns the text of a token: of the tokenizer, else of the capture's first tokens.
std::string text_of_token(const CollapseShared& shared, std::size_t capture, std::int32_t token) {
  if (token < 0) return "";
  if (shared.tokenizer) return shared.tokenizer->token_text(token);
  const CaptureInfo& info = shared.captures[capture].reader.info();
  for (std::size_t i = 0; i < std::min(info.first_ids.size(), info.first_tokens.size()); ++i) {
    if (info.first_ids[i] == token) return info.first_tokens[i];
  }
  return "";
}

UnitResult measure_layer(const CollapseShared& shared, const LayerPlace& place,
                         const UnitContext& context) {
  const ChosenCapture& capture = shared.captures[place.capture];
  const RowTable& table = capture.reader.rows();
  LayerRows rows;
  rows.sequences = token_sequences(capture.reader, place.site, place.layer, capture.num_sequences);
  const std::vector<std::int64_t>& offsets = capture.reader.offsets();
  rows.offsets.assign(offsets.begin(), offsets.begin() + capture.num_sequences + 1);
  const bool has_tokens =
      std::ranges::none_of(table.token, [](std::int32_t token) { return token < 0; });
  if (has_tokens) rows.tokens = table.token;
  LayerFacts facts;
  facts.layer = place.layer;
  facts.causes = measure_causes(rows, shared.options.collapse, context.pool, context.on_progress,
                                context.stop);
  facts.massive = summarize_massive(facts.causes.massive, rows.tokens, table.position);
  facts.findings = findings_of(facts.causes, shared.options.collapse);
  UnitResult result;
  result.rows.push_back(
      row_of_facts(facts, text_of_token(shared, place.capture, facts.massive.token)));
  return result;
}

/// The layers of one site of a capture, and the number of their first unit.
struct SiteFacts {
  LayerPlace place;
  std::vector<LayerFacts> layers;
};

std::vector<SiteFacts> facts_by_site(const CollapseShared& shared,
                                     std::span<const UnitResult> units) {
  std::vector<SiteFacts> sites;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const LayerPlace& place = shared.places[i];
    const bool is_new = sites.empty() || sites.back().place.capture != place.capture ||
                        sites.back().place.site != place.site;
    if (is_new) sites.push_back({place, {}});
    sites.back().layers.push_back(
        facts_of_row(units[i].rows.front(), place.layer, shared.options.collapse));
  }
  return sites;
}

std::vector<RangeVerdict> verdicts_of(const CollapseShared& shared,
                                      std::span<const UnitResult> units) {
  const std::vector<SiteFacts> sites = facts_by_site(shared, units);
  std::vector<RangeVerdict> verdicts;
  for (const SiteFacts& site : sites) {
    std::span<const LayerFacts> random;
    for (const SiteFacts& other : sites) {
      const bool is_beside = shared.is_random(other.place.capture) &&
                             !shared.is_random(site.place.capture) &&
                             other.place.site == site.place.site;
      if (is_beside) random = other.layers;
    }
    const auto token_text = [&](std::int32_t token) {
      return printable(text_of_token(shared, site.place.capture, token));
    };
    std::ranges::move(range_verdicts(shared.captures[site.place.capture].label, site.place.site,
                                     site.layers, random, shared.options.collapse, token_text),
                      std::back_inserter(verdicts));
  }
  return verdicts;
}

std::vector<std::string> caveats_of_units(const CollapseShared& shared,
                                          std::span<const UnitResult> units,
                                          std::string_view random_option) {
  return caveats_of(facts_by_site(shared, units).front().layers, shared.has_random, random_option);
}

/// Returns the captures with that of random weights, whose label is optional: results that are
/// rerun name all of them.
CaptureSetOptions all_captures(const CollapseAnalysisOptions& options) {
  CaptureSetOptions all = options.captures;
  if (options.random.empty() && !options.against_random) return all;
  if (!all.label.empty() && all.label.size() == all.captures.size()) {
    all.label.emplace_back("random weights");
  }
  all.captures.push_back(options.random);
  return all;
}

/// Returns --site; without it the residual stream, if all captures have it.
std::vector<std::string> sites_of_collapse(const CollapseAnalysisOptions& options) {
  if (!options.captures.site.empty()) return options.captures.site;
  std::vector<std::filesystem::path> captures = options.captures.captures;
  if (!options.random.empty()) captures.push_back(options.random);
  const bool all_have = std::ranges::all_of(captures, [](const auto& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored) && CaptureReader(path).has(kDefaultSite);
  });
  return all_have ? std::vector<std::string>{kDefaultSite} : std::vector<std::string>();
}

std::vector<ChosenCapture> open_for_collapse(const CollapseAnalysisOptions& options) {
  CaptureSetOptions chosen = all_captures(options);
  chosen.site = sites_of_collapse(options);
  chosen.notes_massive_rows = false;  // the verdict itself says it
  std::vector<ChosenCapture> captures = open_captures(chosen);
  for (ChosenCapture& capture : captures) skip_short_sequences(capture, "collapse");
  return captures;
}

void check_random(const std::vector<ChosenCapture>& captures) {
  const ChosenCapture& random = captures.back();
  for (std::size_t i = 0; i + 1 < captures.size(); ++i) {
    check_same_tokens(captures[i].reader, random.reader,
                      "random weights are compared on the same text; capture both with the same "
                      "text and tokenizer");
    for (const ChosenCapture::Part& part : captures[i].parts) {
      const auto same = [&](const ChosenCapture::Part& other) {
        return other.site == part.site && other.layers == part.layers;
      };
      throw_if(std::ranges::none_of(random.parts, same), OptionName("random"),
               "{} lacks site '{}', or some of its layers; capture it with the same --sites and "
               "--layers",
               quoted_path(random.reader), part.site);
      for (const int layer : part.layers) {
        const std::int64_t dim = captures[i].reader.dim(part.site, layer);
        const std::int64_t other = random.reader.dim(part.site, layer);
        throw_if(dim != other, OptionName("random"),
                 "{} has {} dimensions in layer {} of site '{}', expected {}; capture the same "
                 "config",
                 quoted_path(random.reader), other, layer, part.site, dim);
      }
    }
  }
}

void complete_unit(Unit& unit, const std::shared_ptr<CollapseShared>& shared,
                   const LayerPlace& place) {
  const ChosenCapture& capture = shared->captures[place.capture];
  unit.identity = capture.identity;
  unit.work = capture.num_sequences;
  unit.bytes =
      causes_bytes(capture.reader.offsets()[static_cast<std::size_t>(capture.num_sequences)],
                   longest_sequence(capture.reader, capture.num_sequences), capture.num_sequences,
                   capture.reader.dim(place.site, place.layer));
  unit.measure = [shared = std::shared_ptr<const CollapseShared>(shared), place](
                     const UnitContext& context) { return measure_layer(*shared, place, context); };
  shared->places.push_back(place);
}

/// Returns the options with the capture that --against-random asks for.
CollapseAnalysisOptions with_random_capture(const CollapseAnalysisOptions& given,
                                            const RunOptions& run, const std::stop_token& stop) {
  given.validate();
  CollapseAnalysisOptions options = given;
  if (options.against_random) {
    options.random = random_capture(options.captures.captures.front(), sites_of_collapse(options),
                                    options.checkpoint, run, stop);
    options.against_random = false;
  }
  return options;
}

std::shared_ptr<CollapseShared> share(const CollapseAnalysisOptions& options,
                                      const RunOptions& run) {
  options.validate();
  auto shared = std::make_shared<CollapseShared>();
  shared->options = options;
  shared->options.collapse.summary.seed = run.seed;
  shared->captures = open_for_collapse(options);
  shared->has_random = !options.random.empty();
  if (shared->has_random) check_random(shared->captures);
  if (!options.checkpoint.empty()) {
    shared->tokenizer = tokenizer_of(options.checkpoint, shared->captures);
  }
  return shared;
}

Analysis analysis_of_collapse(const CollapseAnalysisOptions& options,
                              const std::shared_ptr<CollapseShared>& shared,
                              const RunOptions& run) {
  Analysis analysis = analysis_of("collapse", options, shared->captures);
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    complete_unit(unit, shared, place);
  });
  analysis.threads = threads_for(analysis.units, run);
  analysis.lacks_items =
      "collapse gives a verdict per layer, no samples to compare; omit it, and compare entropies "
      "with lime-metrics entropy";
  analysis.more_rows = [shared](std::span<const UnitResult> units) {
    std::vector<ResultRow> rows;
    for (const RangeVerdict& verdict : verdicts_of(*shared, units)) rows.push_back(verdict.row());
    return rows;
  };
  analysis.present = [shared](Report& report, std::span<const UnitResult> units) {
    std::vector<std::string> inputs;
    for (const ChosenCapture& capture : shared->captures) {
      inputs.push_back(describe_sequences(capture));
    }
    fill_collapse_report(report, inputs, verdicts_of(*shared, units),
                         caveats_of_units(*shared, units, kRandomOption), shared->options.collapse);
  };
  return analysis;
}

}  // namespace

void CollapseAnalysisOptions::describe(OptionList& list) {
  captures.describe(list);
  captures.describe_skip(list);
  captures.describe_max_sequences(list);
  list.add("random", random,
           "capture of the same text by the same config with random weights: shows what is due to "
           "the architecture");
  list.add("against_random", against_random,
           "captures --checkpoint with random weights, drawn with --seed, on the same tokens, as "
           "--random: CAPTURE.random-SEED.h5, which is kept and used again")
      .role = OptionRole::kOutput;  // results store it as --random
  list.add("checkpoint", checkpoint,
           "checkpoint (folder or GGUF file) whose tokenizer decodes the tokens, and whose config "
           "random weights "
           "have; default: token ids only");
  collapse.describe(list);
}

void CollapseAnalysisOptions::validate() const {
  all_captures(*this).validate();
  collapse.validate();
  throw_if(against_random && !random.empty(), OptionName("against_random"),
           "captures random weights, but --random names a capture of them; omit one of them");
  throw_if(against_random && checkpoint.empty(), OptionName("against_random"),
           "requires --checkpoint, the model whose config the random weights have");
}

Analysis prepare_collapse(const CollapseAnalysisOptions& options, const RunOptions& run) {
  const CollapseAnalysisOptions completed = with_random_capture(options, run, interrupt_token());
  return analysis_of_collapse(completed, share(completed, run), run);
}

CollapseVerdicts compute_collapse(const CollapseAnalysisOptions& options, const RunOptions& run,
                                  const ProgressFn& on_progress, const std::stop_token& stop,
                                  std::string_view random_option) {
  const CollapseAnalysisOptions completed = with_random_capture(options, run, stop);
  const auto shared = share(completed, run);
  const Analysis analysis = analysis_of_collapse(completed, shared, run);
  const AnalysisResult result = compute(analysis, run, on_progress, stop);
  return {result.table(), verdicts_of(*shared, result.units),
          caveats_of_units(*shared, result.units, random_option)};
}

}  // namespace lime
