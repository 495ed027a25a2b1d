// SPDX-License-Identifier: Apache-2.0
#include "store/embeddings_file.h"

#include <algorithm>
#include <span>

#include "core/program/program.h"
#include "store/hdf5/hdf5_file.h"
#include "store/hdf5/hdf5_writer.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "lime-embeddings";
constexpr std::int64_t kSchemaVersion = 1;

void write_capture(Hdf5Writer& file, const std::string& group, const CaptureEmbeddings& capture) {
  file.make_group(group);
  file.set_attribute("label", capture.label, group);
  file.write_column(group + "/rows/row", capture.row);
  file.write_column(group + "/rows/sequence", capture.table.sequence);
  file.write_column(group + "/rows/position", capture.table.position);
  file.write_column(group + "/rows/token", capture.table.token);
  file.write_column(group + "/rows/class", capture.table.class_id);
  if (!capture.class_names.empty()) {
    file.set_attribute("names", std::span<const std::string>(capture.class_names),
                       group + "/rows/class");
  }
  for (const LayerEmbedding& layer : capture.layers) {
    const std::string name = fmt::format("{}/{}/{:03}", group, layer.site, layer.layer);
    file.write_matrix(name, layer.coordinates);
    file.set_attribute("kl_divergence", layer.kl_divergence, name);
  }
}

void check_is_embeddings(const Hdf5File& file) {
  const std::string path = file.path().string();
  throw_if<FormatError>(!file.has_attribute("format") || file.string_attribute("format") != kFormat,
                        "embeddings: '{}' must be of format {}", path, kFormat);
  const std::int64_t version = file.int_attribute("schema_version");
  throw_if<FormatError>(version != kSchemaVersion,
                        "embeddings: '{}' has schema version {}, this build reads {}; update", path,
                        version, kSchemaVersion);
}

int layer_number(const std::string& name, const fs::path& path) {
  int layer = 0;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), layer);
  const bool is_number = result.ec == std::errc() && result.ptr == name.data() + name.size();
  throw_if<FormatError>(!is_number || layer < 0 || layer >= kMaxLayers,
                        "embeddings: '{}': '{}' must be a layer index below {}", path.string(),
                        name, kMaxLayers);
  return layer;
}

CaptureEmbeddings read_points(const Hdf5File& file, const std::string& group) {
  CaptureEmbeddings capture;
  capture.label = file.string_attribute("label", group);
  capture.row = file.read<std::int64_t>(group + "/rows/row");
  capture.table.sequence = file.read<std::int32_t>(group + "/rows/sequence");
  capture.table.position = file.read<std::int32_t>(group + "/rows/position");
  capture.table.token = file.read<std::int32_t>(group + "/rows/token");
  const std::string classes = group + "/rows/class";
  capture.table.class_id = file.read<std::int16_t>(classes);
  if (file.has_attribute("names", classes)) {
    capture.class_names = file.strings_attribute("names", classes);
  }
  const std::size_t count = capture.row.size();
  const auto num_classes = static_cast<std::int64_t>(capture.class_names.size());
  const RowTable& table = capture.table;
  const bool is_whole = table.sequence.size() == count && table.position.size() == count &&
                        table.token.size() == count && table.class_id.size() == count &&
                        std::ranges::all_of(table.class_id, [&](std::int16_t id) {
                          return id >= -1 && id < num_classes;
                        });
  throw_if<FormatError>(
      !is_whole,
      "embeddings: '{}': the columns of '{}/rows' must have the same length and refer to "
      "existing classes",
      file.path().string(), group);
  return capture;
}

LayerEmbedding read_layer(const Hdf5File& file, const std::string& group, const std::string& site,
                          const std::string& layer, std::int64_t count) {
  const std::string name = fmt::format("{}/{}/{}", group, site, layer);
  LayerEmbedding embedding{site, layer_number(layer, file.path()), file.read_matrix(name)};
  const MatrixF& points = embedding.coordinates;
  throw_if<FormatError>(points.cols() != 2 || points.rows() != count || !points.allFinite(),
                        "embeddings: '{}': '{}' must contain {} finite 2-D points",
                        file.path().string(), name, count);
  if (file.has_attribute("kl_divergence", name)) {
    embedding.kl_divergence = file.double_attribute("kl_divergence", name);
  }
  return embedding;
}

}  // namespace

void write_embeddings(const fs::path& path, const std::vector<CaptureEmbeddings>& captures) {
  Hdf5Writer file(path);
  file.set_attribute("format", kFormat);
  file.set_attribute("schema_version", kSchemaVersion);
  file.set_attribute("tool", tool_version());
  for (std::size_t i = 0; i < captures.size(); ++i) {
    write_capture(file, fmt::format("captures/{}", i), captures[i]);
  }
  file.commit();
}

std::vector<CaptureEmbeddings> read_embeddings(const fs::path& path) {
  const Hdf5File file(path);
  check_is_embeddings(file);
  std::vector<std::string> names = file.groups("captures");
  // Numeric order: "10" follows "9".
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  std::vector<CaptureEmbeddings> captures;
  for (const std::string& name : names) {
    const std::string group = "captures/" + name;
    CaptureEmbeddings capture = read_points(file, group);
    for (const std::string& site : file.groups(group)) {
      if (site == "rows") continue;
      for (const std::string& layer : file.datasets(group + "/" + site)) {
        capture.layers.push_back(read_layer(file, group, site, layer, capture.size()));
      }
    }
    captures.push_back(std::move(capture));
  }
  return captures;
}

}  // namespace lime
