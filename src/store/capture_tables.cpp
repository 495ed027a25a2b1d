// SPDX-License-Identifier: Apache-2.0
#include "store/capture_tables.h"

#include <algorithm>
#include <functional>

namespace lime {
namespace {

template <typename T> void write_attribute(Hdf5Writer& file, const char* name, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    file.set_attribute(name, enum_name(value));
  } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::string> ||
                       std::is_same_v<T, std::vector<std::string>>) {
    file.set_attribute(name, value);
  } else {
    file.set_attribute(name, dump_json(value));
  }
}

template <typename T> Json read_attribute(const Hdf5File& file, const char* name) {
  if constexpr (std::is_enum_v<T> || std::is_same_v<T, std::string>) {
    return file.string_attribute(name);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return file.strings_attribute(name);
  } else if constexpr (std::is_same_v<T, bool>) {
    return file.int_attribute(name) != 0;
  } else if constexpr (std::is_unsigned_v<T>) {
    return file.uint_attribute(name);
  } else if constexpr (std::is_integral_v<T>) {
    return file.int_attribute(name);
  } else {
    return parse_json(file.string_attribute(name),
                      fmt::format("store: '{}': attribute '{}'", file.path().string(), name));
  }
}

/// Returns an attribute of texts, which may be absent.
std::vector<std::string> texts_of(const Hdf5File& file, const std::string& dataset,
                                  const std::string& attribute) {
  if (!file.has(dataset) || !file.has_attribute(attribute, dataset)) return {};
  return file.strings_attribute(attribute, dataset);
}

/// Maximum row width: far above that of models, and small enough to avoid overflow in products.
constexpr std::int64_t kMaxDim = std::int64_t{1} << 31;

/// Returns the sites in the order of their attribute, or without it of their names.
std::vector<std::string> list_sites(const Hdf5File& file) {
  if (file.has_attribute("sites")) return file.strings_attribute("sites");
  return file.has("activations") ? file.groups("activations") : std::vector<std::string>();
}

std::string hook_of(const Hdf5File& file, const std::string& dataset) {
  return file.has_attribute("hook", dataset) ? file.string_attribute("hook", dataset) : "";
}

/// Returns the sites in capture order, each with ascending layers.
std::vector<ActivationInfo> list_activations(const Hdf5File& file) {
  std::vector<ActivationInfo> activations;
  for (const std::string& site : list_sites(file)) {
    const auto first = static_cast<std::ptrdiff_t>(activations.size());
    for (const std::string& name : file.datasets("activations/" + site)) {
      const std::optional<int> layer = layer_of_name(name);
      const std::string path = "activations/" + site + "/" + name;
      const std::vector<std::int64_t> shape = file.shape(path);
      throw_if<FormatError>(!layer || shape.size() != 2 || shape[1] < 1 || shape[1] > kMaxDim,
                            "store: '{}': '{}' must be [rows, dim] and named after its layer",
                            file.path().string(), path);
      activations.push_back({site, *layer, shape[1], hook_of(file, path)});
    }
    std::ranges::sort(activations.begin() + first, activations.end(), {}, &ActivationInfo::layer);
  }
  return activations;
}

void check_format(const Hdf5File& file) {
  const std::string path = file.path().string();
  const bool has_format = file.has_attribute("format");
  const std::string format = has_format ? file.string_attribute("format") : "";
  throw_if<FormatError>(format == kShardFormat,
                        "store: '{}' is one shard of a capture; open the capture itself", path);
  throw_if<FormatError>(
      format == "lime-embeddings",
      "store: '{}' contains the embeddings of a results file, not a capture; open that "
      "file, NAME.json beside NAME.embeddings.h5",
      path);
  throw_if<FormatError>(format != kCaptureFormat,
                        "store: '{}' is not a capture but an HDF5 file of another program", path);
  const std::int64_t version = file.int_attribute("schema_version");
  throw_if<FormatError>(
      version != kCaptureSchemaVersion,
      "store: '{}' has schema version {}, this build reads {}; capture it again or update", path,
      version, kCaptureSchemaVersion);
}

/// Returns the text of each sequence; empty texts if the file has none.
std::vector<std::string> read_texts(const Hdf5File& file) {
  if (file.has("sequences/text")) return file.read_strings("sequences/text");
  const std::size_t offsets = file.read<std::int64_t>("sequences/offset").size();
  return std::vector<std::string>(offsets == 0 ? 0 : offsets - 1);
}

/// Checks that `index` of every entry is in [-1, num_names), where -1 stands for none.
template <typename Index = std::identity>
void check_indices(const auto& entries, std::size_t num_names, const char* column,
                   const std::filesystem::path& path, Index index = {}) {
  const auto end = static_cast<std::int64_t>(num_names);
  const auto is_wrong = [&](std::int64_t value) { return value < -1 || value >= end; };
  const auto wrong = std::ranges::find_if(entries, is_wrong, index);
  if (wrong == entries.end()) return;
  throw FormatError(
      "store: '{}': entry {} of '{}' must be in [-1, {}), got {}; restore the file or capture it "
      "again",
      path.string(), wrong - entries.begin(), column, end, std::invoke(index, *wrong));
}

/// Returns true if exactly rows [offsets[s], offsets[s + 1]) are of sequence first_sequence + s.
bool follow_offsets(const std::vector<std::int32_t>& sequences, const RowBounds& bounds) {
  const std::vector<std::int64_t>& offsets = bounds.offsets;
  if (offsets.empty() || offsets.front() != 0 || !std::ranges::is_sorted(offsets) ||
      offsets.back() != static_cast<std::int64_t>(sequences.size())) {
    return false;
  }
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const bool are_its =
        std::all_of(sequences.begin() + offsets[s], sequences.begin() + offsets[s + 1],
                    [&](std::int64_t subject) {
                      return subject - static_cast<std::int64_t>(s) == bounds.first_sequence;
                    });
    if (!are_its) return false;
  }
  return true;
}

/// Replaces NULs by U+FFFD, because HDF5 truncates a text at its first NUL.
std::string without_nul(const std::string& text) {
  std::string clean;
  for (const char letter : text) clean += letter == '\0' ? "\xef\xbf\xbd" : std::string(1, letter);
  return clean;
}

}  // namespace

void write_attributes(Hdf5Writer& file, const CaptureTables& tables) {
  file.set_attribute("format", kCaptureFormat);
  visit_info(tables.info, [&](const char* name, const auto& value, InfoPlace place) {
    if (place == InfoPlace::kRoot) write_attribute(file, name, value);
  });
  std::vector<std::string> sites;
  for (const ActivationInfo& activation : tables.activations) {
    if (std::ranges::find(sites, activation.site) == sites.end()) sites.push_back(activation.site);
  }
  file.set_attribute("sites", sites);
  Json shards = Json::array();
  for (const ShardRecord& record : tables.shards) shards.push_back(to_json(record));
  file.set_attribute("shards", shards.dump());
  file.set_attribute("identity_sha256", tables.identity_sha256);
}

CaptureTables read_attributes(const Hdf5File& file) {
  check_format(file);
  const std::string where = "store: '" + file.path().string() + "'";
  // Other programs and earlier versions write fewer attributes.
  Json info = to_json(CaptureInfo());
  info["compute_dtype"] = "";  // unknown where another program does not say
  visit_info(CaptureInfo(), [&]<typename T>(const char* name, const T&, InfoPlace place) {
    if (place == InfoPlace::kRoot && file.has_attribute(name)) {
      info[name] = read_attribute<T>(file, name);
    }
  });
  info["class_names"] = texts_of(file, "rows/class", "names");
  info["task_names"] = texts_of(file, "sequences/task", "names");
  info["task_fields"] = texts_of(file, "sequences/task", "fields");
  info["task_terms"] = texts_of(file, "sequences/task", "linguistics_terms");
  CaptureTables tables;
  tables.info = capture_info_from_json(info, where);
  tables.activations = list_activations(file);
  if (!file.has_attribute("shards")) return tables;
  tables.identity_sha256 = file.string_attribute("identity_sha256");
  const Json shards = parse_json(file.string_attribute("shards"), where + ": attribute 'shards'");
  constexpr std::size_t kMaxShards = std::size_t{1} << 20;
  throw_if<FormatError>(!shards.is_array() || shards.size() > kMaxShards,
                        "{}: attribute 'shards' must be a list of at most {}", where, kMaxShards);
  for (const Json& record : shards) {
    tables.shards.push_back(shard_record_from_json(record, where + ": attribute 'shards'"));
  }
  return tables;
}

void write_sequences(Hdf5Writer& file, const CaptureTables& tables) {
  std::vector<std::string> texts;
  for (const Sequence& sequence : tables.sequences) texts.push_back(without_nul(sequence.text));
  file.write_column("sequences/offset", tables.offsets);
  file.write_strings("sequences/text", texts);
  const auto is_used = [&](auto member) {
    return std::ranges::any_of(
        tables.sequences, [](auto value) { return value >= 0; }, member);
  };
  const auto write = [&]<typename T>(const std::string& name, T Sequence::*member) {
    std::vector<T> column;
    for (const Sequence& sequence : tables.sequences) column.push_back(sequence.*member);
    file.write_column(name, column);
  };
  if (is_used(&Sequence::label)) write("sequences/label", &Sequence::label);
  if (is_used(&Sequence::pair)) write("sequences/pair", &Sequence::pair);
  if (is_used(&Sequence::task) || !tables.info.task_names.empty()) {
    write("sequences/task", &Sequence::task);
    file.set_attribute("names", tables.info.task_names, "sequences/task");
    if (!tables.info.task_fields.empty()) {
      file.set_attribute("fields", tables.info.task_fields, "sequences/task");
    }
    if (!tables.info.task_terms.empty()) {
      file.set_attribute("linguistics_terms", tables.info.task_terms, "sequences/task");
    }
  }
  if (is_used(&Sequence::scored_tokens)) {
    write("sequences/log_likelihood", &Sequence::log_likelihood);
    write("sequences/scored_tokens", &Sequence::scored_tokens);
  }
}

std::vector<Sequence> read_sequences(const Hdf5File& file) {
  std::vector<std::string> texts = read_texts(file);
  std::vector<Sequence> sequences(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) sequences[i].text = std::move(texts[i]);
  const auto read = [&]<typename T>(const std::string& name, T Sequence::*member) {
    if (!file.has(name)) return;
    const std::vector<T> column = file.read<T>(name);
    throw_if<FormatError>(column.size() != sequences.size(),
                          "store: '{}': '{}' must have {} entries, got {}", file.path().string(),
                          name, sequences.size(), column.size());
    for (std::size_t i = 0; i < column.size(); ++i) sequences[i].*member = column[i];
  };
  read("sequences/label", &Sequence::label);
  read("sequences/pair", &Sequence::pair);
  read("sequences/task", &Sequence::task);
  check_indices(sequences, 2, "sequences/label", file.path(), &Sequence::label);
  check_indices(sequences, texts_of(file, "sequences/task", "names").size(), "sequences/task",
                file.path(), &Sequence::task);
  read("sequences/log_likelihood", &Sequence::log_likelihood);
  read("sequences/scored_tokens", &Sequence::scored_tokens);
  return sequences;
}

void write_rows(Hdf5Writer& file, const RowTable& rows,
                const std::vector<std::string>& class_names) {
  file.write_column("rows/sequence", rows.sequence);
  file.write_column("rows/position", rows.position);
  file.write_column("rows/token", rows.token);
  if (class_names.empty()) return;
  file.write_column("rows/class", rows.class_id);
  file.set_attribute("names", class_names, "rows/class");
}

void read_rows_into(const Hdf5File& file, RowTable& rows) {
  const auto append = [&](const char* name, auto& column) {
    using T = typename std::remove_reference_t<decltype(column)>::value_type;
    const std::vector<T> values = file.read<T>(name);
    column.insert(column.end(), values.begin(), values.end());
  };
  append("rows/sequence", rows.sequence);
  append("rows/position", rows.position);
  append("rows/token", rows.token);
  if (file.has("rows/class")) append("rows/class", rows.class_id);
  throw_if<FormatError>(
      rows.position.size() != rows.sequence.size() || rows.token.size() != rows.sequence.size() ||
          (!rows.class_id.empty() && rows.class_id.size() != rows.sequence.size()),
      "store: '{}': the columns of 'rows' must have the same length", file.path().string());
}

void check_rows(const RowTable& rows, const RowBounds& bounds, const std::filesystem::path& path) {
  throw_if<FormatError>(
      !follow_offsets(rows.sequence, bounds),
      "store: '{}': 'rows/sequence' and 'sequences/offset' are inconsistent; restore the file or "
      "capture it again",
      path.string());
  const std::size_t classes = bounds.num_classes == 0 ? 0 : rows.sequence.size();
  throw_if<FormatError>(rows.class_id.size() != classes,
                        "store: '{}': 'rows/class' must have {} entries for {} names, got {}",
                        path.string(), classes, bounds.num_classes, rows.class_id.size());
  check_indices(rows.class_id, bounds.num_classes, "rows/class", path);
}

void write_statistics(Hdf5Writer& file, const StatisticsTable& statistics) {
  for (const auto& [key, entry] : statistics) {
    const std::string path = statistics_path(key.first, key.second);
    const auto write_vector = [&](const std::string& name, const VectorD& values) {
      file.write<double>(path + "/" + name,
                         std::span(values.data(), static_cast<std::size_t>(values.size())),
                         {values.size()});
    };
    file.write<std::int64_t>(path + "/count", std::span(&entry.running.count, 1), {});
    write_vector("mean", entry.running.mean);
    write_vector("m2", entry.running.m2);
    if (entry.num_heads > 0 && entry.running.count > 0) {
      write_vector("rms", entry.running.rms_per_head(entry.num_heads));
    }
  }
}

std::vector<std::pair<std::string, int>> list_statistics(const Hdf5File& file) {
  std::vector<std::pair<std::string, int>> list;
  if (!file.has("statistics")) return list;
  for (const std::string& site : file.groups("statistics")) {
    for (const std::string& name : file.groups("statistics/" + site)) {
      if (const auto layer = layer_of_name(name)) list.emplace_back(site, *layer);
    }
  }
  return list;
}

SiteStatistics read_statistics(const Hdf5File& file, const std::string& site, int layer) {
  const std::string path = statistics_path(site, layer);
  SiteStatistics statistics;
  const std::vector<std::int64_t> count = file.read<std::int64_t>(path + "/count");
  const std::vector<double> mean = file.read<double>(path + "/mean");
  const std::vector<double> m2 = file.read<double>(path + "/m2");
  throw_if<FormatError>(
      count.size() != 1 || count[0] < 0 || mean.size() != m2.size(),
      "store: '{}': '{}' must contain one count and equally many means and deviations",
      file.path().string(), path);
  statistics.running.count = count[0];
  statistics.running.mean =
      Eigen::Map<const VectorD>(mean.data(), static_cast<Eigen::Index>(mean.size()));
  statistics.running.m2 =
      Eigen::Map<const VectorD>(m2.data(), static_cast<Eigen::Index>(m2.size()));
  if (file.has(path + "/rms")) statistics.num_heads = file.num_rows(path + "/rms");
  return statistics;
}

void write_routers(Hdf5Writer& file, const CaptureTables& tables) {
  for (const auto& [layer, weights] : tables.router) file.write_matrix(router_path(layer), weights);
  for (const auto& [layer, weights] : tables.router_dimensions) {
    file.write_matrix(router_dimensions_path(layer), weights);
  }
}

}  // namespace lime
