// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_files.h"

#include <array>
#include <charconv>
#include <optional>
#include <system_error>

#include "checkpoint/families/key_reader.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSplitCount = "split.count";
constexpr const char* kSplitTensors = "split.tensors.count";
constexpr std::int64_t kMaxParts = 99999;  // five digits in the name

/// The name of a part of a split file, as llama.cpp writes it.
struct PartName {
  std::string stem;  ///< before "-00001-of-00003.gguf"
  std::int64_t count = 0;

  std::string name(std::int64_t part) const {
    return fmt::format("{}-{:05}-of-{:05}.gguf", stem, part, count);
  }
};

std::optional<PartName> parse_part_name(const std::string& name) {
  constexpr std::string_view kPattern = "-00000-of-00000.gguf";
  if (name.size() <= kPattern.size()) return std::nullopt;
  const std::size_t begin = name.size() - kPattern.size();
  const std::string_view ending = std::string_view(name).substr(begin);
  std::array<std::int64_t, 2> numbers = {};
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool is_digit = ending[i] >= '0' && ending[i] <= '9';
    if (kPattern[i] == '0' ? !is_digit : ending[i] != kPattern[i]) return std::nullopt;
    if (kPattern[i] == '0') {
      auto& number = numbers[i > 8 ? 1 : 0];
      number = number * 10 + (ending[i] - '0');
    }
  }
  if (numbers[0] < 1 || numbers[0] > numbers[1]) return std::nullopt;
  return PartName{name.substr(0, begin), numbers[1]};
}

/// Maps a file and appends it; returns its header.
GgufHeader add_file(const fs::path& path, GgufFiles& files) {
  files.paths.push_back(path);
  return parse_gguf(files.files.emplace_back(path).bytes(), path.string());
}

void add_parts(const fs::path& path, std::int64_t count, GgufFiles& files) {
  const auto name = parse_part_name(path.filename().string());
  throw_if<FormatError>(!name || name->count != count,
                        "'{}': is one of {} parts, whose names must end in -00001-of-{:05}.gguf; "
                        "restore the name under which it was downloaded",
                        path.string(), count, count);
  for (std::int64_t part = 2; part <= count; ++part) {
    const fs::path next = path.parent_path() / name->name(part);
    throw_if<IoError>(
        !path_exists(next),
        "'{}': is one of {} parts, but '{}' is missing; put all parts into one folder",
        path.string(), count, next.filename().string());
    GgufHeader header = add_file(next, files);
    const KeyReader keys(header.metadata, "'" + next.string() + "'");
    throw_if<FormatError>(keys.integer(kSplitCount) != count,
                          "'{}': must be part {} of {} of '{}', but its metadata differ; download "
                          "the parts of one model",
                          next.string(), part, count, path.filename().string());
    std::ranges::move(header.tensors, std::back_inserter(files.header.tensors));
  }
}

}  // namespace

bool is_gguf_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  std::array<char, 4> begin = {};
  try {
    InputFile file(path);
    return is_gguf({begin.data(), file.read(begin)});
  } catch (const IoError&) {
    return false;
  }
}

GgufFiles open_gguf(const fs::path& path) {
  GgufFiles files;
  const fs::path first = first_gguf_part(path);
  files.header = add_file(first, files);
  const KeyReader keys(files.header.metadata, "'" + first.string() + "'");
  const std::int64_t count = keys.integer(kSplitCount).value_or(1);
  if (count < 0 || count > kMaxParts) keys.fail(kSplitCount, "from 1 to 99999", count);
  if (count <= 1) return files;
  add_parts(first, count, files);
  const auto expected = keys.integer(kSplitTensors);
  throw_if<FormatError>(expected && *expected != std::ssize(files.header.tensors),
                        "'{}': its {} parts must have {} tensors together, got {}; download the "
                        "parts of one model",
                        first.string(), count, *expected, files.header.tensors.size());
  return files;
}

fs::path first_gguf_part(const fs::path& path) {
  const auto name = parse_part_name(path.filename().string());
  if (!name) return path;
  const fs::path first = path.parent_path() / name->name(1);
  return path_exists(first) ? first : path;
}

}  // namespace lime
