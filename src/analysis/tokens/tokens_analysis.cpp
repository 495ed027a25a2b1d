// SPDX-License-Identifier: Apache-2.0
#include "analysis/tokens/tokens_analysis.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "analysis/engine/token_sequences.h"
#include "analysis/report/column_table.h"
#include "checkpoint/tokenizer.h"
#include "core/errors.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/entropy/standardize.h"
#include "metrics/entropy/token_contributions.h"
#include "metrics/geometry/token_profile.h"

namespace lime {
namespace {

/// State shared by the units of one analysis.
struct TokensShared {
  TokensOptions options;
  std::vector<ChosenCapture> captures;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< may be null
};

void check_sequence(const CaptureReader& capture, std::int64_t sequence) {
  check_whole_sequences(capture, "a profile of tokens");
  if (sequence >= capture.num_sequences()) {
    throw InvalidArgument("sequence: must be < {}, the number of sequences of {}, got {}",
                          capture.num_sequences(), quoted_path(capture), sequence);
  }
  const std::int64_t tokens = num_tokens(capture, sequence);
  if (tokens < 2) {
    throw InvalidArgument(
        "{}: sequence {} has {} token{}, but entropy needs at least 2; use another sequence",
        quoted_path(capture), sequence, tokens, tokens == 1 ? "" : "s");
  }
}

UnitResult measure_tokens(const TokensShared& shared, const CaptureReader& capture,
                          const std::string& site, int layer, const UnitContext& context) {
  const std::int64_t sequence = shared.options.sequence;
  const MatrixF rows = capture.read_sequence(site, layer, sequence);
  const MatrixD z = standardize(rows, make_standardization(capture.statistics(site, layer)));
  const TokenProfile profile = token_profile(rows);
  const TokenContributions entropy =
      token_contributions(z, shared.options.alpha, context.pool, context.stop);
  UnitResult result;
  const std::int64_t first = capture.offsets()[static_cast<std::size_t>(sequence)];
  for (Eigen::Index t = 0; t < rows.rows(); ++t) {
    const auto at = static_cast<std::size_t>(first + t);
    const std::int32_t token = capture.rows().token[at];
    Json row = Json::object();
    row["sequence"] = sequence;
    row["position"] = capture.rows().position[at];
    row["token"] = token;
    if (shared.tokenizer) row["text"] = shared.tokenizer->token_text(token);
    row["norm"] = profile.norm(t);
    row["relative_norm"] = profile.relative_norm(t);
    row["next_cosine"] = t + 1 < rows.rows() ? Json(profile.next_cosine(t)) : Json(nullptr);
    row["entropy_contribution"] = entropy.contributions(t);
    result.rows.push_back(std::move(row));
  }
  return result;
}

std::vector<TableColumn> token_columns(bool has_texts) {
  std::vector<TableColumn> columns = {
      {.header = "label", .cell = text_cell("label"), .to_the_right = false},
      {.header = "site", .cell = text_cell("site"), .to_the_right = false},
      {.header = "layer", .cell = text_cell("layer")},
      {.header = "position", .cell = text_cell("position")}};
  if (has_texts) {
    columns.push_back({.header = "text", .cell = text_cell("text"), .to_the_right = false});
  } else {
    columns.push_back({.header = "token", .cell = text_cell("token")});
  }
  columns.push_back({.header = "norm", .cell = number_cell("norm", 3)});
  columns.push_back({.header = "relative", .cell = number_cell("relative_norm", 3)});
  columns.push_back({.header = "next cosine", .cell = number_cell("next_cosine", 3)});
  columns.push_back({.header = "entropy", .cell = number_cell("entropy_contribution", 4)});
  return columns;
}

Report tokens_report(Results results, const TokensShared& shared) {
  Report report;
  report.results = std::move(results);
  report.notes = {
      fmt::format("tokens of sequence {}: norm, norm / median, cosine with the next token,",
                  shared.options.sequence),
      fmt::format("and contribution to the entropy of order {}: its decrease if the token is "
                  "omitted (nats)",
                  shared.options.alpha)};
  const std::vector<TableColumn> columns = token_columns(shared.tokenizer != nullptr);
  report.text = [columns](const Results& all, const TextStyle& style) {
    return columns_to_text(pointers_to(all.rows), columns, style);
  };
  report.latex = [columns](const Results& all, const std::vector<std::string>& notes) {
    return columns_to_latex(pointers_to(all.rows), columns, notes);
  };
  return report;
}

}  // namespace

void TokensOptions::describe(OptionList& list) {
  captures.describe(list);
  list.add("sequence", sequence, "index of the sequence in the captures, >= 0");
  list.add("alpha", alpha, "order of the entropy, > 0; inf is allowed");
  list.add("checkpoint", checkpoint,
           "checkpoint folder whose tokenizer decodes the tokens; default: token ids only");
}

void TokensOptions::validate() const {
  captures.validate();
  if (sequence < 0) throw InvalidArgument("sequence: must be >= 0, got {}", sequence);
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
  Analysis analysis;
  analysis.metric = "tokens";
  analysis.options = stored_options(options);
  analysis.inputs = capture_inputs(shared->captures);
  for (const ChosenCapture& capture : shared->captures) {
    check_sequence(capture.reader, options.sequence);
    for (const auto& [site, layers] : capture.parts) {
      for (const int layer : layers) {
        Unit unit = layer_unit(capture, site, layer);
        const std::int64_t tokens = num_tokens(capture.reader, options.sequence);
        const std::int64_t dim = capture.reader.dim(site, layer);
        const std::int64_t smaller = std::min(tokens, dim);
        unit.bytes = tokens * dim * 12 + 3 * smaller * smaller * 8 + tokens * smaller * 8;
        unit.measure = [shared, &capture, site = site, layer](const UnitContext& context) {
          return measure_tokens(*shared, capture.reader, site, layer, context);
        };
        analysis.units.push_back(std::move(unit));
      }
    }
  }
  const bool many = analysis.units.size() >= static_cast<std::size_t>(run.num_threads());
  analysis.threads = many ? UnitThreads::kAcross : UnitThreads::kInside;
  analysis.lacks_items = "tokens of one sequence are not independent samples; omit --compare";
  analysis.present = [shared](Results results, std::span<const UnitResult>) {
    return tokens_report(std::move(results), *shared);
  };
  return analysis;
}

}  // namespace lime
