// SPDX-License-Identifier: Apache-2.0
#include "model/value_residual.h"

#include <ATen/Functions.h>

namespace lime {

KeysAndValues ValueResidual::mix(int layer, const KeysAndValues& own, const at::Tensor&) {
  if (layer == 0) {
    first_ = own.values;
    if (workspace_ == nullptr) return own;
    first_ = workspace_->get(Workspace::Slot::kBuffer, own.values.sizes(), own.values.options());
    first_.copy_(own.values);
    return {own.keys, first_};
  }
  if (first_layer_only_) return own;
  if (workspace_ == nullptr) return {own.keys, (first_ + own.values) * 0.5};
  at::Tensor mixed =
      workspace_->get(Workspace::Slot::kRouted, own.values.sizes(), own.values.options());
  at::add_out(mixed, first_, own.values);
  return {own.keys, mixed.mul_(0.5)};
}

}  // namespace lime
