// SPDX-License-Identifier: Apache-2.0
#include "model/passes/key_value_cache.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "core/errors.h"

namespace lime {
namespace {

/// Reserves memory for `needed` tokens; the capacity doubles.
void reserve(at::Tensor& store, std::int64_t used, std::int64_t needed, const at::Tensor& like) {
  constexpr std::int64_t kSmallest = 64;
  const std::int64_t capacity = store.defined() ? store.size(2) : 0;
  if (capacity >= needed) return;
  const at::Tensor larger = at::empty(
      {like.size(0), like.size(2), std::max({needed, 2 * capacity, kSmallest}), like.size(3)},
      like.options());
  if (used > 0) larger.narrow(2, 0, used).copy_(store.narrow(2, 0, used));
  store = larger;
}

at::Tensor append_one(at::Tensor& store, std::int64_t used, const at::Tensor& added) {
  const std::int64_t count = added.size(1);
  throw_if(used > 0 && (store.size(0) != added.size(0) || store.size(1) != added.size(2)),
           "cache: contains {} sequences, got {}; clear it before another batch", store.size(0),
           added.size(0));
  if (used == 0 && store.defined() && store.size(0) != added.size(0)) store.reset();
  reserve(store, used, used + count, added);
  store.narrow(2, used, count).copy_(added.transpose(1, 2));
  return store.narrow(2, 0, used + count).transpose(1, 2);
}

}  // namespace

void KeyValueCache::keep(std::span<const std::int64_t> sequences) {
  const at::Tensor indices =
      at::tensor(at::ArrayRef<std::int64_t>(sequences.data(), sequences.size()), at::kLong);
  for (auto& [keys, values] : layers_) {
    for (at::Tensor* const store : {&keys, &values}) {
      if (store->defined()) *store = store->index_select(0, indices.to(store->device()));
    }
  }
}

std::int64_t KeyValueCache::num_elements() const {
  std::int64_t count = 0;
  for (const auto& [keys, values] : layers_) {
    for (const at::Tensor& store : {keys, values}) {
      if (store.defined()) count += store.size(0) * store.size(1) * length_ * store.size(3);
    }
  }
  return count;
}

std::pair<at::Tensor, at::Tensor> KeyValueCache::append(int layer, const at::Tensor& keys,
                                                        const at::Tensor& values,
                                                        bool shares_values, int holder) {
  const auto index = static_cast<std::size_t>(layer);
  if (layers_.size() <= index) layers_.resize(index + 1);
  auto& [stored_keys, stored_values] = layers_[index];
  const at::Tensor seen_keys = append_one(stored_keys, length_, keys);
  const at::Tensor& first_values = layers_[holder].second;
  if (shares_values && !stored_values.defined()) {
    const std::int64_t seen = length_ + values.size(1);
    return {seen_keys, first_values.narrow(2, 0, seen).transpose(1, 2)};
  }
  // A hook replaced values that this layer shared until now: it needs its own from here on.
  if (!stored_values.defined() && length_ > 0) stored_values = first_values.clone();
  return {seen_keys, append_one(stored_values, length_, values)};
}

}  // namespace lime
