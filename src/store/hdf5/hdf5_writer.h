// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/matrix.h"
#include "store/hdf5/hdf5_file.h"

namespace lime {

/// Writes a small HDF5 file atomically: the final path does not exist before commit(). Missing
/// groups are created; numbers have Fletcher-32 checksums, which HDF5 does not support for text.
/// Thread-safe like Hdf5File, but intended for one thread.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::filesystem::path& path);
  ~Hdf5Writer();

  void make_group(const std::string& name);

  /// @param values  row-major, as many as the product of `shape`; T is a NumberType.
  template <typename T>
  void write(const std::string& dataset, std::span<const T> values,
             const std::vector<std::int64_t>& shape) {
    write_numbers(dataset, NumberType::of<T>(), {values.data(), values.size()}, shape);
  }
  template <typename T>
  void write_column(const std::string& dataset, const std::vector<T>& values) {
    write<T>(dataset, values, {static_cast<std::int64_t>(values.size())});
  }
  void write_matrix(const std::string& dataset, const ConstMatrixRef& matrix);
  void write_matrix(const std::string& dataset, const ConstMatrixRefD& matrix);
  /// Writes variable-length UTF-8 texts, one dimension.
  void write_strings(const std::string& dataset, std::span<const std::string> texts);

  void set_attribute(const std::string& name, std::string_view text,
                     const std::string& object = "/");
  void set_attribute(const std::string& name, std::span<const std::string> texts,
                     const std::string& object = "/");
  /// Stores std::uint64_t and double as they are, other integers and bool as std::int64_t.
  template <typename T>
  requires std::is_arithmetic_v<T>
  void set_attribute(const std::string& name, T value, const std::string& object = "/") {
    constexpr bool kIsStored = std::same_as<T, std::uint64_t> || std::same_as<T, double>;
    const std::conditional_t<kIsStored, T, std::int64_t> stored = value;
    set_number(name, NumberType::of<decltype(stored)>(), &stored, object);
  }

  /// Closes, syncs and renames the file to its final name. @throws IoError
  void commit();

 private:
  friend class Hdf5Access;
  struct Numbers {
    const void* data;
    std::size_t size;
  };
  void write_numbers(const std::string& dataset, NumberType type, Numbers values,
                     const std::vector<std::int64_t>& shape);
  void set_number(const std::string& name, NumberType type, const void* value,
                  const std::string& object);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lime
