// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <system_error>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/gguf/gguf_files.h"
#include "checkpoint/gguf/gguf_model.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/weights/float_reader.h"
#include "checkpoint/weights/quantized_blocks.h"
#include "checkpoint/weights/safetensors.h"
#include "core/files/atomic_file.h"
#include "core/files/sha256.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Bytes of a weight file that are resident while it is hashed.
constexpr std::size_t kHashedAtOnce = std::size_t{64} << 20;

/// Position of element `index` in a row-major tensor: "[3, 0]".
std::string position_text(std::size_t index, const Shape& shape) {
  Shape position(shape.size());
  auto rest = static_cast<std::int64_t>(index);
  for (std::size_t i = shape.size(); i-- > 0;) {
    position[i] = rest % shape[i];
    rest /= shape[i];
  }
  return shape_text(position);
}

/// Adds a number to each element, in float32 as transformers does.
template <typename T> void add_to_each(float added, std::span<T> values) {
  if (added == 0.0F) return;
  for (T& value : values) value = static_cast<T>(static_cast<float>(value) + added);
}

/// Converts rows of MXFP4, whose values are finite unless an exponent is 255 (NaN).
template <typename T>
std::optional<std::size_t> convert_mxfp4_source(const TensorSource& source, std::span<T> to) {
  constexpr std::size_t kBlock = 32;
  constexpr std::byte kNan{255};
  const std::int64_t rows = source.info.shape.front();
  const std::size_t columns = to.size() / static_cast<std::size_t>(rows);
  std::vector<float> run(columns);
  std::optional<std::size_t> first_bad;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto first = static_cast<std::size_t>(source.place.row_start(row, rows)) / kBlock;
    const auto exponents = source.exponents.subspan(first, columns / kBlock);
    convert_mxfp4(exponents, source.bytes.subspan(first * kBlock / 2, columns / 2), run);
    for (std::size_t block = 0; block < exponents.size(); ++block) {
      if (exponents[block] != kNan) continue;
      std::fill_n(run.begin() + static_cast<std::ptrdiff_t>(block * kBlock), kBlock,
                  std::numeric_limits<float>::quiet_NaN());
      if (!first_bad) first_bad = static_cast<std::size_t>(row) * columns + block * kBlock;
    }
    std::copy(run.begin(), run.end(),
              to.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * columns));
  }
  return first_bad;
}

/// Converts all elements. @return the first element that is not finite.
template <typename T>
std::optional<std::size_t> convert_source(const TensorSource& source, std::span<T> to) {
  if (!source.exponents.empty()) return convert_mxfp4_source(source, to);
  const Dtype dtype = source.info.dtype;
  const StoredPlace& place = source.place;
  if (storage_bytes(dtype, to.size()) == source.bytes.size() && place.heads * place.parts == 1 &&
      place.column_stride == 1) {
    return convert_weights(dtype, source.bytes, to);
  }
  const std::int64_t rows = source.info.shape.front();
  const std::int64_t columns = static_cast<std::int64_t>(to.size()) / rows;
  const std::int64_t rows_per_part = rows / (place.heads * place.parts);
  // Runs along whichever dimension is dense in the file.
  const bool by_row = place.column_stride == 1;
  const std::int64_t length = by_row ? columns : rows_per_part;
  // Columns of a matrix whose rows take turns with those of another one.
  const std::int64_t stride = by_row ? 1 : place.row_stride;
  std::vector<T> run(static_cast<std::size_t>((length - 1) * stride + 1));
  std::optional<std::size_t> first_bad;
  for (std::int64_t part = 0; part < rows; part += rows_per_part) {
    for (std::int64_t i = 0; i < (by_row ? rows_per_part : columns); ++i) {
      const std::int64_t from = by_row ? place.row_start(part + i, rows)
                                       : place.row_start(part, rows) + i * place.column_stride;
      const auto bad =
          convert_weights(dtype,
                          source.bytes.subspan(storage_bytes(dtype, static_cast<std::size_t>(from)),
                                               storage_bytes(dtype, run.size())),
                          std::span<T>(run));
      const std::int64_t first = part * columns + i * (by_row ? columns : 1);
      const std::int64_t step = by_row ? 1 : columns;
      for (std::int64_t k = 0; k < length; ++k) to[first + k * step] = run[k * stride];
      for (std::int64_t k = bad ? 0 : length; k < length; ++k) {
        if (std::isfinite(run[k * stride])) continue;
        const auto place_of_bad = static_cast<std::size_t>(first + k * step);
        first_bad = std::min(first_bad.value_or(place_of_bad), place_of_bad);
        break;
      }
    }
  }
  return first_bad;
}

std::string hash_line(std::string_view hex, const fs::path& file) {
  return fmt::format("{}  {}\n", hex, file.filename().string());
}

/// Copies each element of a parameter to its place in a stored tensor.
void pack(const TensorView& from, const ParameterSpec& spec, std::vector<std::byte>& to) {
  const StoredPlace& place = spec.stored;
  const std::size_t size = dtype_size(from.dtype);
  const std::int64_t rows = spec.shape.front();
  const std::int64_t columns = element_count(spec.shape) / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = place.row_start(row, rows);
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto target = static_cast<std::size_t>(first + column * place.column_stride);
      const auto source = static_cast<std::size_t>(row * columns + column);
      std::memcpy(to.data() + target * size, from.bytes.data() + source * size, size);
    }
  }
}

struct PackedTensor {
  Dtype dtype = Dtype::kF32;
  std::vector<std::byte> bytes;
};

/// Tensors as the family's files have them, and the memory of those that had to be packed.
struct StoredTensors {
  std::vector<TensorView> views;
  std::map<std::string, PackedTensor> packed;
};

/// Returns the parameters in the layout of the family's files; fused tensors must be complete.
StoredTensors in_stored_layout(const ModelConfig& config, std::span<const TensorView> tensors) {
  StoredTensors stored;
  std::map<std::string, const TensorView*> by_name;
  for (const TensorView& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  for (const ParameterSpec& spec : parameter_specs(config)) {
    if (spec.is_stored_alone()) continue;
    const auto found = by_name.find(spec.name);
    PackedTensor& packed = stored.packed[spec.stored.name];
    const bool is_first = packed.bytes.empty();
    const bool fits = found != by_name.end() && found->second->shape == spec.shape &&
                      (is_first || found->second->dtype == packed.dtype);
    throw_if(!fits, "write_checkpoint: expected '{}' of shape {}, with the dtype of '{}'",
             spec.name, shape_text(spec.shape), spec.stored.name);
    const TensorView& tensor = *found->second;
    if (is_first) {
      packed.dtype = tensor.dtype;
      packed.bytes.resize(static_cast<std::size_t>(element_count(spec.stored.shape)) *
                          dtype_size(tensor.dtype));
      stored.views.push_back({spec.stored.name, tensor.dtype, spec.stored.shape, packed.bytes});
    }
    pack(tensor, spec, packed.bytes);
    by_name.erase(found);
  }
  for (const TensorView& tensor : tensors) {
    if (by_name.contains(tensor.name)) stored.views.push_back(tensor);
  }
  return stored;
}

/// The tensors must be the config's in its family's layout, with nothing left to interpret.
void check_tensors(const ModelConfig& config, std::span<const TensorView> tensors) {
  ModelConfig understood = config;
  try {
    const TensorSources found = locate_tensors(tensors, understood, "write_checkpoint");
    std::set<std::string> used;
    for (const auto& [name, source] : found.by_name) used.insert(source.info.stored_name);
    throw_if(
        used.size() != tensors.size() || found.has_fused_values || !(understood == config),
        "write_checkpoint: tensors must be those of the config, under their Hugging Face names");
  } catch (const FormatError& error) {
    throw InvalidArgument(error.what());
  }
}

/// Removes a config of another model, which must never accompany the new weights.
void remove_other_config(const fs::path& file, const std::string& config) {
  std::error_code error;
  if (!fs::exists(file, error)) return;
  if (MappedFile(file).text() == config) return;
  if (!fs::remove(file, error) && error) {
    throw IoError("'{}': cannot be replaced: {}", file.string(), describe_errno(error.value()));
  }
}

}  // namespace

Checkpoint Checkpoint::open(const fs::path& folder, const CheckpointOptions& options) {
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  checkpoint.options_ = options;
  checkpoint.files_ = find_checkpoint(folder);
  checkpoint.config_ = read_model_config(checkpoint.files_.config);
  checkpoint.weights_ = open_weight_files(checkpoint.files_.weights);
  const std::vector<TensorView>& stored = checkpoint.weights_.tensors;
  checkpoint.sources_ = checkpoint.weights_.is_gguf
                            ? locate_gguf_tensors(stored, checkpoint.config_, folder.string())
                            : locate_tensors(stored, checkpoint.config_, folder.string());
  checkpoint.sources_.warnings.insert(checkpoint.sources_.warnings.begin(),
                                      checkpoint.config_.warnings.begin(),
                                      checkpoint.config_.warnings.end());
  return checkpoint;
}

const TensorSource& Checkpoint::source(std::string_view name) const {
  const auto found = sources_.by_name.find(name);
  if (found != sources_.by_name.end()) return found->second;
  throw InvalidArgument("'{}': the checkpoint has no tensor '{}'", folder_.string(), name);
}

const TensorInfo& Checkpoint::tensor(std::string_view name) const { return source(name).info; }

template <typename T> void Checkpoint::read_into(std::string_view name, std::span<T> to) const {
  const TensorSource& from = source(name);
  const auto count = static_cast<std::size_t>(element_count(from.info.shape));
  throw_if(to.size() != count, "'{}': tensor '{}' {} has {} elements, got a buffer of {}",
           folder_.string(), name, shape_text(from.info.shape), count, to.size());
  const auto bad = convert_source(from, to);
  add_to_each(from.added, to);
  release_pages(from.bytes);
  if (!bad || options_.allow_nan) return;
  throw FormatError(
      "'{}': tensor '{}' must contain finite weights only, got {} at {}; pass --allow-nan to read "
      "them unchanged",
      folder_.string(), name, to[*bad], position_text(*bad, from.info.shape));
}

void Checkpoint::read(std::string_view name, std::span<float> to) const { read_into(name, to); }

void Checkpoint::read(std::string_view name, std::span<double> to) const { read_into(name, to); }

MatrixF Checkpoint::read_matrix(std::string_view name) const {
  const Shape& shape = tensor(name).shape;
  throw_if(shape.size() != 2, "'{}': tensor '{}' must have two dimensions, got {}",
           folder_.string(), name, shape_text(shape));
  MatrixF matrix(shape[0], shape[1]);
  read(name, std::span<float>(matrix.data(), static_cast<std::size_t>(matrix.size())));
  return matrix;
}

const std::string& Checkpoint::sha256() const {
  if (!sha256_.empty()) return sha256_;
  std::string lines;
  if (!weights_.is_gguf) lines = hash_line(sha256_of_file(files_.config), files_.config);
  if (weights_.index) lines += hash_line(sha256_of_file(*weights_.index), *weights_.index);
  for (const WeightFile& file : weights_.files) {
    Sha256 hash;
    for (auto rest = file.file.bytes(); !rest.empty();) {
      const auto part = rest.first(std::min(rest.size(), kHashedAtOnce));
      hash.update(part);
      release_pages(part);
      rest = rest.subspan(part.size());
    }
    lines += hash_line(hash.hex_digest(), file.path);
  }
  sha256_ = sha256_of(lines);
  return sha256_;
}

std::vector<std::int64_t> stop_token_ids(const Checkpoint& checkpoint) {
  const ModelConfig& config = checkpoint.config();
  const fs::path file = checkpoint.files().config.parent_path() / "generation_config.json";
  if (is_gguf_file(checkpoint.files().config) || !path_exists(file)) return config.eos_token_ids;
  const Json json = read_json_file(file);
  const KeyReader keys(json, "'" + file.string() + "'");
  const std::vector<std::int64_t> ids = keys.integers("eos_token_id");
  if (ids.empty()) return config.eos_token_ids;
  for (const std::int64_t id : ids) {
    if (id >= 0 && id < config.vocab_size) continue;
    throw FormatError("{}: 'eos_token_id' must be from 0 to {}, got {}", keys.where(),
                      config.vocab_size - 1, id);
  }
  return ids;
}

void write_checkpoint(const fs::path& folder, const ModelConfig& config,
                      std::span<const TensorView> tensors,
                      const std::vector<fs::path>& extra_files) {
  const std::string config_text = model_config_to_json(config).dump(2) + "\n";
  const StoredTensors stored = in_stored_layout(config, tensors);
  check_tensors(config, stored.views);
  std::vector<std::pair<fs::path, MappedFile>> copies;
  for (const fs::path& extra : extra_files) {
    const fs::path target = folder / extra.filename();
    std::error_code ignored;
    if (!fs::equivalent(extra, target, ignored)) copies.emplace_back(target, MappedFile(extra));
  }
  make_folder(folder);
  const fs::path config_file = folder / "config.json";
  remove_other_config(config_file, config_text);
  for (const auto& [target, content] : copies) write_file_atomically(target, content.text());
  write_safetensors(folder / "model.safetensors", stored.views);
  write_file_atomically(config_file, config_text);
}

}  // namespace lime
