// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/cost_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/cost/decoder_cost.h"
#include "analysis/engine/capture_set.h"
#include "analysis/report/column_table.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/weight_files.h"
#include "core/errors.h"
#include "core/files/folder.h"
#include "core/program/progress.h"
#include "core/program/suggest.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::int64_t bytes_of(CostDtype dtype) {
  switch (dtype) {
    case CostDtype::kFloat64:
      return 8;
    case CostDtype::kFloat32:
      return 4;
    case CostDtype::kBfloat16:
    case CostDtype::kFloat16:
      break;
  }
  return 2;
}

/// Returns the folder name for `FOLDER` and `FOLDER/config.json`, the file name for other files.
std::string label_of(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(path, ignored);
  if (fs::is_directory(path, ignored)) return whole.filename().string();
  if (path.filename() != "config.json") return path.stem().string();
  return whole.parent_path().filename().string();
}

template <typename T>
void require_distinct(const char* name, const std::vector<T>& values) {
  for (auto value = values.begin(); value != values.end(); ++value) {
    if (std::find(values.begin(), value, *value) == value) continue;
    throw InvalidArgument("{}: values must be unique, got {} twice", name,
                          OptionCodec<T>::to_json(*value).dump());
  }
}

std::vector<std::string> labels_of(const CostAnalysisOptions& options) {
  if (!options.label.empty()) return options.label;
  std::vector<std::string> labels;
  for (const fs::path& path : options.configs) labels.push_back(label_of(path));
  if (all_distinct(labels)) return labels;
  labels.clear();
  for (const fs::path& path : options.configs) labels.push_back(path.string());
  return labels;
}

CostDtype dtype_of(const CostAnalysisOptions& options, const std::string& config_dtype) {
  if (options.dtype) return *options.dtype;
  for (const auto& [dtype, name] : EnumNames<CostDtype>::kNames) {
    if (name == config_dtype) return dtype;
  }
  return CostDtype::kFloat32;
}

/// Adds the columns after the unit's key.
Json row_of(const ModelConfig& config, std::int64_t num_tokens, CostDtype dtype) {
  const DecoderCost cost = decoder_cost(config, num_tokens);
  const std::int64_t bytes = bytes_of(dtype);
  Json row = Json::object();
  row["dtype"] = std::string(enum_name(dtype));
  row["parameters"] = cost.parameters;
  row["router_parameters"] = cost.router_parameters;
  row["router_share"] = double(cost.router_parameters) / double(cost.parameters);
  row["multiply_accumulates"] = cost.multiply_accumulates;
  row["per_token"] = cost.per_token;
  row["linear"] = cost.linear;
  row["attention"] = cost.attention;
  row["mixing"] = cost.mixing;
  row["mixing_share"] = cost.mixing / cost.multiply_accumulates;
  row["elementwise"] = cost.elementwise;
  row["parameter_bytes"] = cost.parameters * bytes;
  row["cache_bytes"] = cost.cache_elements * bytes;
  row["cache_bytes_per_token"] = double(cost.cache_elements * bytes) / double(num_tokens);
  return row;
}

/// A decoder as a config describes it.
struct ConfiguredDecoder {
  ModelConfig config;
  fs::path file;                      ///< the config.json that was read
  std::vector<std::string> warnings;  ///< of the checkpoint
};

/// Reads a config.json or a checkpoint folder. If weights are stored next to config.json, an
/// official LIMe is detected from the tensor names, because its config declares llama.
/// @throws IoError      if it is missing, and as Checkpoint::open().
/// @throws FormatError  as Checkpoint::open(), or if this build does not know the decoder.
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

/// Returns the name of a decoder in results.
std::string decoder_name(const ModelConfig& config) {
  if (config.routing == DepthRouting::kLime && config.lime.router == RouterKind::kNone) {
    return config.family;
  }
  const bool is_svformer =
      config.routing == DepthRouting::kResFormer && config.first_layer_values_only;
  return is_svformer && config.family == "llama" ? "svformer" : config.name();
}

/// Returns the config with another routing.
ModelConfig with_decoder(ModelConfig config, CostedDecoder decoder) {
  using Routing = std::pair<CostedDecoder, DepthRouting>;
  constexpr std::array<Routing, 6> kRoutings = {
      {{CostedDecoder::kLlama, DepthRouting::kNone},
       {CostedDecoder::kLime, DepthRouting::kLime},
       {CostedDecoder::kDenseFormer, DepthRouting::kDenseFormer},
       {CostedDecoder::kHyperConnections, DepthRouting::kHyperConnections},
       {CostedDecoder::kResFormer, DepthRouting::kResFormer},
       {CostedDecoder::kSvFormer, DepthRouting::kResFormer}}};
  for (const auto& [costed, routing] : kRoutings) {
    if (costed == decoder) config.routing = routing;
  }
  config.first_layer_values_only = decoder == CostedDecoder::kSvFormer;
  return config;
}

/// Returns every combination of the options for one config.
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
        Unit unit;
        unit.key = {{"label", label},
                    {"decoder", name},
                    {"num_key_value_heads", key_value_heads},
                    {"sequence_length", num_tokens}};
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

std::string percent_cell(const Json& row, const char* key) {
  return fmt::format("{:.3f} %", results_number(row, key) * 100.0);
}

/// 1348400000 -> "1.348 G".
std::string operations_cell(const Json& row, const char* key, double unit, const char* suffix) {
  return fmt::format("{:.4f} {}", results_number(row, key) / unit, suffix);
}

std::string bytes_cell(const Json& row, const char* key) {
  return human_bytes(results_number(row, key));
}

std::string parameters_cell(const Json& row) {
  const double parameters = results_number(row, "parameters");
  if (parameters >= 1e7) return fmt::format("{:.5f} G", parameters / 1e9);
  return fmt::format("{}", row.at("parameters").get<std::int64_t>());
}

std::string total_cell(const Json& row) {
  const bool large = results_number(row, "multiply_accumulates") >= 1e11;
  return operations_cell(row, "multiply_accumulates", large ? 1e12 : 1e9, large ? "T" : "G");
}

std::string per_token_cell(const Json& row) {
  const bool large = results_number(row, "per_token") >= 1e8;
  return operations_cell(row, "per_token", large ? 1e9 : 1e6, large ? "G" : "M");
}

/// Returns whether the rows differ in a column; a common value is printed above the table instead.
bool differ_in(const std::vector<Json>& rows, const char* key) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const Json& row) { return row.at(key) != rows.front().at(key); });
}

std::vector<TableColumn> text_columns(const std::vector<Json>& rows) {
  std::vector<TableColumn> columns = {{"config", text_cell("label"), false},
                                      {"decoder", text_cell("decoder"), false},
                                      {"kv heads", text_cell("num_key_value_heads")}};
  if (differ_in(rows, "sequence_length"))
    columns.push_back({"tokens", text_cell("sequence_length")});
  if (differ_in(rows, "dtype")) columns.push_back({"dtype", text_cell("dtype"), false});
  const TableColumn numbers[] = {
      {"parameters", parameters_cell},
      {"MACs", total_cell},
      {"MACs/token", per_token_cell},
      {"cache", [](const Json& row) { return bytes_cell(row, "cache_bytes"); }},
      {"mixing", [](const Json& row) { return percent_cell(row, "mixing_share"); }},
      {"router", text_cell("router_parameters")},
      {"router %", [](const Json& row) { return percent_cell(row, "router_share"); }},
  };
  columns.insert(columns.end(), std::begin(numbers), std::end(numbers));
  return columns;
}

/// Returns the decoder's name as written in papers.
std::string printed_name(const Json& row) {
  std::string name = row.at("decoder").get<std::string>();
  using Name = std::pair<std::string_view, const char*>;
  constexpr std::array<Name, 6> kPrinted = {{{"llama", "LLaMA"},
                                             {"lime", "LIMe"},
                                             {"denseformer", "DenseFormer"},
                                             {"hyper_connections", "HC"},
                                             {"resformer", "ResFormer"},
                                             {"svformer", "SVFormer"}}};
  for (const auto& [stored, printed] : kPrinted) {
    if (stored == name) return printed;
  }
  return name;
}

/// Returns the columns of the efficiency table: model, key-value heads, parameters in billions,
/// operations in 10^12.
std::vector<TableColumn> latex_columns(const std::vector<Json>& rows) {
  std::vector<TableColumn> columns;
  if (differ_in(rows, "label")) columns.push_back({"Config", text_cell("label"), false});
  columns.push_back({"Model", printed_name, false});
  columns.push_back({"KV heads", text_cell("num_key_value_heads")});
  if (differ_in(rows, "sequence_length"))
    columns.push_back({"Tokens", text_cell("sequence_length")});
  columns.push_back(
      {"Parameters (B)", number_cell("parameters", 5, 1e-9), true, "\\# Parameters (B)"});
  columns.push_back({"FLOPs (T)", number_cell("multiply_accumulates", 4, 1e-12)});
  columns.push_back({"Cache (MiB)", number_cell("cache_bytes", 1, 1.0 / (1 << 20))});
  return columns;
}

Report make_report(Results results) {
  Report report;
  report.notes = {
      "cost of one forward pass over one sequence, logits included; MACs: multiply-accumulates, "
      "counted as in the LIMe paper's code (docs/cost.md)"};
  std::string same;
  if (!differ_in(results.rows, "sequence_length")) {
    same += fmt::format("{} tokens, ", results.rows.front().at("sequence_length").dump());
  }
  if (!differ_in(results.rows, "dtype")) {
    same += fmt::format("{}; ", results.rows.front().at("dtype").get<std::string>());
  }
  report.legend =
      same +
      "cache: keys and values after the sequence; mixing: fraction of MACs in routers and other "
      "mixing layers; router: parameters of these; router %: fraction of all parameters";
  report.text = [](const Results& table, const TextStyle& style) {
    return columns_to_text(pointers_to(table.rows), text_columns(table.rows), style);
  };
  report.latex = [](const Results& table, const std::vector<std::string>& notes) {
    return columns_to_latex(pointers_to(table.rows), latex_columns(table.rows), notes);
  };
  report.results = std::move(results);
  return report;
}

}  // namespace

void CostAnalysisOptions::describe_inputs(OptionList& list) {
  list.add("configs", configs, "config.json files or checkpoint folders");
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
  if (configs.empty()) {
    throw InvalidArgument(
        "configs: expected at least one config.json or checkpoint folder, got none");
  }
  if (!label.empty() && label.size() != configs.size()) {
    throw InvalidArgument("label: expected one name per config, got {} ({}) for {} config{}",
                          label.size(), join_words(label), configs.size(),
                          configs.size() == 1 ? "" : "s");
  }
  if (!all_distinct(label)) {
    throw InvalidArgument("label: names must be unique, got {}", join_words(label));
  }
  if (sequence_length.empty()) {
    throw InvalidArgument("sequence_length: expected at least one, got none");
  }
  // The numbers of the key-value cache fit into 64 bits.
  constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t length : sequence_length) {
    if (length >= 1 && length <= kLongest) continue;
    throw InvalidArgument("sequence_length: must be from 1 to {}, got {}", kLongest, length);
  }
  for (const std::int64_t heads : num_key_value_heads) {
    if (heads < 1) throw InvalidArgument("num_key_value_heads: must be >= 1, got {}", heads);
  }
  require_distinct("configs", configs);
  require_distinct("decoder", decoder);
  require_distinct("num_key_value_heads", num_key_value_heads);
  require_distinct("sequence_length", sequence_length);
}

Analysis prepare_cost(const CostAnalysisOptions& options, const RunOptions&) {
  options.validate();
  Analysis analysis;
  analysis.metric = "cost";
  analysis.options = stored_options(options);
  const std::vector<std::string> labels = labels_of(options);
  for (std::size_t i = 0; i < options.configs.size(); ++i) {
    const ConfiguredDecoder config = read_configured_decoder(options.configs[i]);
    add_units(options, labels[i], config.file.string(), config.config, analysis.units);
    analysis.inputs.push_back({config.file.string(), labels[i], {config.file}});
    analysis.warnings.insert(analysis.warnings.end(), config.warnings.begin(),
                             config.warnings.end());
  }
  analysis.present = [](Results results, std::span<const UnitResult>) {
    return make_report(std::move(results));
  };
  return analysis;
}

}  // namespace lime
