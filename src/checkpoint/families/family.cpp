// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/family.h"

#include <algorithm>
#include <array>

#include "checkpoint/families/llama.h"
#include "checkpoint/families/mistral.h"
#include "checkpoint/families/qwen2.h"

namespace lime {

std::span<const Family* const> all_families() {
  static constexpr std::array kFamilies = {&kLlama, &kMistral, &kQwen2};
  return kFamilies;
}

const Family* find_family(std::string_view model_type) {
  const auto families = all_families();
  const auto found = std::find_if(families.begin(), families.end(), [&](const Family* family) {
    return family->model_type == model_type;
  });
  return found == families.end() ? nullptr : *found;
}

}  // namespace lime
