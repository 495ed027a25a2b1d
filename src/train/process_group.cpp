// SPDX-License-Identifier: Apache-2.0
#include "train/process_group.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "core/errors.h"

#if defined(LIME_HAS_GLOO) || defined(LIME_HAS_NCCL) || defined(LIME_HAS_MPI)
#define LIME_HAS_PROCESS_GROUPS
#include <torch/version.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif
#if defined(LIME_HAS_GLOO)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#if defined(LIME_HAS_NCCL)
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#if defined(LIME_HAS_MPI)
#include <torch/csrc/distributed/c10d/ProcessGroupMPI.hpp>
#endif

namespace lime {

std::string ProcessGroup::back_ends() {
  std::string names;
#if defined(LIME_HAS_NCCL)
  names += "nccl ";
#endif
#if defined(LIME_HAS_GLOO)
  names += "gloo ";
#endif
#if defined(LIME_HAS_MPI)
  names += "mpi ";
#endif
  if (!names.empty()) names.pop_back();
  return names;
}

RowShare share_of_rows(std::int64_t total, int rank, int size) {
  const std::int64_t each = total / size;
  const std::int64_t longer = total % size;
  return {.first = rank * each + std::min<std::int64_t>(rank, longer),
          .count = each + (rank < longer ? 1 : 0)};
}

#if defined(LIME_HAS_PROCESS_GROUPS)

namespace {

#if TORCH_VERSION_MAJOR >= 2
using GroupBase = c10d::Backend;
#else
using GroupBase = c10d::ProcessGroup;
#endif

c10::intrusive_ptr<c10d::Store> meeting_place(const ProcessPlace& place) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.has_keeper;
  options.waitWorkers = false;
  return c10::make_intrusive<c10d::PrefixStore>(
      "lime", c10::make_intrusive<c10d::TCPStore>(place.address, options));
}

#if defined(LIME_HAS_GLOO)
bool is_this_machine(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

c10::intrusive_ptr<GroupBase> make_gloo(const ProcessPlace& place) {
  const auto options = c10d::ProcessGroupGloo::Options::create();
  if (const auto interface = environment_variable("GLOO_SOCKET_IFNAME")) {
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(*interface));
  } else if (is_this_machine(place.address)) {
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(place.address));
  } else {
    options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  }
  return c10::make_intrusive<c10d::ProcessGroupGloo>(meeting_place(place), place.rank, place.size,
                                                     options);
}
#endif

c10::intrusive_ptr<GroupBase> make_group(const ProcessPlace& place,
                                         [[maybe_unused]] c10::Device device) {
#if defined(LIME_HAS_NCCL)
  if (device.is_cuda()) {
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(meeting_place(place), place.rank,
                                                       place.size);
  }
#endif
#if defined(LIME_HAS_GLOO)
  return make_gloo(place);
#elif defined(LIME_HAS_MPI)
  return c10d::ProcessGroupMPI::createProcessGroupMPI();
#else
  throw InvalidArgument(
      "processes: this LibTorch connects processes with NCCL only, which needs --device cuda, got "
      "{} processes on the processor",
      place.size);
#endif
}

/// Runs what talks to the other processes, and says so where it fails.
template <typename Call>
auto talk(const ProcessPlace& place, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string_view what = error.what();
    throw IoError("processes: process {} of {} cannot reach the others at {}:{}: {}", place.rank,
                  place.size, place.address, place.port, what.substr(0, what.find('\n')));
  }
}

}  // namespace

struct ProcessGroup::Impl {
  c10::intrusive_ptr<GroupBase> group;
};

ProcessGroup::ProcessGroup(const ProcessPlace& place, c10::Device device)
    : place_(place), device_(device), impl_(std::make_unique<Impl>()) {
  talk(place_, [&] {
    impl_->group = make_group(place_, device_);
    return 0;
  });
}

void ProcessGroup::sum(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  // One message, not one per tensor.
  std::vector<at::Tensor> flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.flatten());
  std::vector<at::Tensor> all = {at::cat(flat)};
  talk(place_, [&] { return impl_->group->allreduce(all)->wait(); });
  std::int64_t first = 0;
  for (const at::Tensor& tensor : tensors) {
    at::Tensor(tensor).copy_(all[0].narrow(0, first, tensor.numel()).view(tensor.sizes()));
    first += tensor.numel();
  }
}

void ProcessGroup::take_from_first(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& tensor : tensors) {
    std::vector<at::Tensor> dense = {tensor.detach().contiguous()};
    talk(place_, [&] { return impl_->group->broadcast(dense)->wait(); });
    tensor.detach().copy_(dense[0]);
  }
}

#else

struct ProcessGroup::Impl {};

ProcessGroup::ProcessGroup(const ProcessPlace& place, c10::Device device)
    : place_(place), device_(device) {
  throw InvalidArgument(
      "processes: this build's LibTorch has no distributed back end (NCCL, Gloo or MPI), got {} "
      "processes; start one, or build with a LibTorch that has one (docs/cli.md)",
      place.size);
}

void ProcessGroup::sum(const std::vector<at::Tensor>&) {}
void ProcessGroup::take_from_first(const std::vector<at::Tensor>&) {}

#endif

ProcessGroup::~ProcessGroup() = default;

double ProcessGroup::sum(double value) {
  const at::Tensor single = at::full({1}, value, at::TensorOptions(at::kDouble).device(device_));
  sum({single});
  return single.item<double>();
}

}  // namespace lime
