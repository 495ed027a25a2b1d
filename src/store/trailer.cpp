// SPDX-License-Identifier: Apache-2.0
#include "store/trailer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/files/input_file.h"
#include "core/files/sha256.h"
#include "core/json.h"

namespace lime {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "LIMEEND1";
constexpr std::size_t kTailBytes = sizeof(std::uint64_t) + kMagic.size();

/// Returns [[offset, size], ...] in file order; adjacent extents are merged.
Json merged(std::vector<ChecksummedExtent> data) {
  std::ranges::sort(data, [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
  std::uint64_t end = 0;
  for (const ChecksummedExtent& extent : data) {
    if (extent.offset < end) continue;
    if (!list.empty() && extent.offset == end) {
      list.back().second += extent.size;
    } else {
      list.emplace_back(extent.offset, extent.size);
    }
    end = extent.offset + extent.size;
  }
  return list;
}

/// Returns the digest of `bytes` outside of the extents; empty if these are out of range.
std::string digest_of_rest(std::string_view bytes, const Json& data) {
  Sha256 hash;
  std::uint64_t at = 0;
  for (const Json& extent : data) {
    const auto offset = extent.at(0).get<std::uint64_t>();
    const auto size = extent.at(1).get<std::uint64_t>();
    if (offset < at || offset > bytes.size() || size > bytes.size() - offset) return "";
    hash.update(bytes.substr(at, offset - at));
    at = offset + size;
  }
  hash.update(bytes.substr(at));
  return hash.hex_digest();
}

bool matches(std::string_view file) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data() + file.size() - kTailBytes, sizeof length);
  if (length > file.size() - kTailBytes) return false;
  const std::string_view rest = file.substr(0, file.size() - kTailBytes - length);
  try {
    const Json body = parse_json(file.substr(rest.size(), length), "trailer");
    return digest_of_rest(rest, body.at("data")) == body.at("sha256").get<std::string>();
  } catch (const FormatError&) {
    return false;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

}  // namespace

void append_trailer(const std::filesystem::path& path, std::vector<ChecksummedExtent> data) {
  std::string body;
  {
    const MappedFile file(path);
    const Json extents = merged(std::move(data));
    body = Json{{"data", extents}, {"sha256", digest_of_rest(file.text(), extents)}}.dump();
  }
  const std::uint64_t length = body.size();
  std::array<char, sizeof length> length_bytes{};
  std::memcpy(length_bytes.data(), &length, sizeof length);
  body.append(length_bytes.data(), length_bytes.size());
  body.append(kMagic);
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out.write(body.data(), static_cast<std::streamsize>(body.size()));
  out.close();
  if (!out) {
    throw IoError("store: '{}' cannot be written: {}", path.string(),
                  describe_errno(errno != 0 ? errno : EIO));
  }
}

bool check_trailer(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const MappedFile file(path);
  if (file.size() < kTailBytes || !file.text().ends_with(kMagic)) return false;
  throw_if<FormatError>(
      !matches(file.text()),
      "store: '{}' does not match its digest: it is damaged or was changed by another program; "
      "restore it or capture it again",
      path.string());
  return true;
}

}  // namespace lime
