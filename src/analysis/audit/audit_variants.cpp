// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_variants.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "analysis/audit/audit_texts.h"
#include "analysis/experts/routed_layer.h"
#include "analysis/lens/lens_analysis.h"
#include "analysis/streams/streams_analysis.h"
#include "checkpoint/checkpoint.h"
#include "core/files/atomic_file.h"
#include "core/program/child_program.h"
#include "core/program/program.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

/// Makes the captures of an audit, each unless it exists.
class VariantMaker {
 public:
  VariantMaker(const AuditOptions& options, const RunOptions& run, const ModelConfig& config)
      : options_(options), run_(run), config_(config) {}

  AuditVariants coordinates() {
    AuditVariants variants;
    variants.all.push_back(captured("original", options_.checkpoint));
    for (const Json& transform : transforms()) {
      const std::string name = transform["name"];
      const std::string reason = transform["reason"];
      if (!reason.empty()) {
        variants.refused.push_back({name, reason});
        continue;
      }
      const fs::path copy = options_.folder / (name + "-checkpoint");
      if (!has_captures(name) || keeps_copies()) gauge(name, transform["has_strength"], copy);
      variants.all.push_back(captured(name, copy));
      if (!keeps_copies()) fs::remove_all(copy);
    }
    return variants;
  }

  AuditVariants texts() {
    std::vector<std::int64_t> lengths = lengths_of_texts();
    const std::string longest = text_name(lengths.back());
    capture(options_.checkpoint, longest, given_input(lengths.back()));
    const AuditTexts texts(file_of(longest), run_.seed);
    AuditVariants variants;
    const auto add = [&](const std::string& name, const TokenTable& tokens) {
      if (!fs::exists(file_of(name))) {
        const fs::path ids = options_.folder / (file_stem(name) + ".npy");
        write_token_table(tokens, ids);
        capture(options_.checkpoint, name, {"--tokens", ids.string()});
      }
      variants.all.push_back({name, options_.checkpoint, file_of(name)});
    };
    add(text_name(options_.seq_len), texts.first(options_.seq_len));
    std::erase(lengths, options_.seq_len);
    for (const std::int64_t length : lengths) add(text_name(length), texts.first(length));
    add("shuffled", texts.shuffled(options_.seq_len));
    add("repeated", texts.repeated(options_.seq_len));
    return variants;
  }

 private:
  static std::string text_name(std::int64_t length) { return fmt::format("{} tokens", length); }
  static std::string file_stem(std::string name) {
    std::ranges::replace(name, ' ', '-');
    return name;
  }
  fs::path file_of(const std::string& name, const char* part = "") const {
    return options_.folder / (file_stem(name) + part + ".h5");
  }
  bool keeps_copies() const {
    return config_.routing == DepthRouting::kLime && options_.wants(AuditMetric::kRouter);
  }
  bool has_words() const {
    return !options_.only.empty() &&
           (options_.wants(AuditMetric::kSeparability) || options_.wants(AuditMetric::kTsne));
  }
  bool has_views() const { return !options_.views.empty() && options_.wants(AuditMetric::kViews); }
  bool has_captures(const std::string& name) const {
    return fs::exists(file_of(name)) && (!has_words() || fs::exists(file_of(name, ".words"))) &&
           (!has_views() || fs::exists(file_of(name, ".views")));
  }

  /// Runs lime-capture. @param command  of it; empty: a capture
  void run_program(Arguments arguments) const {
    if (run_.threads > 0) {
      arguments.insert(arguments.end(), {"--threads", std::to_string(run_.threads)});
    }
    if (::isatty(STDERR_FILENO) == 0) arguments.emplace_back("--quiet");
    const int status = run_child_program("lime-capture", arguments, interrupt_token());
    throw_if(status != kExitDone,
             "audit: lime-capture ended with status {} (its message is above); correct it and "
             "repeat the command, which continues",
             status);
  }

  /// Returns the transforms to audit, with the reasons of those that are not exact.
  std::vector<Json> transforms() const {
    const fs::path list = options_.folder / "transforms.json";
    if (!fs::exists(list)) {
      run_program({"gauge", options_.checkpoint.string(), "--list", "--output", list.string()});
    }
    std::vector<Json> all = read_json_file(list).get<std::vector<Json>>();
    for (const std::string& name : options_.transform) {
      const bool is_known = std::ranges::any_of(
          all, [&](const Json& transform) { return transform["name"] == name; });
      throw_if(
          !is_known, OptionName("transform"),
          "unknown transform '{}'; lime-capture gauge CHECKPOINT --list shows those that exist",
          name);
    }
    if (!options_.transform.empty()) {
      std::erase_if(all, [&](const Json& transform) {
        return std::ranges::find(options_.transform, transform["name"].get<std::string>()) ==
               options_.transform.end();
      });
    }
    return all;
  }

  void gauge(const std::string& name, bool has_strength, const fs::path& copy) const {
    if (fs::exists(copy)) return;
    Arguments arguments = {"gauge",  options_.checkpoint.string(), "--transform", name,
                           "--seed", std::to_string(run_.seed),    "--output",    copy.string()};
    if (has_strength) {
      arguments.insert(arguments.end(), {"--strength", fmt::format("{}", options_.strength)});
    }
    run_program(std::move(arguments));
  }

  std::vector<std::string> state_sites() const {
    return options_.site.empty() ? default_audit_sites(config_) : options_.site;
  }

  /// Returns the sites of the capture of all tokens.
  std::vector<std::string> all_sites() const {
    std::vector<std::string> sites = state_sites();
    const auto add = [&](AuditMetric metric, std::initializer_list<const char*> more) {
      if (!options_.wants(metric)) return;
      sites.insert(sites.end(), more.begin(), more.end());
    };
    add(AuditMetric::kAttention, {"attn.hook_profile"});
    if (config_.has_head) add(AuditMetric::kLens, {kLensSite});
    if (config_.spec.experts) {
      add(AuditMetric::kExperts, {kRouterLogitsSite, kExpertWeightsSite, kExpertIndicesSite});
    }
    if (config_.routing == DepthRouting::kHyperConnections ||
        config_.routing == DepthRouting::kManifoldHyperConnections) {
      add(AuditMetric::kStreams, {kStreamsSite, kStreamWeightsSite});
    }
    return sites;
  }

  Arguments given_input(std::int64_t length) const {
    Arguments input;
    if (options_.tokens.empty()) {
      input.emplace_back("--text");
      for (const fs::path& file : options_.text) input.push_back(file.string());
    } else {
      input = {"--tokens", options_.tokens.string()};
    }
    input.insert(input.end(), {"--seq-len", std::to_string(length), "--max-sequences",
                               std::to_string(options_.max_sequences)});
    return input;
  }

  void capture(const fs::path& checkpoint, const std::string& name, const Arguments& input) const {
    std::vector<std::string> sites = all_sites();
    Arguments more = input;
    if (std::ranges::find(sites, kLensSite) != sites.end()) {
      more.insert(more.end(), {"--lens-tokens", std::to_string(options_.lens_tokens)});
    }
    store(checkpoint, file_of(name), sites, more);
  }

  void store(const fs::path& checkpoint, const fs::path& file,
             const std::vector<std::string>& sites, const Arguments& input) const {
    if (fs::exists(file)) return;
    // Transforms change results by rounding only, which float64 keeps far below a measurement.
    const bool is_exact = options_.over == AuditOver::kCoordinates;
    Arguments arguments = {"--checkpoint", checkpoint.string(),
                           "--sites",      fmt::format("{}", fmt::join(sites, ",")),
                           "--layers",     options_.layer.to_string(),
                           "--dtype",      is_exact ? "float64" : "float32",
                           "--resume",     "--output",
                           file.string()};
    arguments.insert(arguments.end(), input.begin(), input.end());
    run_program(std::move(arguments));
  }

  /// Captures a checkpoint on the given text, its words and views.
  AuditVariant captured(const std::string& name, const fs::path& checkpoint) const {
    AuditVariant variant{name, checkpoint, file_of(name)};
    capture(checkpoint, name, given_input(options_.seq_len));
    if (has_words()) {
      variant.words = file_of(name, ".words");
      Arguments input = given_input(options_.seq_len);
      input.back() = std::to_string(options_.probe_sequences);
      input.insert(input.end(), {"--only", fmt::format("{}", fmt::join(options_.only, ","))});
      store(checkpoint, variant.words, state_sites(), input);
    }
    if (has_views()) {
      variant.views = file_of(name, ".views");
      store(checkpoint, variant.views, state_sites(), {"--views", options_.views.string()});
    }
    return variant;
  }

  /// Returns the lengths of texts, ascending, with that of the reference.
  std::vector<std::int64_t> lengths_of_texts() const {
    std::vector<std::int64_t> lengths = options_.lengths;
    if (lengths.empty()) {
      for (std::int64_t length = 64; length <= 2048; length *= 2) {
        if (length <= config_.max_position_embeddings) lengths.push_back(length);
      }
    }
    lengths.push_back(options_.seq_len);
    std::ranges::sort(lengths);
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    return lengths;
  }

  const AuditOptions& options_;
  const RunOptions& run_;
  const ModelConfig& config_;
};

/// Refuses a folder whose captures were made with other options; else notes those of this run.
void check_folder(const AuditOptions& options, const RunOptions& run,
                  const Checkpoint& checkpoint) {
  Json options_of_run = stored_options(options);
  // These select what is measured, and do not change captures.
  for (const char* const name : {"metric", "transform", "lengths"}) options_of_run.erase(name);
  options_of_run["seed"] = run.seed;
  options_of_run["checkpoint_sha256"] = checkpoint.sha256();
  options_of_run["metrics_with_sites"] = Json::array();
  for (const AuditMetric metric : {AuditMetric::kAttention, AuditMetric::kLens,
                                   AuditMetric::kExperts, AuditMetric::kStreams}) {
    if (options.wants(metric)) options_of_run["metrics_with_sites"].push_back(enum_name(metric));
  }
  make_folder(options.folder, Parents::kCreate);
  const fs::path file = options.folder / "options.json";
  if (!fs::exists(file)) {
    write_file_atomically(file, dump_json(options_of_run, 1) + "\n");
    return;
  }
  const auto difference = first_difference(read_json_file(file), options_of_run);
  throw_if(difference.has_value(), OptionName("folder"),
           "'{}' has captures that were made with other options ({}); pass another folder, or "
           "delete it",
           options.folder.string(), difference ? to_text(*difference) : "");
}

std::vector<int> numbers_to(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

std::vector<std::string> default_audit_sites(const ModelConfig& config) {
  std::vector<std::string> sites = {"values"};
  if (config.routing == DepthRouting::kLime || config.routing == DepthRouting::kResFormer ||
      config.routing == DepthRouting::kDepthAttention) {
    sites.emplace_back("routed_values");
  }
  sites.insert(sites.end(), {"keys", "hidden", "attn.hook_z", "hook_attn_out"});
  if (!config.spec.experts) sites.emplace_back("mlp.hook_post");
  sites.emplace_back("hook_mlp_out");
  return sites;
}

AuditVariants make_variants(const AuditOptions& options, const RunOptions& run) {
  const Checkpoint checkpoint = Checkpoint::open(options.checkpoint);
  const std::vector<int> layers =
      numbers_to(static_cast<int>(checkpoint.config().num_hidden_layers));
  options.layer.choose_from(layers, OptionName("layer"));
  check_folder(options, run, checkpoint);
  VariantMaker maker(options, run, checkpoint.config());
  return options.over == AuditOver::kCoordinates ? maker.coordinates() : maker.texts();
}

}  // namespace lime
