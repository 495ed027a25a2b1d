// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lime {

// Only known extensions are removed from file names: "model-0.5" is kept.

/// Returns the file name of a capture without its folder and without `.h5` or `.hdf5`.
std::string capture_stem(const std::filesystem::path& capture);

/// Returns the folder of a capture's shards, next to it: "out/run.shards" for "out/run.h5".
std::filesystem::path shard_folder_of(const std::filesystem::path& capture);

/// Returns the name of a results file without folder and `.json`, `.csv`, `.tex` or `.txt`.
std::string results_stem(const std::filesystem::path& results);

/// Returns the path of a file next to the results: "out/tsne.embeddings.h5" for "out/tsne.json".
/// @param suffix  ".embeddings.h5"
std::filesystem::path companion_of(const std::filesystem::path& results, std::string_view suffix);

}  // namespace lime
