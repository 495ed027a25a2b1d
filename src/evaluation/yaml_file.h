// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/json.h"

namespace lime {

/// Parses a YAML file of one document. Unquoted scalars that JSON reads as numbers, true, false or
/// null are these; all others are texts, also `yes` and `no`. Aliases become copies of what they
/// refer to, of 16 MiB at most in total. Nesting is limited to 500 levels.
/// @throws IoError      if it is not a regular file or cannot be read.
/// @throws FormatError  if it is not such YAML, repeats a key, or has a tag other than !!str, a
/// merge
///                      key or a key that is not a text; names the line.
Json read_yaml_file(const std::filesystem::path& file);

/// Returns true if the name of a file ends with .yaml or .yml.
bool is_yaml(const std::filesystem::path& file);

}  // namespace lime
