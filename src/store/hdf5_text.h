// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store: text in datasets and attributes.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "store/hdf5_api.h"

namespace lime::hdf5 {

/// What is read: file type, dataspace and number of texts.
struct TextSource {
  hid_t type;
  hid_t space;
  std::size_t count;
};

/// Reads texts of fixed or variable length. `read` is H5Dread or H5Aread of the source into a
/// buffer of the given memory type. @throws FormatError  if the source holds no text.
std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& name,
                                    const TextSource& source,
                                    const std::function<herr_t(hid_t, void*)>& read);

/// UTF-8 of variable length.
Id text_type();
/// Pointers to the texts, as HDF5 takes them.
std::vector<const char*> text_pointers(std::span<const std::string> texts);

}  // namespace lime::hdf5
