// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_setup.h"

#include <algorithm>
#include <system_error>

#include "capture/capture_sizes.h"
#include "capture/input/input_prefix.h"
#include "checkpoint/parameters.h"
#include "core/files/sha256.h"
#include "core/program/program.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownIds = 16;
constexpr std::int64_t kTableBytesPerRow = 12;  // sequence, position, token

std::unique_ptr<RowSelection> select_rows(const CaptureOptions& options, const CaptureInput& input,
                                          const std::vector<TokenClass>& classes) {
  if (!options.keeps_activations()) return std::make_unique<RowSelection>(input);
  if (options.only.empty()) return std::make_unique<RowSelection>(input, options.rows);
  auto selection = std::make_unique<RowSelection>(input, classes, options.max_per_class);
  throw_if(selection->num_rows() == 0, OptionName("only"),
           "none of the tokens occurs in the input; use more text or other words");
  return selection;
}

/// Returns a router matrix after the edits.
/// @param router  columns = (buffered layer * kv_heads + buffered head) * dims + dimension
MatrixF edited(MatrixF router, const RouteScales& scales, std::int64_t layer) {
  const std::int64_t heads = router.rows();
  const std::int64_t dims = router.cols() / ((layer + 1) * heads);
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t route = 0; route < (layer + 1) * heads; ++route) {
      router.row(head).segment(route * dims, dims) *=
          static_cast<float>(scales.at(layer, head, route / heads, route % heads));
    }
  }
  return router;
}

void read_routers(const Checkpoint& checkpoint, const std::vector<RouterEdit>& edits,
                  CapturePlan& plan) {
  const RouteScales scales(edits);
  for (int layer = 0; layer < checkpoint.config().num_hidden_layers; ++layer) {
    if (const auto weights = read_full_router(checkpoint, layer)) {
      plan.router.emplace(layer, edited(*weights, scales, layer));
    }
    if (const auto weights = read_router_dimensions(checkpoint, layer)) {
      plan.router_dimensions.emplace(layer, edited(*weights, scales, layer));
    }
  }
}

std::string tokens_text(std::span<const std::int32_t> ids, const Tokenizer* tokenizer) {
  std::string text;
  for (const std::int32_t id : ids) {
    text += tokenizer != nullptr ? tokenizer->token_text(id) : std::to_string(id);
  }
  return text;
}

/// Returns the first ids of the input as text; empty without a matching tokenizer.
std::vector<std::string> token_texts(std::span<const std::int32_t> ids,
                                     const Tokenizer* tokenizer) {
  std::vector<std::string> texts;
  if (tokenizer == nullptr) return texts;
  for (const std::int32_t id : ids) {
    texts.push_back(id < tokenizer->vocab_size() ? tokenizer->token_text(id) : "?");
  }
  return texts;
}

Json resolved_options(const CaptureOptions& options, const CaptureSetup& setup) {
  Json content = content_options(options, setup.edits);
  Json sites = Json::array();
  for (const CaptureSite& site : setup.sites) sites.push_back(site.name);
  content["sites"] = std::move(sites);
  content["batch_size"] = setup.batch_size;
  if (options.pair_preset()) content["blimp_preset"] = enum_name(*options.pair_preset());
  if (!options.keeps_lengths()) content["seq_len"] = setup.input.longest();
  if (setup.input.packing) content["packing"] = enum_name(*setup.input.packing);
  return content;
}

CaptureInfo describe_capture(const CaptureOptions& options, const CaptureSetup& setup,
                             const Checkpoint& checkpoint, const Tokenizer* tokenizer) {
  const CapturePreview& preview = setup.preview;
  CaptureInfo info;
  info.tool = tool_version();
  info.command = program_command();
  info.created_utc = utc_timestamp();
  info.config = setup.config.raw;
  info.options = resolved_options(options, setup);
  info.checkpoint_sha256 = options.random_weights
                               ? sha256_of(fmt::format("random weights, seed {}\n{}", options.seed,
                                                       dump_json(setup.config.raw)))
                               : checkpoint.sha256();
  if (tokenizer != nullptr) info.tokenizer_sha256 = tokenizer->sha256();
  info.input_sha256 = setup.input.sha256();
  info.compute_dtype = enum_name(options.dtype);
  info.storage = options.store;
  info.compression = options.compress;
  info.rows = options.rows;
  info.seed = options.seed;
  info.prepended = preview.prepended;
  info.first_ids = preview.first_ids;
  info.first_tokens = preview.first_tokens;
  for (const auto& entry : preview.classes) info.class_names.push_back(entry.text);
  info.task_names = setup.input.task_names;
  info.task_fields = setup.input.task_fields;
  info.task_terms = setup.input.task_terms;
  info.extra["dropped_tokens"] = setup.input.dropped_tokens;
  info.extra["mean_counts_prepended"] = false;
  info.extra["batch_size_given"] = setup.batch_is_given;
  if (setup.shards_at_once > 1) info.extra["shards_at_once"] = setup.shards_at_once;
  if (tokenizer != nullptr && !tokenizer->prefix_ids().empty()) {
    info.extra["tokenizer_prefix"] = tokens_text(tokenizer->prefix_ids(), tokenizer);
    info.extra["sequences_without_prefix"] = sequences_without_prefix(setup.input, *tokenizer);
  }
  return info;
}

bool has_lens(const std::vector<CaptureSite>& sites) {
  return std::ranges::find(sites, HookKind::kLogitLens, &CaptureSite::kind) != sites.end();
}

int last_layer_of(const CaptureSetup& setup) {
  if (setup.scores || has_lens(setup.sites))
    return static_cast<int>(setup.config.num_hidden_layers) - 1;
  int last = 0;
  for (const ActivationInfo& info : setup.plan.activations) last = std::max(last, info.layer);
  return last;
}

/// Sets layers, tokens and cost of the logit lens; multiply-accumulates per weight of a matrix.
void set_lens_cost(CaptureSetup& setup) {
  CapturePreview& preview = setup.preview;
  for (const CapturePoint& point : setup.passes.points) {
    preview.lens_layers += point.point.kind == HookKind::kLogitLens ? 1 : 0;
  }
  if (preview.lens_layers == 0) return;
  const CaptureInput& input = setup.input;
  preview.lens_tokens = input.in_lens.empty() ? input.num_tokens()
                                              : std::ranges::count(input.in_lens, std::uint8_t{1});
  const auto of_head = static_cast<double>(setup.config.hidden_size * setup.config.vocab_size);
  const double of_pass = static_cast<double>(parameter_count(setup.config)) - of_head;
  // The final distribution is computed too.
  preview.lens_cost = static_cast<double>(preview.lens_tokens * (preview.lens_layers + 1)) *
                      of_head / (static_cast<double>(input.num_tokens()) * of_pass);
}

void set_preview(const CaptureOptions& options, const std::vector<TokenClass>& classes,
                 const Tokenizer* tokenizer, CaptureSetup& setup) {
  const CaptureInput& input = setup.input;
  CapturePreview& preview = setup.preview;
  preview.num_rows = setup.selection->num_rows();
  preview.num_sequences = input.num_sequences();
  preview.num_tokens = input.num_tokens();
  preview.dropped_tokens = input.dropped_tokens;
  set_lens_cost(setup);
  preview.num_datasets = static_cast<std::int64_t>(setup.plan.activations.size());
  preview.bytes = preview.num_rows * (setup.bytes_per_row + kTableBytesPerRow);
  std::error_code error;
  const fs::path folder = options.output.has_parent_path() ? options.output.parent_path() : ".";
  const fs::space_info space = fs::space(folder, error);
  preview.free_bytes = error ? -1 : static_cast<std::int64_t>(space.available);
  preview.batch_size = setup.batch_size;
  preview.num_shards = static_cast<int>(setup.shards.size());
  preview.prepended = tokens_text(input.prepended_ids, tokenizer);
  preview.packing = input.packing;
  preview.warnings = input_warnings(input, options, setup.config, tokenizer);
  const auto first = input.ids_of(0);
  const auto shown = first.first(std::min(first.size(), kShownIds));
  preview.first_ids.assign(shown.begin(), shown.end());
  preview.first_tokens = token_texts(shown, tokenizer);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    preview.classes.push_back(
        {classes[c].text, classes[c].id, setup.selection->rows_per_class()[c]});
  }
}

}  // namespace

Json content_options(const CaptureOptions& options, const ModelEdits& edits) {
  CaptureOptions fields = options;
  Json content = Json::object();
  for (const OptionField& field : option_fields(fields)) {
    if (field.role == OptionRole::kContent) content[field.name] = field.value();
  }
  // Of the field's earlier default, so that captures of sequences that are not packed can be
  // resumed.
  if (!options.packing) content["packing"] = enum_name(Packing::kEosBetween);
  // The content of files, not their paths.
  if (!options.random_weights) content.erase("random_weights");  // as captures made before it
  if (!options.lens_tokens) content.erase("lens_tokens");
  if (!edits.routes.empty()) content["router_edit"] = router_edits_to_json(edits.routes);
  if (!edits.activations.empty()) content["edit"] = edits_to_json({edits.activations, {}});
  return content;
}

std::unique_ptr<const CaptureSetup> prepare_capture(const CaptureOptions& options,
                                                    const Checkpoint& checkpoint,
                                                    const CaptureTuning& tuning,
                                                    const CapturePlace& place) {
  auto setup = std::make_unique<CaptureSetup>();
  setup->config = checkpoint.config();
  setup->allow_nan = options.allow_nan;
  setup->scores = options.log_likelihood;
  setup->edits = read_edits(options.edit);
  check_edits(setup->edits, setup->config);
  if (!setup->edits.activations.empty()) {
    setup->passes.edits = std::make_shared<EditHooks>(setup->edits.activations, setup->config);
  }
  if (options.keeps_activations()) setup->sites = find_sites(options.selected_sites());
  throw_if(options.rows != RowKind::kTokens && has_lens(setup->sites), OptionName("sites"),
           "logit_lens has a row per token; use --rows tokens, or omit the site");
  setup->plan.activations = plan_activations(setup->sites, options.layers, setup->config);

  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_for(options);
  std::vector<TokenClass> classes;
  if (!options.only.empty()) classes = find_token_classes(options.only, *tokenizer);
  setup->input = read_input(options, setup->config, tokenizer.get());
  check_edited_positions(setup->edits, setup->config, setup->input.longest());
  if (options.lens_tokens) {
    throw_if(!has_lens(setup->sites), OptionName("lens_tokens"),
             "selects tokens of the site logit_lens; add it to --sites, or omit --lens-tokens");
    select_for_lens(setup->input, *options.lens_tokens, options.seed);
  }
  setup->selection = select_rows(options, setup->input, classes);
  setup->input.truncate(setup->selection->num_sequences());
  widen_patterns(setup->plan.activations, setup->sites, setup->input.longest());

  for (const ActivationInfo& info : setup->plan.activations) {
    setup->bytes_per_row += info.dim * (options.store == StorageType::kFloat16 ? 2 : 4);
  }
  setup->smallest_batch = options.pairs.empty() ? 1 : 2;
  const int last_layer = last_layer_of(*setup);
  setup->preview.last_layer = last_layer;
  setup->passes.last_layer = last_layer;
  setup->passes.points =
      capture_points(setup->sites, setup->plan.activations, setup->config, last_layer);
  choose_sizes(options, tuning, place, *setup);
  setup->windows = plan_passes(options, *setup);
  setup->shards = plan_shards({.num_sequences = setup->input.num_sequences(),
                               .num_tokens = setup->input.num_tokens(),
                               .num_rows = setup->selection->num_rows(),
                               .bytes_per_row = setup->bytes_per_row},
                              setup->windows.batch_size, tuning.shard, setup->shards_at_once);
  set_preview(options, classes, tokenizer.get(), *setup);
  setup->plan.num_shards = static_cast<int>(setup->shards.size());
  if (!options.random_weights) read_routers(checkpoint, setup->edits.routes, setup->plan);
  setup->plan.info = describe_capture(options, *setup, checkpoint, tokenizer.get());
  return setup;
}

}  // namespace lime
