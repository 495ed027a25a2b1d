// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "checkpoint/gguf/gguf_header.h"
#include "core/files/input_file.h"

namespace lime {

/// Returns true if `path` is a file with the content of GGUF. Reads four bytes.
bool is_gguf_file(const std::filesystem::path& path);

/// Contains a mapped GGUF file, or the parts of a split one.
struct GgufFiles {
  std::vector<std::filesystem::path> paths;  ///< in order; the first has the metadata
  std::vector<MappedFile> files;             ///< likewise
  GgufHeader header;                         ///< of the first, with the tensors of all
};

/// Opens a GGUF file. If it is a part of a split one (`NAME-00001-of-00003.gguf`), opens all parts.
/// Touches no weights.
/// @throws IoError      if a file cannot be read, or a part is missing; names it.
/// @throws FormatError  as parse_gguf(), or if a part belongs to another model.
GgufFiles open_gguf(const std::filesystem::path& path);

/// Returns the first part of the model that `path` belongs to: `path` itself unless it is split.
/// Reads only the name.
std::filesystem::path first_gguf_part(const std::filesystem::path& path);

}  // namespace lime
