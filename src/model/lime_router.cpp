// SPDX-License-Identifier: Apache-2.0
#include "model/lime_router.h"

#include <ATen/Functions.h>

#include <cmath>

#include "model/linear.h"

namespace lime {

void LimeBuffer::append(const KeysAndValues& layer) {
  const at::Tensor& k = layer.keys;
  const std::int64_t heads = k.size(2);
  const std::int64_t tokens = k.size(0) * k.size(1);
  const std::int64_t dim = k.size(3);
  batch_ = k.size(0);
  if (workspace_ == nullptr) {
    layers_.push_back(at::stack({k, layer.values}, 3)
                          .permute({2, 0, 1, 3, 4})
                          .contiguous()
                          .view({heads, tokens, 2, dim}));
  } else {
    if (!memory_.defined()) {
      memory_ = workspace_->get(Workspace::Slot::kBuffer, {num_layers_, heads, tokens, 2, dim},
                                k.options());
    }
    const at::Tensor place = memory_.select(0, appended_)
                                 .view({heads, batch_, k.size(1), 2, dim})
                                 .permute({1, 2, 0, 3, 4});
    place.select(3, 0).copy_(k);
    place.select(3, 1).copy_(layer.values);
  }
  ++appended_;
}

at::Tensor LimeBuffer::routed_block(const at::Tensor& router) const {
  const std::int64_t heads = router.size(0);
  if (workspace_ != nullptr) {
    const at::Tensor buffered =
        memory_.narrow(0, 0, appended_).view({appended_ * heads, memory_.stride(1)});
    at::Tensor routed =
        workspace_->get(Workspace::Slot::kRouted, {heads, memory_.stride(1)}, router.options());
    wide_product_out(routed, router, buffered);
    return routed;
  }
  at::Tensor routed;
  for (std::int64_t i = 0; i < appended_; ++i) {
    const at::Tensor columns = router.narrow(1, i * heads, heads);
    const at::Tensor layer = layers_[static_cast<std::size_t>(i)].view({heads, -1});
    routed = i == 0 ? at::mm(columns, layer) : at::addmm(routed, columns, layer);
  }
  return routed;
}

KeysAndValues LimeBuffer::route(const at::Tensor& router) const {
  const at::Tensor& any = workspace_ != nullptr ? memory_ : layers_.front();
  const at::Tensor routed = routed_block(router)
                                .view({router.size(0), batch_, -1, 2, any.size(-1)})
                                .permute({1, 2, 0, 3, 4});
  return {routed.select(3, 0), routed.select(3, 1)};
}

void initialize_router(const at::Tensor& router, Random& random) {
  const std::int64_t heads = router.size(0);
  const std::int64_t fan_in = router.size(1);
  const double bound = std::sqrt(3.0 / static_cast<double>(fan_in));
  for (std::int64_t row = 0; row < heads; ++row) {
    for (std::int64_t column = 0; column < fan_in; ++column) {
      const double drawn = random.uniform(-bound, bound);
      const std::int64_t own = column - (fan_in - heads);
      router[row][column].fill_(own < 0 ? drawn : (own == row ? 1.0 : 0.0));
    }
  }
}

}  // namespace lime
