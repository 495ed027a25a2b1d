// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lime {

/// The name of a capture without its folder and without `.h5` or `.hdf5`. Any other ending belongs
/// to the name: "model-0.5" stays as it is, so that it is told from "model-0.7".
std::string capture_stem(const std::filesystem::path& capture);

/// The folder of a capture's shards, beside it: "out/run.shards" of "out/run.h5".
std::filesystem::path shard_folder_of(const std::filesystem::path& capture);

}  // namespace lime
