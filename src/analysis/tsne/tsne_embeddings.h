// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/engine/class_rows.h"
#include "store/embeddings_file.h"

namespace lime {

/// Returns the metadata of the points of `rows` from the capture's table, without layers.
CaptureEmbeddings points_of(const std::string& label, const CaptureReader& capture,
                            const ClassRows& rows);

/// Writes one line per point and layer: label, site, layer, row, sequence, position, token, class,
/// x, y. @throws IoError
void write_embeddings_csv(const std::filesystem::path& path,
                          const std::vector<CaptureEmbeddings>& captures);

}  // namespace lime
