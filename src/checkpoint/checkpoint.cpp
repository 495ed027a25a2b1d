// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>

#include "checkpoint/float_reader.h"
#include "core/errors.h"
#include "core/files/mapped_file.h"
#include "core/files/sha256.h"
#include "core/utf8.h"

namespace lime {
namespace {

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

/// Converts all elements, heads side by side. @return the first element that is not finite.
template <typename T>
std::optional<std::size_t> convert_source(const TensorSource& source, std::span<T> to) {
  const Dtype dtype = source.info.dtype;
  if (source.interleaved_heads == 1) return convert_weights(dtype, source.bytes, to);

  const auto rows = static_cast<std::size_t>(source.info.shape.front());
  const auto heads = static_cast<std::size_t>(source.interleaved_heads);
  const std::size_t head_dim = rows / heads;
  const std::size_t width = to.size() / rows;
  const std::size_t row_bytes = source.bytes.size() / rows;
  std::optional<std::size_t> first_bad;
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t c = 0; c < head_dim; ++c) {
      const std::size_t start = (head * head_dim + c) * width;
      const auto row = source.bytes.subspan((c * heads + head) * row_bytes, row_bytes);
      const auto bad = convert_weights(dtype, row, to.subspan(start, width));
      if (bad && !first_bad) first_bad = start + *bad;
    }
  }
  return first_bad;
}

std::string hash_line(std::string_view hex, const std::filesystem::path& file) {
  return fmt::format("{}  {}\n", hex, file.filename().string());
}

}  // namespace

Checkpoint Checkpoint::open(const std::filesystem::path& folder, const CheckpointOptions& options) {
  Checkpoint checkpoint;
  checkpoint.folder_ = folder;
  checkpoint.options_ = options;
  checkpoint.files_ = find_checkpoint(folder);
  checkpoint.config_ = read_model_config(checkpoint.files_.config);
  checkpoint.weights_ = open_weight_files(checkpoint.files_.weights);
  checkpoint.sources_ =
      locate_tensors(checkpoint.weights_.tensors, checkpoint.config_, folder.string());
  return checkpoint;
}

const TensorSource& Checkpoint::source(std::string_view name) const {
  const auto found = sources_.by_name.find(name);
  if (found != sources_.by_name.end()) return found->second;
  throw InvalidArgument("'{}': the checkpoint has no tensor '{}'", folder_.string(), name);
}

const TensorInfo& Checkpoint::tensor(std::string_view name) const { return source(name).info; }

template <typename T>
void Checkpoint::read_into(std::string_view name, std::span<T> to) const {
  const TensorSource& from = source(name);
  const auto count = static_cast<std::size_t>(element_count(from.info.shape));
  if (to.size() != count) {
    throw InvalidArgument("'{}': tensor '{}' {} has {} elements, got a buffer of {}",
                          folder_.string(), name, shape_text(from.info.shape), count, to.size());
  }
  const auto bad = convert_source(from, to);
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
  if (shape.size() != 2) {
    throw InvalidArgument("'{}': tensor '{}' must have two dimensions, got {}", folder_.string(),
                          name, shape_text(shape));
  }
  MatrixF matrix(shape[0], shape[1]);
  read(name, std::span<float>(matrix.data(), static_cast<std::size_t>(matrix.size())));
  return matrix;
}

const std::string& Checkpoint::sha256() const {
  if (!sha256_.empty()) return sha256_;
  std::string lines = hash_line(sha256_of_file(files_.config), files_.config);
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

}  // namespace lime
