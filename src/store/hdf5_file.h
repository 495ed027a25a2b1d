// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/matrix.h"

namespace lime {

/// Whether a file is first read in a child process, where HDF5 may crash without harm.
enum class Hdf5Trial {
  kFirst,  ///< it may come from anywhere
  kDone    ///< this process has written it, or has opened it before
};

/// Reads any HDF5 file: small files, golden data of tests, embeddings.
///
/// Objects are named by their path in the file ("logits", "activations/values/003"). Every method
/// names the file and the object when it throws. Links that leave the file are not followed and
/// filter plug-ins are never loaded.
/// Thread-safe: all calls take the one lock of the process, because HDF5 itself is not.
class Hdf5File {
 public:
  /// @throws IoError      if the file is missing or cannot be read.
  /// @throws FormatError  if it is not HDF5, cut short, or made so that HDF5 crashes at it.
  explicit Hdf5File(const std::filesystem::path& path, Hdf5Trial trial = Hdf5Trial::kFirst);
  ~Hdf5File();
  Hdf5File(Hdf5File&&) noexcept;
  Hdf5File& operator=(Hdf5File&&) noexcept;

  const std::filesystem::path& path() const;

  /// True if a group or dataset of that name exists in this file.
  bool has(const std::string& name) const;
  /// Names of the members of `group`, sorted.
  std::vector<std::string> groups(const std::string& group = "/") const;
  std::vector<std::string> datasets(const std::string& group = "/") const;
  std::vector<std::string> attributes(const std::string& object = "/") const;

  /// Sizes of the dimensions; empty for a scalar.
  std::vector<std::int64_t> shape(const std::string& dataset) const;
  /// The first of the dimensions; 0 for a scalar.
  std::int64_t num_rows(const std::string& dataset) const;
  /// True for floating-point data, false for integers and text.
  bool is_float(const std::string& dataset) const;

  /// Reads the whole dataset, converted to T, in row-major order.
  /// T: float, double, or a signed or unsigned integer of 8 to 64 bits.
  /// @throws FormatError  if the dataset is missing (lists what there is) or is not numeric.
  template <typename T>
  std::vector<T> read(const std::string& dataset) const;
  /// Reads a dataset of two dimensions [rows, columns]; one of one dimension becomes [1, columns];
  /// more dimensions are flattened into rows, the last staying the columns.
  MatrixF read_matrix(const std::string& dataset) const;
  MatrixD read_matrix_double(const std::string& dataset) const;
  /// Reads a dataset of text, fixed or variable in length.
  std::vector<std::string> read_strings(const std::string& dataset) const;

  bool has_attribute(const std::string& name, const std::string& object = "/") const;
  std::string string_attribute(const std::string& name, const std::string& object = "/") const;
  std::vector<std::string> strings_attribute(const std::string& name,
                                             const std::string& object = "/") const;
  std::int64_t int_attribute(const std::string& name, const std::string& object = "/") const;
  std::uint64_t uint_attribute(const std::string& name, const std::string& object = "/") const;
  double double_attribute(const std::string& name, const std::string& object = "/") const;

 private:
  friend class Hdf5Access;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes a small HDF5 file, whole or not at all: nothing stands under the final name before
/// commit(). Groups on the way to a name are made as needed; numbers carry Fletcher-32
/// checksums, which HDF5 does not offer for text. Thread-safe in the same way as Hdf5File, but
/// meant for one thread.
class Hdf5Writer {
 public:
  /// @throws IoError
  explicit Hdf5Writer(const std::filesystem::path& path);
  ~Hdf5Writer();
  Hdf5Writer(Hdf5Writer&&) noexcept;
  Hdf5Writer& operator=(Hdf5Writer&&) noexcept;

  void make_group(const std::string& name);

  /// @param values  row-major, as many as the product of `shape`.
  /// T: float, double, or a signed or unsigned integer of 8 to 64 bits.
  template <typename T>
  void write(const std::string& dataset, std::span<const T> values,
             const std::vector<std::int64_t>& shape);
  /// One dimension.
  template <typename T>
  void write_column(const std::string& dataset, const std::vector<T>& values) {
    write<T>(dataset, values, {static_cast<std::int64_t>(values.size())});
  }
  void write_matrix(const std::string& dataset, const ConstMatrixRef& matrix);
  void write_matrix(const std::string& dataset, const ConstMatrixRefD& matrix);
  /// UTF-8, variable length, one dimension.
  void write_strings(const std::string& dataset, std::span<const std::string> texts);

  /// Attributes of the existing group or dataset `object`.
  void set_attribute(const std::string& name, std::string_view text,
                     const std::string& object = "/");
  void set_attribute(const std::string& name, std::span<const std::string> texts,
                     const std::string& object = "/");
  template <std::integral T>
  void set_attribute(const std::string& name, T value, const std::string& object = "/") {
    if constexpr (std::same_as<T, std::uint64_t>) {
      set_uint_attribute(name, value, object);
    } else {
      set_int_attribute(name, static_cast<std::int64_t>(value), object);
    }
  }
  void set_attribute(const std::string& name, double value, const std::string& object = "/");

  /// Closes, syncs and renames the file to its final name. @throws IoError
  void commit();

 private:
  friend class Hdf5Access;
  void set_uint_attribute(const std::string& name, std::uint64_t value, const std::string& object);
  void set_int_attribute(const std::string& name, std::int64_t value, const std::string& object);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lime
