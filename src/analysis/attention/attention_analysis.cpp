// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention/attention_analysis.h"

#include <numeric>
#include <set>

#include "analysis/attention/attention_results.h"
#include "analysis/engine/capture_rows.h"
#include "metrics/attention/attention_profile.h"

namespace lime {
namespace {

constexpr auto kNumMeasures = std::ssize(kAttentionMeasures);
/// A JSON file of as many weights has 130 MB.
constexpr std::int64_t kMaxWeights = 1'000'000;
/// Bytes of a row in memory while the results are made: 919,296 weights needed 1.75 GB.
constexpr std::int64_t kBytesPerWeight = 2000;

struct AttentionShared {
  AttentionOptions options;  ///< with the seed of the interval
  std::vector<ChosenCapture> captures;
  std::vector<SelectedPatterns> prepared;
  std::shared_ptr<const Tokenizer> tokenizer;  ///< may be null
};

void check_length(const CaptureReader& capture, std::int64_t sequence, std::int64_t skipped) {
  const std::int64_t tokens = num_tokens(capture, sequence);
  if (tokens > skipped) return;
  throw InvalidArgument(
      "{}: sequence {} has {} token{}, and {} queries are skipped; use a smaller --skip-queries, "
      "or "
      "capture again without the sequence",
      quoted_path(capture), sequence, tokens, tokens == 1 ? "" : "s", skipped);
}

std::vector<ChosenCapture> open_patterns(const CaptureSetOptions& options) {
  std::vector<ChosenCapture> captures = open_without_parts(options);
  for (ChosenCapture& capture : captures) {
    select_site(capture, PatternReader(capture.reader).site(), options);  // throws if there is none
  }
  return captures;
}

std::vector<int> select_heads(const PatternReader& patterns, const std::vector<int>& requested) {
  std::vector<int> all(static_cast<std::size_t>(patterns.num_heads()));
  std::iota(all.begin(), all.end(), 0);
  for (const int head : requested) {
    if (head < patterns.num_heads()) continue;
    throw InvalidArgument(OptionName("head"), "{} has heads 0 to {}, got {}",
                          quoted_path(patterns.capture()), patterns.num_heads() - 1, head);
  }
  const std::set<int> selected(requested.begin(), requested.end());
  return selected.empty() ? all : std::vector<int>(selected.begin(), selected.end());
}

void check_query(const CaptureReader& capture, std::int64_t sequence, std::int64_t query) {
  const std::int64_t tokens = num_tokens(capture, sequence);
  throw_if(query >= tokens, OptionName("query"),
           "must be in 0 to {}, the tokens of sequence {} of {}, got {}", tokens - 1, sequence,
           quoted_path(capture), query);
  throw_if(capture.router_layers().empty(), OptionName("query"),
           "{} contains no routers to follow: its model has none, or they depend on the token; "
           "omit --query",
           quoted_path(capture));
}

SelectedPatterns select_patterns(const ChosenCapture& capture, const AttentionOptions& options) {
  const CaptureReader& reader = capture.reader;
  SelectedPatterns prepared(reader);
  prepared.heads = select_heads(prepared.patterns, options.head);
  if (options.sequence) {
    prepared.patterns.check_sequence(*options.sequence);
    check_length(reader, *options.sequence, options.skip_queries);
    if (options.query) check_query(reader, *options.sequence, *options.query);
    return prepared;
  }
  prepared.num_sequences = capture.num_sequences;
  for (std::int64_t i = 0; i < prepared.num_sequences; ++i) {
    check_length(reader, i, options.skip_queries);
  }
  return prepared;
}

void check_num_weights(const AttentionShared& shared) {
  if (!shared.options.sequence) return;
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < shared.captures.size(); ++i) {
    const std::int64_t tokens = num_tokens(shared.captures[i].reader, *shared.options.sequence);
    weights += tokens * (tokens + 1) / 2 * std::ssize(shared.prepared[i].heads) *
               std::ssize(shared.captures[i].parts.front().layers);
  }
  if (weights <= kMaxWeights) return;
  throw InvalidArgument(
      "attention: sequence {} has {} weights in the selected layers and heads, more than the {} "
      "that can be written; select fewer with --layer and --head",
      *shared.options.sequence, weights, kMaxWeights);
}

std::vector<ResultRow> token_rows(const AttentionShared& shared) {
  std::vector<ResultRow> rows;
  const std::int64_t sequence = *shared.options.sequence;
  for (const ChosenCapture& capture : shared.captures) {
    const std::int64_t first = capture.reader.offsets()[static_cast<std::size_t>(sequence)];
    for (std::int64_t t = 0; t < num_tokens(capture.reader, sequence); ++t) {
      const std::int32_t token = capture.reader.rows().token[static_cast<std::size_t>(first + t)];
      ResultRow row = {{col::kKind, "token"},
                       {col::kLabel, capture.label},
                       {col::kPosition, t},
                       {col::kToken, token}};
      if (shared.tokenizer) row.set(col::kText, shared.tokenizer->token_text(token));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void set_bytes(Unit& unit, const AttentionShared& shared, const LayerPlace& place) {
  const CaptureReader& reader = shared.captures[place.capture].reader;
  const auto num_heads = std::ssize(shared.prepared[place.capture].heads);
  const std::int64_t dim = reader.dim(shared.prepared[place.capture].patterns.site(), place.layer);
  if (shared.options.sequence) {
    const std::int64_t tokens = num_tokens(reader, *shared.options.sequence);
    unit.bytes = tokens * dim * 8 + num_heads * tokens * (tokens + 1) / 2 * kBytesPerWeight;
    return;
  }
  const std::int64_t count = shared.prepared[place.capture].num_sequences;
  unit.work = count;
  unit.bytes = count * num_heads * kNumMeasures * 24 +
               summary_bytes((num_heads + 1) * kNumMeasures, shared.options.summary);
  unit.bytes_per_thread = longest_sequence(reader, count) * dim * 8;
}

}  // namespace

void AttentionOptions::describe(OptionList& list) {
  captures.describe_layers(list);
  list.add("head", head, "heads, counted from 0, e.g. 0,3; default: all");
  list.add("sequence", sequence,
           "index of the sequence whose patterns are output, query by key, >= 0; default: "
           "summaries of all sequences");
  list.add(
      "query", query,
      "position of the token in that sequence whose attention is traced through the routers, >= 0");
  list.add("checkpoint", checkpoint,
           "checkpoint whose tokenizer decodes the tokens; default: token ids only");
  captures.describe_max_sequences(list);
  captures.describe_match_length(list);
  list.add("skip_queries", skip_queries,
           "queries at the start of each sequence that summaries omit, >= 0; the first query can "
           "attend only to itself");
  list.add("sink_threshold", sink_threshold,
           "the sink rate counts heads whose mean attention to the first token exceeds this, in "
           "(0, 1)");
  summary.describe(list);
}

void AttentionOptions::validate() const {
  captures.validate();
  for (const int item : head) check_option(item >= 0, "head", ">= 0", item);
  if (sequence && *sequence < 0)
    throw InvalidArgument(OptionName("sequence"), "must be >= 0, got {}", *sequence);
  if (query && !sequence)
    throw InvalidArgument(OptionName("query"), "needs a sequence; add --sequence");
  if (query && *query < 0)
    throw InvalidArgument(OptionName("query"), "must be >= 0, got {}", *query);
  check_option(sink_threshold > 0.0 && sink_threshold < 1.0, "sink_threshold", "in (0, 1)",
               sink_threshold);
  if (skip_queries < 0)
    throw InvalidArgument(OptionName("skip_queries"), "must be >= 0, got {}", skip_queries);
  summary.validate("bootstrap");
}

Analysis prepare_attention(const AttentionOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<AttentionShared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_patterns(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    shared->prepared.push_back(select_patterns(capture, options));
  }
  check_num_weights(*shared);
  if (!options.checkpoint.empty()) {
    shared->tokenizer = tokenizer_of(options.checkpoint, shared->captures);
  }
  Analysis analysis = analysis_of("attention", options, shared->captures);
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    if (!options.sequence) unit.identity = shared->captures[place.capture].identity;
    set_bytes(unit, *shared, place);
    unit.measure = [shared, place](const UnitContext& context) {
      const SelectedPatterns& selected = shared->prepared[place.capture];
      return shared->options.sequence
                 ? describe_sequence(selected, place.layer, shared->options)
                 : summarize_sequences(selected, place.layer, shared->options, context);
    };
  });
  analysis.threads = options.sequence ? UnitThreads::kAcross : UnitThreads::kInside;
  if (options.sequence) {
    analysis.lacks_items =
        "the queries of one sequence are not independent samples; omit --sequence";
    analysis.more_rows = [shared](std::span<const UnitResult>) { return token_rows(*shared); };
  }
  analysis.present = [shared](Report& report, auto) {
    fill_attention_report(report, shared->options);
  };
  return analysis;
}

}  // namespace lime
