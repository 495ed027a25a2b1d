// SPDX-License-Identifier: Apache-2.0
#include "store/capture_reader.h"

#include <algorithm>
#include <mutex>

#include "core/layer_selection.h"
#include "core/program/suggest.h"
#include "store/capture_layout.h"
#include "store/capture_tables.h"
#include "store/data_files.h"
#include "store/shard_folder.h"
#include "store/shown_rows.h"
#include "store/trailer.h"

namespace lime {
namespace {

Hdf5File open_checked(const std::filesystem::path& path) {
  check_trailer(path);
  return Hdf5File(path);
}

CaptureTables open_tables(const std::filesystem::path& path, const Hdf5File& file) {
  CaptureTables tables = read_attributes(file);
  check_shards_exist(path, tables);
  tables.offsets = file.read<std::int64_t>("sequences/offset");
  return tables;
}

}  // namespace

struct CaptureReader::Impl {
  std::filesystem::path path;
  Hdf5File file;
  CaptureTables tables;
  std::vector<std::string> sites;
  mutable DataFiles data;
  std::int64_t skip = 0;  ///< hidden tokens at the beginning of each sequence
  ShownRows shown_rows{tables.offsets};
  /// Dimensions that are shown, by stored site and layer; all of those that are not listed.
  std::map<std::pair<std::string, int>, std::vector<int>> columns = {};
  std::vector<ActivationInfo> shown = {};  ///< activations with the numbers of these dimensions
  std::map<std::string, std::string> aliases;
  mutable std::mutex mutex;
  mutable std::optional<RowTable> rows;
  mutable std::optional<std::vector<Sequence>> sequences;

  explicit Impl(const std::filesystem::path& capture)
      : path(capture),
        file(open_checked(capture)),
        tables(open_tables(capture, file)),
        data(capture, tables) {
    for (const ActivationInfo& activation : tables.activations) {
      if (sites.empty() || sites.back() != activation.site) sites.push_back(activation.site);
    }
    const std::vector<std::int64_t>& offsets = tables.offsets;
    throw_if<FormatError>(offsets.empty() || offsets.front() != 0 ||
                              offsets.back() != data.num_rows() || !std::ranges::is_sorted(offsets),
                          "store: '{}': 'sequences/offset' must ascend from 0 to the {} rows",
                          path.string(), data.num_rows());
    bytes_of_rows(tables, data.num_rows(), path);
  }

  /// A part with rows of [first, first + count), opened and with its shape verified.
  struct Piece {
    /// Owns `reader`, and keeps it alive: DataFiles closes the files used least recently.
    std::shared_ptr<DataFile> file;
    const ChunkReader* reader;
    std::int64_t first;  ///< row in the part
    std::int64_t count;
    std::int64_t offset;  ///< of its first row in the result
  };
  std::vector<Piece> pieces(const ActivationInfo& what, std::int64_t first,
                            std::int64_t count) const;
  /// Adds the stored rows [first, first + count), which become those from `offset` of the result.
  void add_pieces(const ActivationInfo& what, std::int64_t first, std::int64_t count,
                  std::int64_t offset, std::vector<Piece>& list) const;
  bool hides_anything() const { return shown_rows.hides_any() || !columns.empty(); }
  /// Hides the rows shown now for which `hides` is true.
  void hide(const std::vector<bool>& hides) {
    shown_rows.hide(hides);
    rows.reset();
  }
  const std::vector<int>* columns_of(const std::string& site, int layer) const {
    const auto found = columns.find({stored(site), layer});
    return found == columns.end() ? nullptr : &found->second;
  }
  /// Reads rows with all stored dimensions.
  void read_stored(const ActivationInfo& what, const std::vector<Piece>& list, float* out,
                   const std::stop_token& stop) const;

  /// The site as the file names it.
  const std::string& stored(const std::string& site) const {
    const auto alias = aliases.find(site);
    return alias == aliases.end() ? site : alias->second;
  }

  static const ActivationInfo* find_in(const std::vector<ActivationInfo>& activations,
                                       const std::string& stored_site, int layer) {
    for (const ActivationInfo& activation : activations) {
      if (activation.site == stored_site && activation.layer == layer) return &activation;
    }
    return nullptr;
  }
  const ActivationInfo* find(const std::string& site, int layer) const {
    return find_in(columns.empty() ? tables.activations : shown, stored(site), layer);
  }
  /// Returns the activation as it is stored; it must exist.
  const ActivationInfo& stored_activation(const std::string& site, int layer) const {
    return *find_in(tables.activations, stored(site), layer);
  }
};

CaptureReader::CaptureReader(const std::filesystem::path& path)
    : impl_(std::make_unique<Impl>(path)) {}
CaptureReader::~CaptureReader() = default;
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;

const std::filesystem::path& CaptureReader::path() const { return impl_->path; }
const CaptureInfo& CaptureReader::info() const { return impl_->tables.info; }
const std::vector<std::string>& CaptureReader::sites() const { return impl_->sites; }

Json CaptureReader::attributes() const {
  Json attributes = Json::object();
  for (const std::string& name : impl_->file.attributes()) {
    attributes[name] = impl_->file.attribute(name);
  }
  return attributes;
}

std::vector<int> CaptureReader::layers(const std::string& site) const {
  std::vector<int> layers;
  for (const ActivationInfo& activation : impl_->tables.activations) {
    if (activation.site == impl_->stored(site)) layers.push_back(activation.layer);
  }
  throw_if<FormatError>(layers.empty(), "store: '{}' has no site '{}' (available: {})",
                        path().string(), site, join_words(sites()));
  return layers;
}

void CaptureReader::set_alias(const std::string& alias, const std::string& site) {
  impl_->aliases[alias] = site;
}

bool CaptureReader::has(const std::string& site) const {
  return std::ranges::find(sites(), impl_->stored(site)) != sites().end();
}

bool CaptureReader::has(const std::string& site, int layer) const {
  return impl_->find(site, layer) != nullptr;
}

const ActivationInfo& CaptureReader::activation(const std::string& site, int layer) const {
  const ActivationInfo* const found = impl_->find(site, layer);
  if (found != nullptr) return *found;
  throw FormatError("store: '{}' has no layer {} of site '{}' (available: {})", path().string(),
                    layer, site, layers_to_string(layers(site)));
}

void CaptureReader::skip_tokens(std::int64_t count) {
  if (count < 0) throw InvalidArgument(OptionName("skip_tokens"), "must be >= 0, got {}", count);
  if (count == 0) return;
  throw_if(info().rows != RowKind::kTokens || !info().class_names.empty(),
           OptionName("skip_tokens"),
           "needs every token of a sequence, but '{}' contains pooled rows or selected "
           "tokens; capture again with --rows tokens and without --only",
           path().string());
  const std::vector<std::int64_t>& shown = offsets();
  std::vector<bool> hides(static_cast<std::size_t>(num_rows()), false);
  for (std::size_t i = 0; i + 1 < shown.size(); ++i) {
    const std::int64_t tokens = shown[i + 1] - shown[i];
    throw_if(tokens >= 2 && tokens - count < 2, OptionName("skip_tokens"),
             "must leave every sequence at least 2 tokens, but sequence {} of '{}' has "
             "{}, got {}",
             i, path().string(), tokens, count);
    std::fill_n(hides.begin() + shown[i], std::min(count, tokens), true);
  }
  impl_->hide(hides);
  impl_->skip = count;
}

void CaptureReader::hide_rows(const std::vector<bool>& hides) {
  throw_if(std::ssize(hides) != num_rows(), "store: expected a mark for each of {} rows, got {}",
           num_rows(), hides.size());
  if (std::ranges::find(hides, true) != hides.end()) impl_->hide(hides);
}

void CaptureReader::hide_sequences(const std::vector<bool>& hides) {
  throw_if(std::ssize(hides) != num_sequences(),
           "store: expected a mark for each of {} sequences, got {}", num_sequences(),
           hides.size());
  if (std::ranges::find(hides, true) == hides.end()) return;
  impl_->shown_rows.hide_sequences(hides);
  impl_->rows.reset();
}

void CaptureReader::hide_dimensions(const std::string& site, int layer,
                                    const std::vector<int>& dimensions) {
  if (dimensions.empty()) return;
  const std::int64_t dim = this->dim(site, layer);
  std::vector<int> kept;
  for (int j = 0; j < dim; ++j) {
    if (std::ranges::find(dimensions, j) == dimensions.end()) kept.push_back(j);
  }
  throw_if(kept.empty() || std::ssize(kept) + std::ssize(dimensions) != dim,
           "store: dimensions to hide must be different, below {} and not all", dim);
  throw_if(impl_->columns_of(site, layer) != nullptr,
           "store: dimensions of '{}' in layer {} are hidden already", site, layer);
  if (impl_->columns.empty()) impl_->shown = impl_->tables.activations;
  for (ActivationInfo& activation : impl_->shown) {
    if (activation.site != impl_->stored(site) || activation.layer != layer) continue;
    activation.dim = std::ssize(kept);
  }
  impl_->columns[{impl_->stored(site), layer}] = std::move(kept);
}

bool CaptureReader::hides_anything() const { return impl_->hides_anything(); }

std::int64_t CaptureReader::skipped_tokens() const { return impl_->skip; }

std::int64_t CaptureReader::num_rows() const { return offsets().back(); }

std::int64_t CaptureReader::num_sequences() const {
  return static_cast<std::int64_t>(offsets().size()) - 1;
}

std::vector<CaptureReader::Impl::Piece> CaptureReader::Impl::pieces(const ActivationInfo& what,
                                                                    std::int64_t first,
                                                                    std::int64_t count) const {
  const std::int64_t rows_there = shown_rows.offsets().back();
  throw_if(first < 0 || count < 0 || first > rows_there || count > rows_there - first,
           "store: {} rows from row {} must be within the {} rows of '{}'", count, first,
           rows_there, path.string());
  std::vector<Piece> list;
  shown_rows.for_runs(first, count,
                      [&](std::int64_t offset, std::int64_t from, std::int64_t number) {
                        add_pieces(what, from, number, offset, list);
                      });
  return list;
}

void CaptureReader::Impl::add_pieces(const ActivationInfo& what, std::int64_t first,
                                     std::int64_t count, std::int64_t offset,
                                     std::vector<Piece>& list) const {
  for (std::size_t i = 0; i < data.parts().size(); ++i) {
    const DataFiles::Part& part = data.parts()[i];
    const std::int64_t begin = std::max(first, part.first_row);
    const std::int64_t end = std::min(first + count, part.first_row + part.num_rows);
    if (begin >= end) continue;
    std::shared_ptr<DataFile> source = data.open(i);
    const ChunkReader& reader = source->activation(what.site, what.layer);
    throw_if<FormatError>(reader.num_rows() != part.num_rows || reader.dim() != what.dim,
                          "store: '{}': {} of layer {} must be [{}, {}], got [{}, {}]",
                          part.path.string(), what.site, what.layer, part.num_rows, what.dim,
                          reader.num_rows(), reader.dim());
    list.push_back(
        {std::move(source), &reader, begin - part.first_row, end - begin, offset + begin - first});
  }
}

void CaptureReader::Impl::read_stored(const ActivationInfo& what, const std::vector<Piece>& list,
                                      float* out, const std::stop_token& stop) const {
  for (const Piece& piece : list) {
    piece.reader->read(piece.first, piece.count, out + piece.offset * what.dim, stop);
  }
}

MatrixF CaptureReader::read_rows(const std::string& site, int layer, std::int64_t first,
                                 std::int64_t count, const std::stop_token& stop) const {
  activation(site, layer);  // throws if there is none
  const ActivationInfo& what = impl_->stored_activation(site, layer);
  // Open the pieces before allocating, so that sizes in a damaged file are verified first.
  const auto pieces = impl_->pieces(what, first, count);
  MatrixF matrix(count, what.dim);
  impl_->read_stored(what, pieces, matrix.data(), stop);
  const std::vector<int>* const columns = impl_->columns_of(site, layer);
  return columns == nullptr ? matrix : MatrixF(matrix(Eigen::all, *columns));
}

void CaptureReader::read_rows(const std::string& site, int layer, std::int64_t first,
                              std::int64_t count, std::span<float> out) const {
  const std::int64_t shown_dim = activation(site, layer).dim;
  const ActivationInfo& what = impl_->stored_activation(site, layer);
  const auto pieces = impl_->pieces(what, first, count);
  throw_if(static_cast<std::int64_t>(out.size()) != count * shown_dim,
           "store: the buffer must have room for {} x {} values, got {}", count, shown_dim,
           out.size());
  if (impl_->columns_of(site, layer) == nullptr) {
    impl_->read_stored(what, pieces, out.data(), {});
    return;
  }
  const MatrixF rows = read_rows(site, layer, first, count);
  std::copy_n(rows.data(), rows.size(), out.data());
}

MatrixF CaptureReader::read_sequence(const std::string& site, int layer,
                                     std::int64_t sequence) const {
  throw_if(sequence < 0 || sequence >= num_sequences(),
           "store: sequence must be in [0, {}), got {}", num_sequences(), sequence);
  const std::int64_t first = offsets()[sequence];
  const std::int64_t end = offsets()[static_cast<std::size_t>(sequence) + 1];
  return read_rows(site, layer, first, end - first);
}

const RowTable& CaptureReader::rows() const {
  const std::lock_guard guard(impl_->mutex);
  if (!impl_->rows) impl_->rows = read_row_table();
  return *impl_->rows;
}

RowTable CaptureReader::read_row_table() const {
  RowTable rows;
  for (std::size_t i = 0; i < impl_->data.parts().size(); ++i) {
    read_rows_into(impl_->data.open(i)->file(), rows);
  }
  const std::vector<std::int64_t>& stored = impl_->tables.offsets;
  check_rows(rows, {.offsets = stored, .num_classes = info().class_names.size()}, path());
  for (std::vector<std::int32_t>* column : {&rows.sequence, &rows.position, &rows.token}) {
    impl_->shown_rows.keep_shown(*column);
  }
  impl_->shown_rows.keep_shown(rows.class_id);
  return rows;
}

const std::vector<std::int64_t>& CaptureReader::offsets() const {
  return impl_->shown_rows.offsets();
}

const std::vector<Sequence>& CaptureReader::sequences() const {
  const std::lock_guard guard(impl_->mutex);
  if (!impl_->sequences) impl_->sequences = read_sequence_table();
  return *impl_->sequences;
}

std::vector<Sequence> CaptureReader::read_sequence_table() const {
  std::vector<Sequence> sequences = read_sequences(impl_->file);
  const std::size_t stored = impl_->tables.offsets.size() - 1;
  throw_if<FormatError>(sequences.size() != stored,
                        "store: '{}': 'sequences/text' must have {} entries, got {}",
                        path().string(), stored, sequences.size());
  return sequences;
}

std::vector<std::string> CaptureReader::sequence_columns() const {
  return impl_->file.datasets("sequences");
}

bool CaptureReader::has_statistics(const std::string& site, int layer) const {
  return !impl_->hides_anything() &&
         impl_->file.has(statistics_path(impl_->stored(site), layer) + "/count");
}

RunningStatistics CaptureReader::statistics(const std::string& site, int layer) const {
  if (has_statistics(site, layer)) {
    return read_statistics(impl_->file, impl_->stored(site), layer).running;
  }
  throw_if(impl_->hides_anything(),
           "store: the statistics of '{}' include the tokens or dimensions that are skipped",
           path().string());
  std::vector<std::string> available;
  for (const auto& [known_site, known_layer] : list_statistics(impl_->file)) {
    if (available.empty() || available.back() != known_site) available.push_back(known_site);
  }
  throw FormatError("store: '{}' has no statistics of '{}' in layer {} (available: {})",
                    path().string(), site, layer, join_words(available));
}

VectorD CaptureReader::rms_per_head(const std::string& site, int layer) const {
  const std::vector<double> rms =
      impl_->file.read<double>(statistics_path(impl_->stored(site), layer) + "/rms");
  return Eigen::Map<const VectorD>(rms.data(), static_cast<Eigen::Index>(rms.size()));
}

std::vector<int> CaptureReader::router_layers() const {
  std::vector<int> layers;
  if (!impl_->file.has("router")) return layers;
  for (const std::string& name : impl_->file.datasets("router")) {
    if (const std::optional<int> layer = layer_of_name(name)) layers.push_back(*layer);
  }
  std::ranges::sort(layers);
  return layers;
}

MatrixF CaptureReader::router(int layer) const {
  throw_if<FormatError>(!impl_->file.has(router_path(layer)),
                        "store: '{}' has no router of layer {} (available: {})", path().string(),
                        layer, layers_to_string(router_layers()));
  return impl_->file.read_matrix(router_path(layer));
}

bool CaptureReader::has_router_dimensions(int layer) const {
  return impl_->file.has(router_dimensions_path(layer));
}

MatrixF CaptureReader::router_dimensions(int layer) const {
  throw_if<FormatError>(!has_router_dimensions(layer),
                        "store: '{}' has no per-dimension router of layer {}", path().string(),
                        layer);
  return impl_->file.read_matrix(router_dimensions_path(layer));
}

}  // namespace lime
