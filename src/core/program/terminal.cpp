// SPDX-License-Identifier: Apache-2.0
#include "core/program/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "core/utf8.h"

namespace lime {
namespace {

constexpr std::size_t kLongestWord = 240;
constexpr std::size_t kLongestMessage = 1000;

/// `text` without its middle where it is longer than `most` bytes; characters stay whole.
std::string without_middle(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto continues = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  std::size_t head = most * 2 / 3;
  while (continues(head)) --head;
  std::size_t tail = text.size() - most / 3;
  while (tail < text.size() && continues(tail)) ++tail;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(tail));
}

/// `text` cut at `separator`, each part replaced by `replace` of it.
template <typename Replace>
std::string map_parts(std::string_view text, char separator, const Replace& replace) {
  std::string result;
  for (std::size_t start = 0;;) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    result += replace(text.substr(start, end - start));
    if (end == text.size()) return result;
    result += separator;
    start = end + 1;
  }
}

}  // namespace

std::string escaped(std::string_view text) { return printable(text, std::string_view::npos); }

std::string escaped_lines(std::string_view text) {
  return map_parts(text, '\n',
                   [](std::string_view line) { return map_parts(line, '\t', escaped); });
}

std::string message_line(std::string_view text) {
  const auto shortened = [](std::string_view word) { return without_middle(word, kLongestWord); };
  return without_middle(map_parts(escaped(text), ' ', shortened), kLongestMessage);
}

void print_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string for_standard_output(std::string text) {
  return ::isatty(STDOUT_FILENO) == 1 ? escaped_lines(text) : text;
}

}  // namespace lime
