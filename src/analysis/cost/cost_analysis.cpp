// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/cost_analysis.h"

#include "analysis/cost/decoder_cost.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_files.h"
#include "checkpoint/parse_model_config.h"
#include "core/files/atomic_file.h"
#include "core/program/suggest.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::int64_t bytes_of(CostDtype dtype) {
  switch (dtype) {
    case CostDtype::kFloat64: return 8;
    case CostDtype::kFloat32: return 4;
    case CostDtype::kBfloat16:
    case CostDtype::kFloat16: break;
  }
  return 2;
}

/// Returns the folder name for `FOLDER` and `FOLDER/config.json`, the file name for other files.
std::string label_of(const fs::path& path, bool with_revision) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return checkpoint_label(path, with_revision);
  if (path.filename() != "config.json") return path.stem().string();
  return checkpoint_label(fs::absolute(path, ignored).parent_path(), with_revision);
}

template <typename T> void require_distinct(const char* name, const std::vector<T>& values) {
  for (auto value = values.begin(); value != values.end(); ++value) {
    if (std::find(values.begin(), value, *value) == value) continue;
    throw InvalidArgument(OptionName(name), "values must be unique, got {} twice",
                          OptionCodec<T>::to_json(*value).dump());
  }
}

std::vector<std::string> labels_of(const CostAnalysisOptions& options) {
  if (!options.label.empty()) return options.label;
  std::vector<std::string> labels;
  for (const bool with_revision : {false, true}) {
    labels.clear();
    for (const fs::path& path : options.configs) labels.push_back(label_of(path, with_revision));
    if (all_distinct(labels)) return labels;
  }
  labels.clear();
  for (const fs::path& path : options.configs) labels.push_back(path.string());
  return labels;
}

CostDtype dtype_of(const CostAnalysisOptions& options, const std::string& config_dtype) {
  if (options.dtype) return *options.dtype;
  return find_enum<CostDtype>(config_dtype).value_or(CostDtype::kFloat32);
}

ResultRow row_of(const ModelConfig& config, std::int64_t num_tokens, CostDtype dtype) {
  const DecoderCost cost = decoder_cost(config, num_tokens);
  const std::int64_t bytes = bytes_of(dtype);
  return {{col::kDtype, enum_name(dtype)},
          {col::kParameters, cost.parameters},
          {col::kRouterParameters, cost.router_parameters},
          {col::kRouterShare, double(cost.router_parameters) / double(cost.parameters)},
          {col::kMultiplyAccumulates, cost.multiply_accumulates},
          {col::kPerToken, cost.per_token},
          {col::kLinear, cost.linear},
          {col::kAttention, cost.attention},
          {col::kMixing, cost.mixing},
          {col::kMixingShare, cost.mixing / cost.multiply_accumulates},
          {col::kElementwise, cost.elementwise},
          {col::kParameterBytes, cost.parameters * bytes},
          {col::kCacheBytes, cost.cache_elements * bytes},
          {col::kCacheBytesPerToken, double(cost.cache_elements * bytes) / double(num_tokens)}};
}

struct ConfiguredDecoder {
  ModelConfig config;
  fs::path file;                      ///< the config.json that was read
  std::vector<std::string> warnings;  ///< of the checkpoint
};

/// Reads a config.json or a checkpoint folder. With weights beside it, an official LIMe is detected
/// from the tensor names, because its config declares llama.
/// @throws IoError, FormatError  as Checkpoint::open().
ConfiguredDecoder read_configured_decoder(const fs::path& path) {
  if (!path_exists(path)) {
    throw IoError("'{}': no such file; give a config.json or a checkpoint folder{}", path.string(),
                  hub_hint(path));
  }
  const bool is_folder = fs::is_directory(path);
  if (!is_folder && path.filename() != "config.json") return {read_model_config(path), path, {}};
  const fs::path parent = is_folder ? path : path.parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  const CheckpointFiles files = find_checkpoint(folder);
  const fs::path file = is_folder ? files.config : path;
  if (!has_weights(files.weights)) return {read_model_config(file), file, {}};
  const Checkpoint checkpoint = Checkpoint::open(folder);
  return {checkpoint.config(), file, checkpoint.warnings()};
}

std::string decoder_name(const ModelConfig& config) {
  if (config.routing == DepthRouting::kLime && config.lime.router == RouterKind::kNone) {
    return config.family;
  }
  const bool is_svformer =
      config.routing == DepthRouting::kResFormer && config.first_layer_values_only;
  return is_svformer && config.family == "llama" ? "svformer" : config.name();
}

DepthRouting routing_of(CostedDecoder decoder) {
  switch (decoder) {
    case CostedDecoder::kLlama: break;
    case CostedDecoder::kLime: return DepthRouting::kLime;
    case CostedDecoder::kDenseFormer: return DepthRouting::kDenseFormer;
    case CostedDecoder::kHyperConnections: return DepthRouting::kHyperConnections;
    case CostedDecoder::kResFormer:
    case CostedDecoder::kSvFormer: return DepthRouting::kResFormer;
    case CostedDecoder::kAttnRes: return DepthRouting::kAttentionResiduals;
    case CostedDecoder::kMhc: return DepthRouting::kManifoldHyperConnections;
    case CostedDecoder::kDepthAttention: return DepthRouting::kDepthAttention;
    case CostedDecoder::kMudd: return DepthRouting::kMudd;
  }
  return DepthRouting::kNone;
}

ModelConfig with_decoder(ModelConfig config, CostedDecoder decoder) {
  config.routing = routing_of(decoder);
  config.first_layer_values_only = decoder == CostedDecoder::kSvFormer;
  return config;
}

void add_units(const CostAnalysisOptions& options, const std::string& label,
               const std::string& path, const ModelConfig& own, std::vector<Unit>& units) {
  std::vector<std::pair<std::string, ModelConfig>> decoders;
  if (options.decoder.empty()) decoders.emplace_back(decoder_name(own), own);
  for (const CostedDecoder decoder : options.decoder) {
    decoders.emplace_back(enum_name(decoder), with_decoder(own, decoder));
  }
  const std::vector<std::int64_t> heads = options.num_key_value_heads.empty()
                                              ? std::vector{own.num_key_value_heads}
                                              : options.num_key_value_heads;
  const CostDtype dtype = dtype_of(options, own.torch_dtype);
  for (const auto& [name, decoder] : decoders) {
    for (const std::int64_t key_value_heads : heads) {
      for (const std::int64_t num_tokens : options.sequence_length) {
        ModelConfig config = decoder;
        config.num_key_value_heads = key_value_heads;
        config.validate(fmt::format("'{}': cost", path));
        Unit unit;
        unit.key = {{col::kLabel, label},
                    {col::kDecoder, name},
                    {col::kNumKeyValueHeads, key_value_heads},
                    {col::kSequenceLength, num_tokens}};
        unit.where = fmt::format("'{}'", path);
        unit.measure = [config, num_tokens, dtype](const UnitContext&) {
          UnitResult result;
          result.rows.push_back(row_of(config, num_tokens, dtype));
          return result;
        };
        units.push_back(std::move(unit));
      }
    }
  }
}

NumberCell percent_cell(double fraction) { return {fraction * 100.0, 3, "%"}; }

/// 1348400000 -> "1.3484 G"; from `large` on in units of 1000 times `unit`.
NumberCell operations_cell(double operations, double large, double unit, const char* names) {
  const bool is_large = operations >= large;
  return {operations / (is_large ? 1000.0 * unit : unit), 4, std::string(" ") + names[is_large]};
}

NumberCell parameters_cell(std::int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  return parameters >= 10'000'000 ? NumberCell{count / 1e9, 5, " G"} : NumberCell{count, 0};
}

/// Returns whether the rows differ in a column; a common value is printed above the table instead.
bool differ_in(const std::vector<ResultRow>& rows, const Column& column) {
  return std::ranges::any_of(
      rows, [&](const ResultRow& row) { return row.cell(column) != rows.front().cell(column); });
}

std::vector<TableColumn> terminal_columns(const std::vector<ResultRow>& rows) {
  std::vector<TableColumn> columns = {table_column(col::kLabel, "config"),
                                      table_column(col::kDecoder),
                                      table_column(col::kNumKeyValueHeads, "kv heads")};
  if (differ_in(rows, col::kSequenceLength)) {
    columns.push_back(table_column(col::kSequenceLength, "tokens"));
  }
  if (differ_in(rows, col::kDtype)) columns.push_back(table_column(col::kDtype));
  columns.insert(
      columns.end(),
      {{"parameters",
        [](const ResultRow& row) { return parameters_cell(row.integer(col::kParameters)); }},
       {"MACs",
        [](const ResultRow& row) {
          return operations_cell(row.number(col::kMultiplyAccumulates), 1e11, 1e9, "GT");
        }},
       {"MACs/token",
        [](const ResultRow& row) {
          return operations_cell(row.number(col::kPerToken), 1e8, 1e6, "MG");
        }},
       {"cache", [](const ResultRow& row) { return human_bytes(row.number(col::kCacheBytes)); }},
       {"mixing", [](const ResultRow& row) { return percent_cell(row.number(col::kMixingShare)); }},
       table_column(col::kRouterParameters, "router"),
       {"router %",
        [](const ResultRow& row) { return percent_cell(row.number(col::kRouterShare)); }}});
  return columns;
}

std::string printed_name(const ResultRow& row) {
  const std::string& name = row.text(col::kDecoder);
  static const std::map<std::string, std::string> kPrinted = {
      {"llama", "LLaMA"},          {"lime", "LIMe"},           {"denseformer", "DenseFormer"},
      {"hyper_connections", "HC"}, {"resformer", "ResFormer"}, {"svformer", "SVFormer"}};
  const auto printed = kPrinted.find(name);
  return printed == kPrinted.end() ? name : printed->second;
}

/// Returns the columns of the efficiency table: parameters in billions, operations in 10^12.
std::vector<TableColumn> paper_columns(const std::vector<ResultRow>& rows) {
  std::vector<TableColumn> columns;
  if (differ_in(rows, col::kLabel)) columns.push_back(table_column(col::kLabel, "Config"));
  columns.push_back({"Model", printed_name, false});
  columns.push_back(table_column(col::kNumKeyValueHeads, "KV heads"));
  if (differ_in(rows, col::kSequenceLength))
    columns.push_back(table_column(col::kSequenceLength, "Tokens"));
  columns.push_back(number_column(col::kParameters, 5, "Parameters (B)", 1e-9));
  columns.back().latex_header = "\\# Parameters (B)";
  columns.push_back(number_column(col::kMultiplyAccumulates, 4, "FLOPs (T)", 1e-12));
  columns.push_back(number_column(col::kCacheBytes, 1, "Cache (MiB)", 1.0 / (1 << 20)));
  return columns;
}

void fill_report(Report& report) {
  report.notes = {
      "cost of one forward pass over one sequence, logits included; MACs: multiply-accumulates, "
      "counted as in the LIMe paper's code (docs/cost.md)"};
  std::string same;
  if (!differ_in(report.results.rows, col::kSequenceLength)) {
    same += fmt::format("{} tokens, ", report.results.rows.front().shown(col::kSequenceLength));
  }
  if (!differ_in(report.results.rows, col::kDtype)) {
    same += fmt::format("{}; ", report.results.rows.front().text(col::kDtype));
  }
  report.legend =
      same +
      "cache: keys and values after the sequence; mixing: fraction of MACs in routers and other "
      "mixing layers; router: parameters of these; router %: fraction of all parameters";
  report.parts = [](const Results& results) -> std::vector<ReportPart> {
    const RowPointers rows = rows_with(results.rows);
    return {
        {column_table(rows, present_in(rows, terminal_columns(results.rows))), ShownIn::kTerminal},
        {column_table(rows, paper_columns(results.rows)), ShownIn::kPaper}};
  };
}

}  // namespace

void CostAnalysisOptions::describe_inputs(OptionList& list) {
  list.add("configs", configs, "config.json files, checkpoint folders or GGUF files");
}

void CostAnalysisOptions::describe(OptionList& list) {
  list.add("label", label, "names of the configs in tables and results, in order").takes_several =
      true;
  list.add("decoder", decoder,
           "decoder types to count for each config instead of its own, e.g. llama,lime");
  list.add("num_key_value_heads", num_key_value_heads,
           "numbers of key-value heads to count for each config instead of its own, e.g. 8,32");
  list.add("sequence_length", sequence_length,
           "sequence lengths in tokens, e.g. 512,2048; each from 1 to 2147483647");
  list.add("dtype", dtype,
           "number type of weights and key-value cache; default: that of the config, else float32");
}

void CostAnalysisOptions::validate() const {
  throw_if(configs.empty(), OptionName("configs"),
           "expected at least one config.json or checkpoint folder, got none");
  throw_if(!label.empty() && label.size() != configs.size(), OptionName("label"),
           "expected one name per config, got {} ({}) for {} config{}", label.size(),
           join_words(label), configs.size(), configs.size() == 1 ? "" : "s");
  throw_if(!all_distinct(label), OptionName("label"), "names must be unique, got {}",
           join_words(label));
  throw_if(sequence_length.empty(), OptionName("sequence_length"),
           "expected at least one, got none");
  // The numbers of the key-value cache fit into 64 bits.
  constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t length : sequence_length) {
    check_option(length >= 1 && length <= kLongest, "sequence_length",
                 fmt::format("from 1 to {}", kLongest), length);
  }
  for (const std::int64_t heads : num_key_value_heads) {
    check_option(heads >= 1, "num_key_value_heads", ">= 1", heads);
  }
  require_distinct("configs", configs);
  require_distinct("decoder", decoder);
  require_distinct("num_key_value_heads", num_key_value_heads);
  require_distinct("sequence_length", sequence_length);
}

Analysis prepare_cost(const CostAnalysisOptions& options, const RunOptions&) {
  options.validate();
  Analysis analysis = analysis_of("cost", options);
  const std::vector<std::string> labels = labels_of(options);
  for (std::size_t i = 0; i < options.configs.size(); ++i) {
    const ConfiguredDecoder config = read_configured_decoder(options.configs[i]);
    add_units(options, labels[i], config.file.string(), config.config, analysis.units);
    analysis.inputs.push_back({config.file.string(), labels[i], {config.file}});
    analysis.warnings.insert(analysis.warnings.end(), config.warnings.begin(),
                             config.warnings.end());
  }
  analysis.present = [](Report& report, auto) { fill_report(report); };
  return analysis;
}

}  // namespace lime
