// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store: text in datasets and attributes.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "store/hdf5/hdf5_api.h"

namespace lime::hdf5 {

/// Source of a text read: file type, dataspace and number of texts.
struct TextSource {
  hid_t type;
  hid_t space;
  std::size_t count;
};

/// Reads texts of fixed or variable length. `read` calls H5Dread or H5Aread of the source with a
/// buffer of the given memory type. @throws FormatError  if the source is not text.
std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& name,
                                    const TextSource& source,
                                    const std::function<herr_t(hid_t, void*)>& read);

/// Returns the type of variable-length UTF-8.
Id text_type();
/// Returns pointers to the texts, for HDF5.
std::vector<const char*> text_pointers(std::span<const std::string> texts);

}  // namespace lime::hdf5
