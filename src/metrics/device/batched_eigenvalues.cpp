// SPDX-License-Identifier: Apache-2.0
#include "metrics/device/batched_eigenvalues.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_eigvalsh.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lime::gpu_module {
namespace {

// Values of the enumerations in cusolverDn.h, cublas_api.h and library_types.h.
constexpr int kSuccess = 0;    // CUSOLVER_STATUS_SUCCESS
constexpr int kNoVectors = 0;  // CUSOLVER_EIG_MODE_NOVECTOR
constexpr int kUpper = 1;      // CUBLAS_FILL_MODE_UPPER
constexpr int kReal64 = 1;     // CUDA_R_64F

/// The functions of cuSOLVER that are used, as cusolverDn.h declares them.
struct Functions {
  int (*create)(void** handle) = nullptr;
  int (*create_params)(void** params) = nullptr;
  int (*buffer_sizes)(void* handle, void* params, int vectors, int triangle, std::int64_t n,
                      int a_type, const void* a, std::int64_t a_stride, int w_type, const void* w,
                      int compute_type, std::size_t* device_bytes, std::size_t* host_bytes,
                      std::int64_t count) = nullptr;
  int (*compute)(void* handle, void* params, int vectors, int triangle, std::int64_t n, int a_type,
                 void* a, std::int64_t a_stride, int w_type, void* w, int compute_type,
                 void* on_device, std::size_t device_bytes, void* on_host, std::size_t host_bytes,
                 int* info, std::int64_t count) = nullptr;
};

const char* stand_in() { return std::getenv("LIME_CUSOLVER_STAND_IN"); }

/// Returns the cuSOLVER to use on a device, or null. Never closed: it cleans up at exit.
void* open_library(const at::Device& device) {
  if (stand_in() != nullptr) return ::dlopen(stand_in(), RTLD_NOW | RTLD_LOCAL);
  if (!device.is_cuda()) return nullptr;
  // LibTorch loads its own cuSOLVER, wherever that is, for its first eigenvalues.
  at::linalg_eigvalsh(at::eye(2, at::TensorOptions(device).dtype(at::kDouble)));
  for (const int mode : {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW}) {
    for (const char* const name : {"libcusolver.so.12", "libcusolver.so.11"}) {
      if (void* const library = ::dlopen(name, mode); library != nullptr) return library;
    }
  }
  return nullptr;
}

template <typename Function> bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<Functions> find_functions(const at::Device& device) {
  void* const library = open_library(device);
  Functions functions;
  if (library == nullptr || !find(library, "cusolverDnCreate", functions.create) ||
      !find(library, "cusolverDnCreateParams", functions.create_params) ||
      !find(library, "cusolverDnXsyevBatched_bufferSize", functions.buffer_sizes) ||
      !find(library, "cusolverDnXsyevBatched", functions.compute)) {
    return std::nullopt;
  }
  return functions;
}

void check(int status, const std::string& function) {
  if (status == kSuccess) return;
  throw std::runtime_error(function + "() returned status " + std::to_string(status));
}

void check_convergence(const at::Tensor& info) {
  const at::Tensor here = info.cpu();
  for (std::int64_t i = 0; i < here.numel(); ++i) {
    const int value = here.data_ptr<int>()[i];
    if (value == 0) continue;
    throw std::runtime_error("cusolverDnXsyevBatched() found no eigenvalues of matrix " +
                             std::to_string(i) + " of " + std::to_string(here.numel()) + ", info " +
                             std::to_string(value));
  }
}

/// cuSOLVER on one device. Its handle uses CUDA's legacy stream, which is LibTorch's default one.
class Solver {
 public:
  explicit Solver(const Functions& functions) : functions_(functions) {
    check(functions_.create(&handle_), "cusolverDnCreate");
    check(functions_.create_params(&params_), "cusolverDnCreateParams");
  }

  /// Returns nothing if the size is not supported.
  std::optional<at::Tensor> eigenvalues(const at::Tensor& matrices) {
    const std::int64_t count = matrices.size(0);
    const std::int64_t n = matrices.size(2);
    const at::Tensor values = at::empty({count, n}, matrices.options());
    std::size_t device_bytes = 0, host_bytes = 0;
    if (functions_.buffer_sizes(handle_, params_, kNoVectors, kUpper, n, kReal64,
                                matrices.data_ptr(), n, kReal64, values.data_ptr(), kReal64,
                                &device_bytes, &host_bytes, count) != kSuccess) {
      return std::nullopt;
    }
    const at::Tensor on_device =
        at::empty({static_cast<std::int64_t>(device_bytes)}, matrices.options().dtype(at::kByte));
    std::vector<std::byte> on_host(host_bytes);
    const at::Tensor info = at::zeros({count}, matrices.options().dtype(at::kInt));
    check(functions_.compute(handle_, params_, kNoVectors, kUpper, n, kReal64, matrices.data_ptr(),
                             n, kReal64, values.data_ptr(), kReal64, on_device.data_ptr(),
                             device_bytes, on_host.data(), host_bytes, info.data_ptr<int>(), count),
          "cusolverDnXsyevBatched");
    check_convergence(info);
    return values;
  }

 private:
  const Functions functions_;
  void* handle_ = nullptr;  ///< never destroyed, as the library
  void* params_ = nullptr;
};

/// Returns the solver of a device, made by the first call, or null if cuSOLVER lacks the function.
Solver* solver_of(const at::Device& device) {
  static std::map<std::string, std::unique_ptr<Solver>> solvers;
  const std::string name = device.str() + (stand_in() != nullptr ? stand_in() : "");
  const auto found = solvers.find(name);
  if (found != solvers.end()) return found->second.get();
  const std::optional<Functions> functions = find_functions(device);
  std::unique_ptr<Solver> solver = functions ? std::make_unique<Solver>(*functions) : nullptr;
  return solvers.emplace(name, std::move(solver)).first->second.get();
}

}  // namespace

at::Tensor batched_eigenvalues(at::Tensor matrices) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const c10::DeviceGuard guard(matrices.device());
  matrices = matrices.contiguous();
  if (Solver* const solver = solver_of(matrices.device()); solver != nullptr) {
    if (std::optional<at::Tensor> values = solver->eigenvalues(matrices)) return *values;
  }
  return at::linalg_eigvalsh(matrices);
}

}  // namespace lime::gpu_module
