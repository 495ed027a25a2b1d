// SPDX-License-Identifier: Apache-2.0
#include "store/results/difference_name.h"

#include <string_view>

namespace lime {
namespace {

constexpr std::string_view kMinus = " - ";

}  // namespace

std::string difference_name(const std::string& minuend, const std::string& subtrahend) {
  return minuend + std::string(kMinus) + subtrahend;
}

std::optional<std::pair<std::string, std::string>> terms_of_difference(const std::string& name) {
  const std::size_t at = name.find(kMinus);
  if (at == std::string::npos) return std::nullopt;
  return std::pair(name.substr(0, at), name.substr(at + kMinus.size()));
}

}  // namespace lime
