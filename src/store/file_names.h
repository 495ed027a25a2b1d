// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lime {

// Of the names of files, only the endings that the formats have are left out. Any other belongs to
// the name: "model-0.5" stays as it is, so that it is told from "model-0.7".

/// The name of a capture without its folder and without `.h5` or `.hdf5`.
std::string capture_stem(const std::filesystem::path& capture);

/// The folder of a capture's shards, beside it: "out/run.shards" of "out/run.h5".
std::filesystem::path shard_folder_of(const std::filesystem::path& capture);

/// The name of a file of results without its folder and without `.json`, `.csv`, `.tex` or `.txt`.
std::string results_stem(const std::filesystem::path& results);

/// What lies beside a file of results: "out/tsne.embeddings.h5" of "out/tsne.json".
/// @param suffix  ".embeddings.h5"
std::filesystem::path companion_of(const std::filesystem::path& results, std::string_view suffix);

}  // namespace lime
