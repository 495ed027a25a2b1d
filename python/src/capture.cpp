// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/filesystem.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "store/capture_reader.h"
#include "store/embeddings_file.h"
#include "text.h"

namespace lime::python {
namespace {

namespace fs = std::filesystem;

/// Reads that are smaller run on the calling thread.
constexpr std::int64_t kSmallRead = std::int64_t{1} << 22;  // values

template <typename Read> auto interruptibly(const Read& read) {
  std::optional<decltype(read(std::stop_token()))> result;
  run_interruptibly([&](const std::stop_token& stop) { result.emplace(read(stop)); });
  return std::move(*result);
}

void open_capture(CaptureReader* self, const fs::path& path) {
  new (self) CaptureReader(interruptibly([&](const auto&) { return CaptureReader(path); }));
}

/// Returns (site, layer, dim, hook) of every dataset of activations.
nb::list activations(const CaptureReader& reader) {
  nb::list list;
  for (const std::string& site : reader.sites()) {
    for (const int layer : reader.layers(site)) {
      const ActivationInfo& info = reader.activation(site, layer);
      list.append(nb::make_tuple(to_name(site), layer, info.dim, to_str(info.hook)));
    }
  }
  return list;
}

nb::object read_rows(const CaptureReader& reader, const nb::str& site, int layer,
                     std::int64_t first, std::int64_t count) {
  const std::string name = from_name(site);
  const bool is_small = count <= kSmallRead / reader.dim(name, layer);
  return matrix_to_numpy(
      is_small ? without_gil([&] { return reader.read_rows(name, layer, first, count); })
               : interruptibly([&](const std::stop_token& stop) {
                   return reader.read_rows(name, layer, first, count, stop);
                 }));
}

/// Returns (sequence, position, token, class_id); the last is None without classes.
nb::tuple rows(const CaptureReader& reader) {
  RowTable table = interruptibly([&](const auto&) { return reader.read_row_table(); });
  const bool has_classes = !reader.info().class_names.empty();
  return nb::make_tuple(to_numpy(std::move(table.sequence)), to_numpy(std::move(table.position)),
                        to_numpy(std::move(table.token)),
                        has_classes ? to_numpy(std::move(table.class_id)) : nb::none());
}

/// Returns these columns of a table of sequences: "text" as a list, others as arrays.
nb::dict columns_of(const std::vector<Sequence>& table, const std::vector<std::string>& names) {
  nb::dict columns;
  const auto add = [&]<typename T>(const char* name, T Sequence::*member) {
    std::vector<T> column;
    column.reserve(table.size());
    for (const Sequence& sequence : table) column.push_back(sequence.*member);
    columns[name] = to_numpy(std::move(column));
  };
  for (const std::string& name : names) {
    if (name == "label") add("label", &Sequence::label);
    if (name == "pair") add("pair", &Sequence::pair);
    if (name == "task") add("task", &Sequence::task);
    if (name == "log_likelihood") add("log_likelihood", &Sequence::log_likelihood);
    if (name == "scored_tokens") add("scored_tokens", &Sequence::scored_tokens);
    if (name != "text") continue;
    nb::list texts;
    for (const Sequence& sequence : table) texts.append(to_str(sequence.text));
    columns["text"] = texts;
  }
  return columns;
}

/// Returns the columns that the file has.
nb::dict sequences(const CaptureReader& reader) {
  const auto [table, names] = interruptibly([&](const auto&) {
    return std::pair(reader.read_sequence_table(), reader.sequence_columns());
  });
  return columns_of(table, names);
}

nb::object statistics(const CaptureReader& reader, const nb::str& site, int layer) {
  const std::string name = from_name(site);
  std::optional<RunningStatistics> found = without_gil([&] {
    return reader.has_statistics(name, layer) ? std::optional(reader.statistics(name, layer))
                                              : std::nullopt;
  });
  return found ? nb::cast(std::move(*found)) : nb::none();
}

nb::object router(const CaptureReader& reader, int layer) {
  std::optional<MatrixF> found = without_gil([&] {
    const std::vector<int> layers = reader.router_layers();
    const bool is_there = std::ranges::find(layers, layer) != layers.end();
    return is_there ? std::optional(reader.router(layer)) : std::nullopt;
  });
  return found ? matrix_to_numpy(std::move(*found)) : nb::none();
}

nb::dict points_of(CaptureEmbeddings&& capture) {
  nb::dict rows;
  rows["row"] = to_numpy(std::move(capture.row));
  rows["sequence"] = to_numpy(std::move(capture.table.sequence));
  rows["position"] = to_numpy(std::move(capture.table.position));
  rows["token"] = to_numpy(std::move(capture.table.token));
  rows["class"] = to_numpy(std::move(capture.table.class_id));
  nb::list layers;
  for (LayerEmbedding& layer : capture.layers) {
    layers.append(nb::make_tuple(to_name(layer.site), layer.layer,
                                 matrix_to_numpy(std::move(layer.coordinates)),
                                 layer.kl_divergence));
  }
  nb::dict points;
  points["label"] = to_str(capture.label);
  points["rows"] = rows;
  points["class_names"] = to_strs(capture.class_names);
  points["layers"] = layers;
  return points;
}

nb::list embeddings(const fs::path& path) {
  std::vector<CaptureEmbeddings> captures =
      interruptibly([&](const auto&) { return read_embeddings(path); });
  nb::list list;
  for (CaptureEmbeddings& capture : captures) list.append(points_of(std::move(capture)));
  return list;
}

}  // namespace

void bind_capture(nb::module_& module) {
  nb::class_<CaptureReader>(module, "CaptureReader")
      .def("__init__", open_capture)
      .def("activations", activations)
      .def("read_rows", read_rows)
      .def("rows", rows)
      .def("sequences", sequences)
      .def("statistics", statistics)
      .def("router", router)
      .def("attributes",
           [](const CaptureReader& reader) {
             return to_python(without_gil([&] { return reader.attributes(); }));
           })
      .def("config", [](const CaptureReader& reader) { return to_python(reader.config()); })
      .def_prop_ro("offsets",
                   [](const CaptureReader& reader) { return to_numpy(reader.offsets()); })
      .def_prop_ro("num_rows", &CaptureReader::num_rows)
      .def_prop_ro("complete", &CaptureReader::complete)
      .def_prop_ro("class_names",
                   [](const CaptureReader& reader) { return to_strs(reader.info().class_names); })
      .def_prop_ro("task_names",
                   [](const CaptureReader& reader) { return to_strs(reader.info().task_names); });
  module.def("read_embeddings", embeddings);
}

}  // namespace lime::python
