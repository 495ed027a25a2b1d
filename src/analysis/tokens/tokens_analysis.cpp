// SPDX-License-Identifier: Apache-2.0
#include "analysis/tokens/tokens_analysis.h"

#include <cmath>

#include "analysis/engine/capture_rows.h"
#include "analysis/lens/lens_analysis.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/entropy/token_contributions.h"
#include "metrics/geometry/token_profile.h"

namespace lime {
namespace {

struct TokensShared {
  TokensOptions options;
  std::vector<ChosenCapture> captures;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< may be null
};

void check_sequence(const CaptureReader& capture, std::int64_t sequence) {
  check_whole_sequences(capture, "a profile of tokens");
  throw_if(sequence >= capture.num_sequences(), OptionName("sequence"),
           "must be < {}, the number of sequences of {}, got {}", capture.num_sequences(),
           quoted_path(capture), sequence);
  const std::int64_t tokens = num_tokens(capture, sequence);
  throw_if(tokens < 2,
           "{}: sequence {} has {} token{}, but entropy needs at least 2; use another sequence",
           quoted_path(capture), sequence, tokens, tokens == 1 ? "" : "s");
}

/// Returns the stored columns of the logit lens; empty if the capture has none of this layer.
MatrixF read_lens(const CaptureReader& capture, int layer, std::int64_t sequence) {
  const std::vector<std::string>& sites = capture.sites();
  if (std::ranges::find(sites, kLensSite) == sites.end()) return {};
  const std::vector<int> layers = capture.layers(kLensSite);
  if (std::ranges::find(layers, layer) == layers.end()) return {};
  return capture.read_sequence(kLensSite, layer, sequence);
}

/// Sets the columns of the logit lens of a token that has a next one.
void set_lens(const MatrixF& lens, Eigen::Index token, ResultRow& row) {
  constexpr Eigen::Index kKl = 0, kLoss = 3, kRank = 4;
  if (token + 1 >= lens.rows() || lens.cols() <= kRank) return;
  if (lens(token, kRank) == 0.0F) return;  // not computed (--lens-tokens)
  row.add({{col::kLensProbability, std::exp(-static_cast<double>(lens(token, kLoss)))},
           {col::kLensRank, lens(token, kRank)},
           {col::kLensKl, lens(token, kKl)}});
}

UnitResult measure_tokens(const TokensShared& shared, const LayerPlace& place,
                          const UnitContext& context) {
  const std::int64_t sequence = shared.options.sequence;
  const CaptureReader& capture = shared.captures[place.capture].reader;
  const MatrixF rows = capture.read_sequence(place.site, place.layer, sequence);
  const TokenProfile profile = token_profile(rows);
  VectorD contributions;
  if (!shared.options.no_entropy) {
    const MatrixD z =
        standardize(rows, make_standardization(capture.statistics(place.site, place.layer)));
    contributions =
        token_contributions(z, shared.options.alpha, context.pool, context.stop).contributions;
  }
  const MatrixF lens = read_lens(capture, place.layer, sequence);
  UnitResult result;
  const std::int64_t first = capture.offsets()[static_cast<std::size_t>(sequence)];
  for (Eigen::Index t = 0; t < rows.rows(); ++t) {
    const auto at = static_cast<std::size_t>(first + t);
    const std::int32_t token = capture.rows().token[at];
    ResultRow row = {{col::kSequence, sequence},
                     {col::kPosition, capture.rows().position[at]},
                     {col::kToken, token}};
    if (shared.tokenizer) row.set(col::kText, shared.tokenizer->token_text(token));
    row.add({{col::kNorm, profile.norm(t)}, {col::kRelativeNorm, profile.relative_norm(t)}});
    if (t + 1 < rows.rows()) {
      row.set(col::kNextCosine, profile.next_cosine(t));
    } else {
      row.set(col::kNextCosine, nullptr);
    }
    if (!shared.options.no_entropy) row.set(col::kEntropyContribution, contributions(t));
    set_lens(lens, t, row);
    result.rows.push_back(std::move(row));
  }
  return result;
}

void fill_report(Report& report, const TokensShared& shared) {
  report.notes = {
      fmt::format("tokens of sequence {}: norm, norm / median, cosine with the next token{}",
                  shared.options.sequence, shared.options.no_entropy ? "" : ",")};
  if (!shared.options.no_entropy) {
    report.notes.push_back(
        fmt::format("and contribution to the entropy of order {}: its decrease if the token is "
                    "omitted (nats)",
                    shared.options.alpha));
  }
  report.columns = {table_column(col::kLabel),
                    table_column(col::kSite),
                    table_column(col::kLayer),
                    table_column(col::kPosition),
                    shared.tokenizer ? table_column(col::kText) : table_column(col::kToken),
                    number_column(col::kNorm, 3),
                    number_column(col::kRelativeNorm, 3, "relative"),
                    number_column(col::kNextCosine, 3, "next cosine"),
                    number_column(col::kEntropyContribution, 4, "entropy"),
                    number_column(col::kLensProbability, 3, "p(next)"),
                    number_column(col::kLensRank, 0, "rank"),
                    number_column(col::kLensKl, 3, "KL")};
  if (std::ranges::any_of(report.results.rows,
                          [](const ResultRow& row) { return row.has(col::kLensRank); })) {
    report.notes.emplace_back(
        "logit lens: probability and rank of the next token, KL divergence from the final "
        "distribution (nats)");
  }
}

}  // namespace

void TokensOptions::describe(OptionList& list) {
  captures.describe(list);
  list.add("sequence", sequence, "index of the sequence in the captures, >= 0");
  list.add("alpha", alpha, "order of the entropy, > 0; inf is allowed");
  list.add("no_entropy", no_entropy,
           "omit the contributions to the entropy, which take most of the time");
  list.add("checkpoint", checkpoint,
           "checkpoint whose tokenizer decodes the tokens; default: token ids only");
}

void TokensOptions::validate() const {
  captures.validate();
  check_option(sequence >= 0, "sequence", ">= 0", sequence);
  check_entropy_order(alpha);
}

Analysis prepare_tokens(const TokensOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<TokensShared>();
  shared->options = options;
  shared->captures = open_captures(options.captures);
  if (!options.checkpoint.empty()) {
    shared->tokenizer = tokenizer_of(options.checkpoint, shared->captures);
  }
  for (const ChosenCapture& capture : shared->captures) {
    check_sequence(capture.reader, options.sequence);
  }
  Analysis analysis = analysis_of("tokens", options, shared->captures);
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    const CaptureReader& capture = shared->captures[place.capture].reader;
    const std::int64_t tokens = num_tokens(capture, options.sequence);
    const std::int64_t dim = capture.dim(place.site, place.layer);
    const std::int64_t smaller = std::min(tokens, dim);
    unit.bytes = tokens * dim * 12 + 3 * smaller * smaller * 8 + tokens * smaller * 8;
    unit.measure = [shared, place](const UnitContext& context) {
      return measure_tokens(*shared, place, context);
    };
  });
  analysis.threads = threads_for(analysis.units, run);
  analysis.lacks_items = "tokens of one sequence are not independent samples; omit --compare";
  analysis.present = [shared](Report& report, auto) { fill_report(report, *shared); };
  return analysis;
}

}  // namespace lime
