// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_source.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "core/errors.h"
#include "core/sha256.h"
#include "store/hdf5_file.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLogName = "training_log.jsonl";

/// Numbers the classes that have points anew, in their order.
void drop_empty_classes(SourceCloud& cloud) {
  std::vector<int> number(cloud.class_names.size(), -1);
  for (const int c : cloud.classes) number[static_cast<std::size_t>(c)] = 0;
  std::vector<std::string> names;
  for (std::size_t c = 0; c < number.size(); ++c) {
    if (number[c] < 0) continue;
    number[c] = static_cast<int>(names.size());
    names.push_back(cloud.class_names[c]);
  }
  for (int& c : cloud.classes) c = number[static_cast<std::size_t>(c)];
  cloud.class_names = std::move(names);
}

int layer_number(const std::string& name, const fs::path& path) {
  int layer = 0;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), layer);
  const bool is_number = result.ec == std::errc() && result.ptr == name.data() + name.size();
  if (!is_number || layer < 0 || layer >= kMostLayers) {
    throw FormatError("embeddings: '{}': '{}' must be a layer's number", path.string(), name);
  }
  return layer;
}

/// Classes of the points of `group`, and their names.
void read_classes(const Hdf5File& file, const std::string& group, SourceCloud& cloud) {
  const std::string name = group + "/rows/class";
  cloud.classes = file.read<std::int32_t>(name);
  if (file.has_attribute("names", name)) cloud.class_names = file.strings_attribute("names", name);
  const auto count = static_cast<int>(cloud.class_names.size());
  const bool has_others = std::any_of(cloud.classes.begin(), cloud.classes.end(),
                                      [&](int c) { return c < 0 || c >= count; });
  if (!has_others) return;
  for (int& c : cloud.classes) c = c < 0 || c >= count ? count : c;
  cloud.class_names.emplace_back(count == 0 ? "" : "other");
}

bool is_results_file(const fs::path& path) {
  const Json document = read_json_file(path);
  if (!document.is_object() || !document.contains("schema")) return false;
  const Json& schema = document["schema"];
  return schema.is_string() && schema.get<std::string>().starts_with("lime-results/");
}

/// @throws FormatError  if `path` is a file of ours that figures are not made of; says of what.
void check_kind_of_file(const fs::path& path) {
  if (path.extension() == ".csv") {
    throw FormatError(
        "figure: '{}' is a table; give the results (.json) that lime-metrics wrote with it",
        path.string());
  }
  constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1A\n";
  std::string begin(kHdf5.size(), '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin));
  if (begin != kHdf5) return;
  if (path.string().ends_with(".embeddings.h5")) {
    throw FormatError("figure: '{}' holds coordinates; give the results (.json) beside it",
                      path.string());
  }
  throw FormatError("figure: '{}' is a capture; measure it with lime-metrics first", path.string());
}

SourceCloud read_cloud(const Hdf5File& file, const std::string& name, SourceCloud cloud) {
  const MatrixF points = file.read_matrix(name);
  if (points.cols() != 2 || points.rows() != static_cast<Eigen::Index>(cloud.classes.size())) {
    throw FormatError("embeddings: '{}': '{}' must be of shape [{}, 2], got [{}, {}]",
                      file.path().string(), name, cloud.classes.size(), points.rows(),
                      points.cols());
  }
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    cloud.x.push_back(points(i, 0));
    cloud.y.push_back(points(i, 1));
  }
  drop_empty_classes(cloud);
  return cloud;
}

}  // namespace

fs::path embeddings_beside(const fs::path& path) {
  return fs::path(path).replace_extension(".embeddings.h5");
}

std::vector<SourceCloud> read_clouds(const fs::path& path) {
  const Hdf5File file(path);
  if (!file.has_attribute("format") || file.string_attribute("format") != "lime-embeddings") {
    throw FormatError("embeddings: '{}' must be of format lime-embeddings", path.string());
  }
  std::vector<std::string> captures = file.groups("captures");
  std::sort(captures.begin(), captures.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  std::vector<SourceCloud> clouds;
  for (const std::string& capture : captures) {
    const std::string group = "captures/" + capture;
    SourceCloud base;
    base.label = file.string_attribute("label", group);
    read_classes(file, group, base);
    for (const std::string& site : file.groups(group)) {
      if (site == "rows") continue;
      base.site = site;
      for (const std::string& layer : file.datasets(group + "/" + site)) {
        base.layer = layer_number(layer, path);
        clouds.push_back(read_cloud(file, fmt::format("{}/{}/{}", group, site, layer), base));
      }
    }
  }
  return clouds;
}

std::vector<fs::path> figure_files(const fs::path& path) {
  if (!fs::is_directory(path) || fs::exists(path / kLogName)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    const bool is_json = entry.is_regular_file() && entry.path().extension() == ".json";
    if (is_json && is_results_file(entry.path())) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (!files.empty()) return files;
  throw IoError("figure: folder '{}' holds neither results of lime-metrics (.json) nor a {}",
                path.string(), kLogName);
}

FigureSource read_figure_source(const fs::path& path) {
  FigureSource source{path, {}};
  fs::path file = path;
  if (fs::is_directory(path)) {
    file = path / kLogName;
    if (!fs::exists(file)) {
      throw IoError(
          "figure: folder '{}' holds no {}; give results files of lime-metrics, or "
          "folders that lime-train wrote",
          path.string(), kLogName);
    }
  }
  check_kind_of_file(file);
  const bool is_log = file.extension() == ".jsonl";
  source.results = is_log ? read_training_log(file) : read_results(file);
  source.sha256 = sha256_of_file(file);
  if (source.results.metric != "tsne") return source;
  const fs::path beside = embeddings_beside(path);
  if (!fs::exists(beside)) {
    throw IoError(
        "figure: '{}' needs the coordinates that lime-metrics tsne wrote to '{}', which "
        "is not there",
        path.string(), beside.string());
  }
  source.clouds = read_clouds(beside);
  source.sha256 = sha256_of(source.sha256 + "\n" + sha256_of_file(beside));
  return source;
}

}  // namespace lime
