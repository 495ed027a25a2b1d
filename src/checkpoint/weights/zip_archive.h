// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace lime {

/// A file in a ZIP archive; name and content refer to the archive's bytes.
struct ZipEntry {
  std::string_view name;
  std::span<const std::byte> bytes;
};

/// Lists the files of a ZIP archive whose files are stored without compression, as torch.save
/// writes them. Touches its directory and the header of each file only; checksums are not compared.
/// @param where  the file, for errors.
/// @throws FormatError  if the archive is broken, or a file is compressed or encrypted.
/// Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3 (Zip64).
std::vector<ZipEntry> parse_zip(std::span<const std::byte> archive, std::string_view where);

}  // namespace lime
