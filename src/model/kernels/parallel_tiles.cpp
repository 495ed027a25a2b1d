// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/parallel_tiles.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

namespace lime {
namespace {

thread_local PassThreads* current_threads = nullptr;

/// Returns the mutex held by the one thread that has workers.
std::mutex& owner_mutex() {
  static std::mutex mutex;
  return mutex;
}

constexpr int kSpins = 1000;

}  // namespace

PassThreads::PassThreads() {
  const int num_threads = at::get_num_threads();
  // MKL's products run on OpenMP threads, which would spin beside the workers.
  if (num_threads < 2 || current_threads != nullptr || at::hasMKL()) return;
  std::unique_lock lock(owner_mutex(), std::try_to_lock);
  if (!lock.owns_lock()) return;
  // The first call resets a new thread's number.
  workers_ = std::make_unique<WorkerThreads>(num_threads, kSpins, [] { at::get_num_threads(); });
  lock.release();  // until the destructor
  set_library_threads(1);
  current_threads = this;
}

PassThreads::~PassThreads() {
  if (workers_ == nullptr) return;
  current_threads = nullptr;
  set_library_threads(workers_->num_threads());
  workers_.reset();
  owner_mutex().unlock();
}

PassThreads* PassThreads::current() { return current_threads; }

int PassThreads::num_threads() const { return workers_ == nullptr ? 1 : workers_->num_threads(); }

void PassThreads::run(int num_threads, const std::function<void()>& work) {
  if (workers_ == nullptr) return work();
  workers_->run(num_threads, work);
}

int num_tile_threads() {
  return current_threads != nullptr ? current_threads->num_threads() : at::get_num_threads();
}

namespace {

/// Operations per value, counting a memory access as one operation.
constexpr std::int64_t kOperationsPerValue = 4;

}  // namespace

void for_each_token_range(const at::Tensor& x,
                          const std::function<void(std::int64_t, std::int64_t)>& run) {
  if (!uses_cpu_kernels(x)) return run(0, x.size(1));
  const std::int64_t values_per_token = x.numel() / std::max<std::int64_t>(1, x.size(1));
  for_each_block(x.size(1), values_per_token * kOperationsPerValue,
                 [&](std::int64_t begin, std::int64_t end) { run(begin, end - begin); });
}

void add_in_place(const at::Tensor& x, const at::Tensor& y) {
  for_each_token_range(x, [&](std::int64_t begin, std::int64_t length) {
    x.narrow(1, begin, length).add_(y.narrow(1, begin, length));
  });
}

void copy_in_place(const at::Tensor& to, const at::Tensor& from) {
  for_each_token_range(to, [&](std::int64_t begin, std::int64_t length) {
    to.narrow(1, begin, length).copy_(from.narrow(1, begin, length));
  });
}

at::Tensor map_elements(const at::Tensor& x,
                        const std::function<at::Tensor(const at::Tensor&)>& function) {
  if (uses_gpu_operations(x)) return function(x);
  constexpr std::int64_t kPart = 2048;  // LibTorch divides more among threads
  const at::Tensor from = x.contiguous().view({-1});
  const at::Tensor out = at::empty(x.sizes(), x.options());
  const at::Tensor to = out.view({-1});
  for_each_tile(ceil_div(x.numel(), kPart), kPart * 16, [&] {
    return [&](std::int64_t part) {
      const at::NoGradGuard no_grad;
      const std::int64_t first = part * kPart;
      const std::int64_t count = std::min(kPart, x.numel() - first);
      to.narrow(0, first, count).copy_(function(from.narrow(0, first, count)));
    };
  });
  return out;
}

at::Tensor embed(const at::Tensor& table, const at::Tensor& ids) {
  if (!uses_cpu_kernels(table)) return at::embedding(table, ids);
  const at::Tensor weights = table.detach();  // other threads record gradients
  at::Tensor rows = at::empty({ids.size(0), ids.size(1), table.size(1)}, weights.options());
  for_each_token_range(rows, [&](std::int64_t begin, std::int64_t length) {
    rows.narrow(1, begin, length).copy_(at::embedding(weights, ids.narrow(1, begin, length)));
  });
  return rows;
}

}  // namespace lime
