// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/router_edit.h"

#include <c10/core/GradMode.h>

#include "checkpoint/parameters.h"
#include "checkpoint/router_layout.h"
#include "model/decoders/decoder.h"

namespace lime {

void apply_router_edits(const std::vector<RouterEdit>& edits, const Decoder& decoder) {
  if (edits.empty()) return;
  const ModelConfig& config = decoder.config();
  check_router_edits(edits, config);
  const RouteScales scales(edits);
  const at::NoGradGuard no_grad;
  const std::int64_t heads = config.num_key_value_heads;
  const std::int64_t mixed = config.lime.head_mixing ? heads : 1;
  for (std::int64_t layer = 1; layer < config.num_hidden_layers; ++layer) {
    const std::vector<std::int64_t> sources = router_sources(config.lime, layer);
    const at::Tensor router =
        decoder.parameter(layer_parameter(config, layer, "self_attn.lime_router.static_weights"))
            .view({heads, std::ssize(sources), mixed, -1});
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t place = 0; place < std::ssize(sources); ++place) {
        for (std::int64_t other = 0; other < mixed; ++other) {
          const double scale = scales.at(layer, head, sources[static_cast<std::size_t>(place)],
                                         config.lime.head_mixing ? other : head);
          if (scale != 1.0) router[head][place][other].mul_(scale);
        }
      }
    }
  }
}

}  // namespace lime
