// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/capture_set.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "analysis/attention/attention_patterns.h"
#include "analysis/engine/capture_rows.h"
#include "analysis/engine/outlier_rows.h"
#include "analysis/experts/routed_layer.h"
#include "analysis/lens/lens_analysis.h"
#include "analysis/router/routers.h"
#include "analysis/streams/streams_analysis.h"
#include "checkpoint/checkpoint.h"
#include "core/files/sha256.h"
#include "core/program/suggest.h"
#include "core/utf8.h"
#include "store/capture_writer.h"
#include "store/file_names.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 12;

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

CaptureReader open_capture(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    if (const std::string unfinished = unfinished_run(path); !unfinished.empty()) {
      throw IoError("{}: does not exist yet; {}", quoted(path), unfinished);
    }
    throw IoError("{}: no such file; give the path of a capture, or write one with lime-capture",
                  quoted(path));
  }
  return CaptureReader(path);
}

std::string identity_of(const CaptureReader& capture, std::int64_t count) {
  const auto bytes = [](const auto& values, std::size_t number) {
    return std::string_view(reinterpret_cast<const char*>(values.data()),
                            number * sizeof(values[0]));
  };
  const std::vector<std::int64_t>& offsets = capture.offsets();
  const auto num_rows = static_cast<std::size_t>(offsets[static_cast<std::size_t>(count)]);
  std::string content(bytes(offsets, static_cast<std::size_t>(count) + 1));
  content += bytes(capture.rows().token, num_rows);
  return sha256_of(content);
}

/// Returns the sites of representations, the default of a metric.
std::vector<std::string> representation_sites(const CaptureReader& reader) {
  std::vector<std::string> sites = reader.sites();
  const auto removed =
      std::erase_if(sites, [](const std::string& site) { return !is_representation(site); });
  if (removed > 0 && sites.empty()) {
    const std::string& site = reader.sites().front();
    const bool is_router = site == kRouteSite || site == kDepthWeightsSite;
    throw InvalidArgument(
        "{}: contains only site '{}', which is not a representation; use lime-metrics {}, or "
        "select it with --site",
        quoted(reader.path()), site,
        is_router                    ? "router"
        : is_expert_site(site)       ? "experts"
        : site == kStreamWeightsSite ? "streams"
        : site == kLensSite          ? "lens"
                                     : "attention");
  }
  return sites;
}

/// Returns the remedy for a wrong number of labels: --label reads all following arguments.
std::string remedy_for_labels(const CaptureSetOptions& options) {
  for (const std::string& label : options.label) {
    std::error_code ignored;
    if (!fs::is_regular_file(label, ignored)) continue;
    return fmt::format("'{}' was read as a label, put the captures before --label",
                       printable(label));
  }
  const bool is_too_many = options.label.size() > options.captures.size();
  return std::string("put the captures before --label") +
         (is_too_many ? "; a comma separates labels, write '\\,' for a comma inside a label" : "");
}

std::string paper_site(const CaptureReader& reader) {
  if (reader.has("routed_values")) return "routed_values";
  if (!reads_other_values(reader)) return "values";
  throw InvalidArgument(
      "{}: contains no site 'routed_values', which --site {} uses for this decoder (its sites: "
      "{}); capture again with --sites values,routed_values",
      quoted(reader.path()), kPaperSite, join_words(reader.sites()));
}

void match_lengths(std::vector<ChosenCapture>& captures, const MatchedLength& matched) {
  std::int64_t length = matched.tokens();
  if (matched.is_automatic()) {
    length = std::numeric_limits<std::int64_t>::max();
    for (const ChosenCapture& capture : captures) {
      length = std::min(length, shortest_sequence(capture.reader, capture.num_sequences));
    }
  }
  for (ChosenCapture& capture : captures) {
    match_length(capture.reader, capture.num_sequences, length);
    capture.notes.push_back(
        fmt::format("{}: the first {} tokens of every sequence", capture.label, length));
  }
}

std::vector<ChosenCapture::Part> select_parts(CaptureReader& reader,
                                              const CaptureSetOptions& options) {
  const std::vector<std::string> requested =
      options.site.empty() ? representation_sites(reader) : options.site;
  std::vector<ChosenCapture::Part> parts;
  for (const std::string& site : requested) {
    const std::string stored = site == kPaperSite ? paper_site(reader) : site;
    throw_if(!reader.has(stored), "{}: unknown site '{}' (its sites: {})", quoted(reader.path()),
             printable(stored), join_words(reader.sites()));
    if (stored != site) reader.set_alias(site, stored);
    const std::string where = fmt::format("{}: site '{}'", quoted(reader.path()), site);
    parts.push_back({site, options.layer.choose_from(reader.layers(site), where)});
  }
  return parts;
}

}  // namespace

bool is_representation(const std::string& site) {
  return site != kPatternSite && site != kProfileSite && site != kLensSite && site != kRouteSite &&
         site != kDepthWeightsSite && !is_expert_site(site) && site != kStreamWeightsSite;
}

void CaptureSetOptions::describe_inputs(OptionList& list) {
  list.add("captures", captures, "captures to compare");
}

void CaptureSetOptions::describe(OptionList& list) {
  describe_layers(list);
  list.add("site", site,
           "sites, e.g. values,hidden; paper: the values that attention reads as one site, "
           "routed_values of a LIMe and values of a LLaMA; default: all except those of attention, "
           "routers and the logit lens");
}

void CaptureSetOptions::describe_layers(OptionList& list) {
  list.add("layer", layer, "layers, counted from 0: all, or a list, e.g. 0,3,8-15");
  list.add("label", label,
           "names of the captures in tables and results, in order; default: from the file names")
      .takes_several = true;
}

void CaptureSetOptions::describe_max_sequences(OptionList& list) {
  list.add("max_sequences", max_sequences, "use only the first N sequences of each capture");
}

void CaptureSetOptions::describe_skip(OptionList& list) {
  describe_skip_tokens(list);
  describe_skip_outliers(list);
}

void CaptureSetOptions::describe_skip_outliers(OptionList& list) {
  list.add("skip_massive", skip_massive,
           "omit the rows with at least this multiple of the median norm of a selected layer, > 1, "
           "from all layers; 4 omits massive tokens");
  list.add(
      "skip_dims", skip_dims,
      "omit dimensions: the N of each layer with the largest mean square, or a list, e.g. 3 or "
      "138,378 (one of them: 138-138)");
}

void CaptureSetOptions::describe_skip_tokens(OptionList& list) {
  list.add("skip_tokens", skip_tokens,
           "omit the first N tokens of every sequence; the first token often has by far the "
           "largest norm");
  describe_match_length(list);
}

void CaptureSetOptions::describe_match_length(OptionList& list) {
  list.add("match_length", match_length,
           "use only the first N tokens of every sequence, after those that are omitted; auto: as "
           "many as the shortest sequence of all captures has");
}

void CaptureSetOptions::validate() const {
  if (skip_tokens < 0)
    throw InvalidArgument(OptionName("skip_tokens"), "must be >= 0, got {}", skip_tokens);
  throw_if(skip_massive && !(*skip_massive > 1.0), OptionName("skip_massive"),
           "must be > 1, got {}", skip_massive.value_or(0.0));
  require_positive("max_sequences", max_sequences);
  if (captures.empty())
    throw InvalidArgument(OptionName("captures"), "expected at least one file, got none");
  throw_if(!all_distinct(site), OptionName("site"), "every name must be unique, got {}",
           join_words(site));
  if (label.empty()) return;
  throw_if(label.size() != captures.size(), OptionName("label"),
           "expected one name per capture, got {} ({}) for {} capture{}; {}", label.size(),
           join_words(label), captures.size(), captures.size() == 1 ? "" : "s",
           remedy_for_labels(*this));
  if (!all_distinct(label))
    throw InvalidArgument(OptionName("label"), "names must be unique, got {}", join_words(label));
}

bool reads_other_values(const CaptureReader& capture) {
  if (!capture.router_layers().empty()) return true;
  const Json& config = capture.config();
  const Json type = config.value("model_type", Json());
  return std::ranges::any_of(
      std::array{"lime", "resformer", "depth_attention"},
      [&](const char* routing) { return type == routing || config.contains(routing); });
}

void require_positive(std::string_view option, const std::optional<std::int64_t>& number) {
  if (number && *number < 1)
    throw InvalidArgument(OptionName(option), "must be > 0, got {}", *number);
}

bool all_distinct(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

std::vector<std::string> default_labels(const std::vector<fs::path>& paths) {
  std::vector<std::string> labels;
  for (const fs::path& path : paths) {
    const std::string stem = capture_stem(path);
    const bool plain_name = stem == "capture";
    std::error_code ignored;
    const fs::path folder = fs::weakly_canonical(path, ignored).parent_path().filename();
    labels.push_back(plain_name && !folder.empty() ? folder.string() : stem);
  }
  if (all_distinct(labels)) return labels;
  labels.clear();
  for (const fs::path& path : paths) labels.push_back(path.string());
  if (all_distinct(labels)) return labels;
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] += fmt::format(" ({})", i + 1);
  return labels;
}

std::unique_ptr<Tokenizer> tokenizer_of(const fs::path& checkpoint,
                                        std::span<const ChosenCapture> captures) {
  std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(checkpoint);
  for (const ChosenCapture& capture : captures) {
    const std::string& own = capture.reader.info().tokenizer_sha256;
    if (own.empty() || own == tokenizer->sha256()) continue;
    throw InvalidArgument(
        OptionName("checkpoint"),
        "the tokenizer of {} (sha256 {}...) differs from that of {} ({}...); use the "
        "checkpoint of the capture, or omit --checkpoint",
        quoted(checkpoint), tokenizer->sha256().substr(0, kHashDigits),
        quoted(capture.reader.path()), printable(own.substr(0, kHashDigits)));
  }
  return tokenizer;
}

void check_same_checkpoint(const CaptureReader& capture, const Checkpoint& checkpoint) {
  const std::string& captured = capture.info().checkpoint_sha256;
  if (captured == checkpoint.sha256()) return;
  throw InvalidArgument(
      "'{}': was captured from another checkpoint (sha256 {}..., '{}' has {}...); use the "
      "checkpoint that it was captured from",
      capture.path().string(), captured.empty() ? "unknown" : captured.substr(0, 12),
      checkpoint.path().string(), checkpoint.sha256().substr(0, 12));
}

void select_site(ChosenCapture& capture, const std::string& site,
                 const CaptureSetOptions& options) {
  const std::string where = fmt::format("{}: {}", quoted(capture.reader.path()), site);
  capture.parts = {{site, options.layer.choose_from(capture.reader.layers(site), where)}};
}

std::vector<ChosenCapture> open_without_parts(const CaptureSetOptions& options) {
  options.validate();
  const std::vector<std::string> labels =
      options.label.empty() ? default_labels(options.captures) : options.label;
  std::vector<ChosenCapture> captures;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ChosenCapture& capture =
        captures.emplace_back(ChosenCapture{labels[i], open_capture(options.captures[i])});
    capture.reader.skip_tokens(options.skip_tokens);
    capture.notes_massive_rows = options.notes_massive_rows;
    capture.num_sequences = num_sequences_used(capture.reader, options.max_sequences);
  }
  if (options.match_length) match_lengths(captures, *options.match_length);
  for (ChosenCapture& capture : captures) {
    capture.identity = identity_of(capture.reader, capture.num_sequences);
  }
  return captures;
}

std::string describe_sequences(const ChosenCapture& capture) {
  const CaptureReader& reader = capture.reader;
  const std::int64_t count = capture.num_sequences;
  const std::int64_t tokens = reader.offsets()[static_cast<std::size_t>(count)];
  std::string text = fmt::format("{}: {} sequences, {} tokens, {}", capture.label, count, tokens,
                                 reader.path().string());
  if (count < reader.num_sequences()) {
    text += fmt::format(" (the first of {} sequences)", reader.num_sequences());
  }
  if (reader.skipped_tokens() > 0) {
    text += fmt::format(", without the first {} of each sequence", reader.skipped_tokens());
  }
  for (const ChosenCapture::Part& part : capture.parts) {
    if (part.site != kPaperSite) continue;
    text += fmt::format("; {} is {}", kPaperSite,
                        reader.activation(part.site, part.layers.front()).site);
  }
  if (!reader.complete()) text += " (incomplete: the capture was interrupted)";
  return text;
}

void skip_short_sequences(ChosenCapture& capture, std::string_view metric, std::int64_t num_views) {
  check_whole_sequences(capture.reader, metric);
  if (num_short_sequences(capture.reader, capture.num_sequences) == 0) return;
  std::vector<bool> hides(static_cast<std::size_t>(capture.reader.num_sequences()), false);
  std::int64_t skipped = 0;  // texts
  for (std::int64_t first = 0; first < std::ssize(hides); first += num_views) {
    const auto is_short = [&](std::int64_t i) {
      return num_tokens(capture.reader, i) < kFewestTokens;
    };
    const std::int64_t last = std::min(first + num_views, std::ssize(hides));
    if (std::ranges::none_of(std::views::iota(first, last), is_short)) continue;
    std::fill(hides.begin() + first, hides.begin() + last, true);
    skipped += first < capture.num_sequences ? 1 : 0;
  }
  if (skipped * num_views >= capture.num_sequences) {
    throw_if(
        num_views > 1,
        "{}: each text has a view of fewer than {} tokens, but {} needs more; capture longer views",
        quoted_path(capture.reader), kFewestTokens, metric);
    const std::int64_t tokens = num_tokens(capture.reader, 0);
    throw InvalidArgument(
        "{}: sequence 0 has {} token{}, but {} needs at least {}; capture again without it",
        quoted_path(capture.reader), tokens, tokens == 1 ? "" : "s", metric, kFewestTokens);
  }
  capture.reader.hide_sequences(hides);
  capture.num_sequences -= skipped * num_views;
  capture.identity = identity_of(capture.reader, capture.num_sequences);
  capture.notes.push_back(
      note_of_short(capture.label, skipped, num_views > 1 ? "text" : "sequence") +
      (num_views > 1 ? " in a view" : ""));
}

std::vector<ChosenCapture> open_captures(const CaptureSetOptions& options) {
  std::vector<ChosenCapture> captures = open_without_parts(options);
  for (ChosenCapture& capture : captures) capture.parts = select_parts(capture.reader, options);
  if (options.skip_massive) skip_massive_rows(captures, *options.skip_massive);
  skip_dimensions(captures, options.skip_dims);
  return captures;
}

}  // namespace lime
