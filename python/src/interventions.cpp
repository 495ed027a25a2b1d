// SPDX-License-Identifier: Apache-2.0
// What edits of activations share with lime-capture: selections, suggestions and permutations.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "core/layer_selection.h"
#include "core/program/suggest.h"
#include "core/random.h"
#include "model/passes/hook_points.h"

namespace lime::python {
namespace {

/// Sites that lime_toolkit.edit() can replace, by their names in edits.
constexpr std::array kSites = {
    std::pair<std::string_view, HookKind>{"hook_embed", HookKind::kEmbed},
    std::pair<std::string_view, HookKind>{"hook_resid_pre", HookKind::kResidPre},
    std::pair<std::string_view, HookKind>{"queries", HookKind::kQ},
    std::pair<std::string_view, HookKind>{"keys", HookKind::kK},
    std::pair<std::string_view, HookKind>{"values", HookKind::kV},
    std::pair<std::string_view, HookKind>{"attn.hook_z", HookKind::kZ},
    std::pair<std::string_view, HookKind>{"hook_attn_out", HookKind::kAttnOut},
    std::pair<std::string_view, HookKind>{"mlp.hook_post", HookKind::kMlpPost},
    std::pair<std::string_view, HookKind>{"hook_mlp_out", HookKind::kMlpOut},
    std::pair<std::string_view, HookKind>{"hidden", HookKind::kResidPost}};

/// Returns which of 0 ... count - 1 a list such as "0,3,8-15" selects, ascending.
nb::object select(const std::string& text, std::int64_t count, const std::string& name) {
  std::vector<int> available(static_cast<std::size_t>(count));
  std::iota(available.begin(), available.end(), 0);
  const auto selection = LayerSelection::parse(text, name);
  return to_numpy(selection.choose_from(available, OptionName(name)));
}

/// Returns the permutation of 0 ... count - 1 with which lime-capture resamples.
nb::object permutation(std::int64_t count, const std::string& site, int layer, std::int64_t seed,
                       std::int64_t first_sequence) {
  const auto* const found = std::ranges::find(kSites, std::string_view(site),
                                              &std::pair<std::string_view, HookKind>::first);
  throw_if(found == kSites.end(), "resample: '{}' is not a site of edits", site);
  Random random = Random(static_cast<std::uint64_t>(seed))
                      .fork(random_stream({found->second, layer}))
                      .fork(static_cast<std::uint64_t>(first_sequence));
  std::vector<std::int64_t> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), std::int64_t{0});
  random.shuffle(std::span(items));
  return to_numpy(std::move(items));
}

}  // namespace

void bind_interventions(nb::module_& module) {
  module.def("select", select);
  module.def("permutation", permutation);
  module.def("closest_word", [](const std::string& word, const std::vector<std::string>& words) {
    return closest_word(word, words);
  });
}

}  // namespace lime::python
