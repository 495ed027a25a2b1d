// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne_embeddings.h"

#include <fmt/format.h>

#include <ostream>
#include <span>

#include "core/atomic_file.h"
#include "core/csv.h"
#include "core/program.h"
#include "store/hdf5_file.h"

namespace lime {
namespace {

constexpr int kSchemaVersion = 1;

template <typename T>
void write_column(Hdf5Writer& file, const std::string& name, const std::vector<T>& values) {
  file.write<T>(name, std::span<const T>(values), {static_cast<std::int64_t>(values.size())});
}

}  // namespace

RowTable table_of(const CaptureReader& capture, const ClassRows& rows) {
  const RowTable& all = capture.rows();
  RowTable table;
  for (const std::int64_t row : rows.row) {
    const auto at = static_cast<std::size_t>(row);
    table.sequence.push_back(all.sequence[at]);
    table.position.push_back(all.position[at]);
    table.token.push_back(all.token[at]);
  }
  table.class_id = rows.class_id;
  return table;
}

void write_embeddings_hdf5(const std::filesystem::path& path,
                           const std::vector<CaptureEmbeddings>& captures) {
  Hdf5Writer file(path);
  file.set_attribute("format", "lime-embeddings");
  file.set_attribute("schema_version", kSchemaVersion);
  file.set_attribute("tool", tool_version());
  for (std::size_t i = 0; i < captures.size(); ++i) {
    const CaptureEmbeddings& capture = captures[i];
    const std::string group = fmt::format("captures/{}", i);
    file.make_group(group);
    file.set_attribute("label", capture.label, group);
    write_column(file, group + "/rows/row", capture.rows.row);
    write_column(file, group + "/rows/sequence", capture.table.sequence);
    write_column(file, group + "/rows/position", capture.table.position);
    write_column(file, group + "/rows/token", capture.table.token);
    write_column(file, group + "/rows/class", capture.rows.class_id);
    if (!capture.rows.class_names.empty()) {
      file.set_attribute("names", std::span<const std::string>(capture.rows.class_names),
                         group + "/rows/class");
    }
    for (const LayerEmbedding& layer : capture.layers) {
      const std::string name = fmt::format("{}/{}/{:03}", group, layer.site, layer.layer);
      file.write_matrix(name, layer.coordinates);
      file.set_attribute("kl_divergence", layer.kl_divergence, name);
    }
  }
  file.commit();
}

void write_embeddings_csv(const std::filesystem::path& path,
                          const std::vector<CaptureEmbeddings>& captures) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << "label,site,layer,row,sequence,position,token,class,x,y\n";
    for (const CaptureEmbeddings& capture : captures) {
      for (const LayerEmbedding& layer : capture.layers) {
        const std::string front =
            fmt::format("{},{},{}", csv_cell(capture.label), csv_cell(layer.site), layer.layer);
        for (std::int64_t i = 0; i < capture.rows.size(); ++i) {
          const auto at = static_cast<std::size_t>(i);
          const std::int16_t id = capture.rows.class_id[at];
          out << fmt::format(
              "{},{},{},{},{},{},{},{}\n", front, capture.rows.row[at], capture.table.sequence[at],
              capture.table.position[at], capture.table.token[at],
              id < 0 ? "" : csv_cell(capture.rows.class_names[static_cast<std::size_t>(id)]),
              layer.coordinates(i, 0), layer.coordinates(i, 1));
        }
      }
    }
  });
}

}  // namespace lime
