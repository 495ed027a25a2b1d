// SPDX-License-Identifier: Apache-2.0
#include "metrics/device/gpu_module.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "metrics/device/batched_eigenvalues.h"

namespace lime::gpu_module {

struct DeviceRows {
  at::Tensor values;  ///< float32, [num_rows, num_cols]
};

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the stream of a GPU that all uploads use, so that they do not wait for computations.
c10::Stream upload_stream(const at::Device& gpu) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, c10::Stream> streams;
  const std::lock_guard lock(mutex);
  const auto found = streams.find(gpu.index());
  if (found != streams.end()) return found->second;
  const c10::impl::VirtualGuardImpl guard(gpu.type());
  return streams.emplace(gpu.index(), guard.getStreamFromGlobalPool(gpu)).first->second;
}

/// Returns at least `count` floats of this thread, which a GPU copies from at full speed.
at::Tensor staging(std::int64_t count, bool is_pinned) {
  thread_local at::Tensor memory;
  if (!memory.defined() || memory.numel() < count) {
    memory = at::Tensor();
    memory = at::empty({count}, at::TensorOptions().dtype(at::kFloat).pinned_memory(is_pinned));
  }
  return memory.narrow(0, 0, count);
}

void copy_to_device(const at::Device& device, const float* values, std::int64_t num_rows,
                    std::int64_t num_cols, at::Tensor& on_device) {
  c10::OptionalStreamGuard guard;
  if (device.is_cuda()) guard.reset_stream(upload_stream(device));
  // Memory of the upload stream: a computation that still runs never uses it.
  if (!on_device.defined() || on_device.size(0) != num_rows || on_device.size(1) != num_cols) {
    on_device = at::Tensor();
    on_device = at::empty({num_rows, num_cols}, at::TensorOptions(device).dtype(at::kFloat));
  }
  const at::Tensor here = staging(num_rows * num_cols, device.is_cuda());
  std::memcpy(here.data_ptr<float>(), values, here.nbytes());
  on_device.copy_(here.view({num_rows, num_cols}));
}

/// Returns some vectors of one length as the rows of a tensor on the device.
at::Tensor vectors_on(const at::Device& device, const double* const* vectors, std::int64_t count,
                      std::int64_t length) {
  const at::Tensor here = at::empty({count, length}, at::kDouble);
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(here.data_ptr<double>() + i * length, vectors[i],
                static_cast<std::size_t>(length) * sizeof(double));
  }
  return here.to(device);
}

/// Returns Z of all matrices, [count, num_rows, num_cols].
at::Tensor preprocessed(const at::Device& device, const GramBatch& batch) {
  std::vector<at::Tensor> rows;
  for (std::int64_t i = 0; i < batch.count; ++i) rows.push_back(batch.rows[i]->values);
  at::Tensor z = at::stack(rows).to(at::kDouble);
  const auto vectors = [&](const double* const* of_matrices, std::int64_t length) {
    return vectors_on(device, of_matrices, batch.count, length);
  };
  if (batch.shifts != nullptr) z.sub_(vectors(batch.shifts, batch.num_cols).unsqueeze(1));
  if (batch.column_scales != nullptr) {
    z.mul_(vectors(batch.column_scales, batch.num_cols).unsqueeze(1));
  }
  if (batch.row_scales != nullptr) z.mul_(vectors(batch.row_scales, batch.num_rows).unsqueeze(2));
  return z;
}

at::Tensor gram_of(const at::Device& device, const GramBatch& batch) {
  const at::Tensor z = preprocessed(device, batch);
  const at::Tensor transposed = z.transpose(1, 2);
  at::Tensor gram =
      batch.num_rows <= batch.num_cols ? at::bmm(z, transposed) : at::bmm(transposed, z);
  if (batch.clamps != 0) gram.clamp_min_(0.0);
  return gram;
}

void write(const at::Tensor& tensor, double* values) {
  at::from_blob(values, tensor.sizes(), at::kDouble).copy_(tensor);
}

void compute(const at::Device& device, const GramBatch& batch) {
  GramSeconds seconds;
  Clock::time_point start = Clock::now();
  at::Tensor gram = gram_of(device, batch);
  write(gram.diagonal(0, 1, 2).sum(1), batch.traces);
  write(gram.square().sum({1, 2}), batch.squared_norms);
  seconds.gram = seconds_since(start);
  if (batch.eigenvalues != nullptr) {
    start = Clock::now();
    write(batched_eigenvalues(std::move(gram)), batch.eigenvalues);
    seconds.eigenvalues = seconds_since(start);
  }
  if (batch.seconds != nullptr) *batch.seconds = seconds;
}

/// Returns the first line of the failure of `work`, or null.
template <typename Work> const char* failure_of(const Work& work) {
  thread_local std::string message;
  try {
    work();
    return nullptr;
  } catch (const c10::Error& error) {
    message = error.what_without_backtrace();
  } catch (const std::exception& error) {
    message = error.what();
  }
  message.resize(std::min(message.size(), message.find('\n')));
  return message.c_str();
}

std::int32_t count_gpus() { return static_cast<std::int32_t>(torch::cuda::device_count()); }

const char* upload(const char* device, const float* values, std::int64_t num_rows,
                   std::int64_t num_cols, DeviceRows** rows) {
  return failure_of([&] {
    if (*rows == nullptr) *rows = std::make_unique<DeviceRows>().release();
    copy_to_device(at::Device(device), values, num_rows, num_cols, (*rows)->values);
  });
}

void release(DeviceRows* rows) { const std::unique_ptr<DeviceRows> owned(rows); }

const char* gram_spectra(const char* device, const GramBatch* batch) {
  return failure_of([&] { compute(at::Device(device), *batch); });
}

}  // namespace
}  // namespace lime::gpu_module

extern "C" [[gnu::visibility("default")]] const lime::gpu_module::Module* lime_gpu_module() {
  using namespace lime::gpu_module;
  static constexpr Module kModule{.version = kVersion,
                                  .count_gpus = count_gpus,
                                  .upload = upload,
                                  .release = release,
                                  .gram_spectra = gram_spectra};
  return &kModule;
}
