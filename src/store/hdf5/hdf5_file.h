// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "core/errors.h"
#include "core/json.h"
#include "core/matrix.h"

namespace lime {

/// A file does not exist.
class MissingFile : public IoError {
 public:
  using IoError::IoError;
};

/// Selects if a helper process reads a file first, so that a crash of HDF5 is harmless.
enum class Hdf5Trial {
  kFirst,  ///< the file is untrusted
  kDone    ///< this process has written it, or has already opened it
};

/// A type of numbers in memory: float, double, or a signed or unsigned integer of 8 to 64 bits.
struct NumberType {
  std::size_t size = 0;
  bool is_float = false;
  bool is_signed = false;

  template <typename T> static constexpr NumberType of() {
    return {sizeof(T), std::is_floating_point_v<T>, std::is_signed_v<T>};
  }
};

/// Reads any HDF5 file: small files, golden data of tests, embeddings.
///
/// Objects are named by their path in the file ("logits", "activations/values/003"). All exceptions
/// name the file and the object. Links that leave the file are not followed and filter plug-ins are
/// never loaded. Thread-safe: all calls lock one global mutex, because HDF5 itself is not.
class Hdf5File {
 public:
  /// @throws IoError, FormatError  if it is missing, not HDF5, truncated, or makes HDF5 crash.
  explicit Hdf5File(const std::filesystem::path& path, Hdf5Trial trial = Hdf5Trial::kFirst);
  ~Hdf5File();
  Hdf5File(Hdf5File&&) noexcept;
  Hdf5File& operator=(Hdf5File&&) noexcept;

  const std::filesystem::path& path() const;

  /// Returns true if the file has a group or dataset of that name.
  bool has(const std::string& name) const;
  /// Returns the names of the members of `group`, sorted.
  std::vector<std::string> groups(const std::string& group = "/") const;
  std::vector<std::string> datasets(const std::string& group = "/") const;
  std::vector<std::string> attributes(const std::string& object = "/") const;

  std::vector<std::int64_t> shape(const std::string& dataset) const;
  /// Returns the size of the first dimension; 0 for a scalar.
  std::int64_t num_rows(const std::string& dataset) const;

  /// Reads the whole dataset, converted to T (a NumberType), in row-major order.
  /// @throws FormatError  if the dataset is missing (lists the existing ones) or is not numeric.
  template <typename T> std::vector<T> read(const std::string& dataset) const {
    std::vector<T> values;
    read_numbers(dataset, NumberType::of<T>(), [&](std::size_t size) {
      values.resize(size);
      return values.data();
    });
    return values;
  }
  /// Reads a dataset as a matrix, [1, columns] for one dimension; leading dimensions are flattened.
  MatrixF read_matrix(const std::string& dataset) const;
  std::vector<std::string> read_strings(const std::string& dataset) const;

  bool has_attribute(const std::string& name, const std::string& object = "/") const;
  std::string string_attribute(const std::string& name, const std::string& object = "/") const;
  std::vector<std::string> strings_attribute(const std::string& name,
                                             const std::string& object = "/") const;
  std::int64_t int_attribute(const std::string& name, const std::string& object = "/") const;
  std::uint64_t uint_attribute(const std::string& name, const std::string& object = "/") const;
  double double_attribute(const std::string& name, const std::string& object = "/") const;
  /// Returns an attribute of any shape as a text, a number or a list of them; null for other types.
  Json attribute(const std::string& name, const std::string& object = "/") const;

 private:
  friend class Hdf5Access;
  /// @param resize  returns the memory for this many numbers.
  void read_numbers(const std::string& dataset, NumberType type,
                    const std::function<void*(std::size_t)>& resize) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lime
