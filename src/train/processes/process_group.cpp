// SPDX-License-Identifier: Apache-2.0
#include "train/processes/process_group.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

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

using Clock = std::chrono::steady_clock;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

/// Maximum wait after the user has requested a stop: the others may be in the middle of a step.
constexpr std::chrono::seconds kLastAnswer{20};

/// Deadline for the processes to connect. LibTorch's own waits ignore signals, so waits for a
/// process that may never connect are implemented here.
struct Rendezvous {
  const ProcessPlace& place;
  std::stop_token stop;
  std::chrono::seconds timeout;
  Clock::time_point start = Clock::now();

  /// Waits briefly for the process `missing`. @throws Interrupted, IoError
  void wait_for(int missing) const {
    throw_if<Interrupted>(stop.stop_requested(),
                          "processes: stopped while waiting for process {} of {} at {}:{}", missing,
                          place.size, place.address, place.port);
    throw_if<IoError>(
        Clock::now() - start > timeout,
        "processes: process {} of {} did not connect to {}:{} within {} s; start all of them, or "
        "wait longer with --rendezvous-timeout",
        missing, place.size, place.address, place.port, timeout.count());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
};

/// Connects to the store of rank 0 or torchrun.
StorePtr connect_to_store(const Rendezvous& rendezvous) {
  const ProcessPlace& place = rendezvous.place;
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.has_external_store;
  options.waitWorkers = false;
  // LibTorch logs a line for every failed attempt.
  while (!options.isServer && !is_listening(place.address, place.port)) rendezvous.wait_for(0);
  return c10::make_intrusive<c10d::TCPStore>(place.address, options);
}

/// Returns the store for exchanging addresses, once all processes are connected.
StorePtr rendezvous_store(const Rendezvous& rendezvous) {
  const StorePtr store =
      c10::make_intrusive<c10d::PrefixStore>("lime", connect_to_store(rendezvous));
  const auto sign_of = [](int rank) { return "here/" + std::to_string(rank); };
  store->set(sign_of(rendezvous.place.rank), std::vector<std::uint8_t>{1});
  for (int rank = 0; rank < rendezvous.place.size; ++rank) {
    while (!store->check({sign_of(rank)})) rendezvous.wait_for(rank);
  }
  return store;
}

#if defined(LIME_HAS_GLOO)
bool is_this_machine(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

c10::intrusive_ptr<GroupBase> make_gloo(const Rendezvous& rendezvous) {
  const ProcessPlace& place = rendezvous.place;
  const auto options = c10d::ProcessGroupGloo::Options::create();
  if (const auto interface = environment_variable("GLOO_SOCKET_IFNAME")) {
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForInterface(*interface));
  } else if (is_this_machine(place.address)) {
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(place.address));
  } else {
    options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  }
  return c10::make_intrusive<c10d::ProcessGroupGloo>(rendezvous_store(rendezvous), place.rank,
                                                     place.size, options);
}
#endif

c10::intrusive_ptr<GroupBase> make_group([[maybe_unused]] const Rendezvous& rendezvous,
                                         [[maybe_unused]] c10::Device device) {
#if defined(LIME_HAS_NCCL)
  if (device.is_cuda()) {
    return c10::make_intrusive<c10d::ProcessGroupNCCL>(
        rendezvous_store(rendezvous), rendezvous.place.rank, rendezvous.place.size);
  }
#endif
#if defined(LIME_HAS_GLOO)
  return make_gloo(rendezvous);
#elif defined(LIME_HAS_MPI)
  return c10d::ProcessGroupMPI::createProcessGroupMPI();
#else
  throw InvalidArgument(
      "processes: this LibTorch connects processes with NCCL only, which needs --device cuda, got "
      "{} processes on the CPU",
      rendezvous.place.size);
#endif
}

/// Runs a communication call and translates its errors; after a stop request, they mean that the
/// others have stopped too.
template <typename Call>
void communicate(const ProcessPlace& place, const std::stop_token& stop, const Call& call) {
  try {
    call();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw_if<Interrupted>(stop.stop_requested(),
                          "processes: stopped, because others of the {} processes have exited",
                          place.size);
    const std::string_view what = error.what();
    throw IoError("processes: process {} of {} cannot reach the others at {}:{}: {}", place.rank,
                  place.size, place.address, place.port, what.substr(0, what.find('\n')));
  }
}

}  // namespace

struct ProcessGroup::Impl {
  ~Impl() {
    // Its destructor would wait for the answer, so it is leaked until the process exits.
    if (is_abandoned) group.release();
  }

  /// Waits for a collective operation, at most kLastAnswer once `stop` is requested.
  template <typename WorkPtr> void finish(const WorkPtr& work, const std::stop_token& stop) {
    std::optional<Clock::time_point> stopped_at;
    std::chrono::microseconds pause(10);
    while (!work->isCompleted()) {
      if (stop.stop_requested()) {
        if (!stopped_at) stopped_at = Clock::now();
        if (Clock::now() - *stopped_at > kLastAnswer) {
          is_abandoned = true;
          throw Interrupted("processes: stopped, the others have not responded for {} s",
                            kLastAnswer.count());
        }
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::microseconds(1000));
    }
    work->wait();
  }

  c10::intrusive_ptr<GroupBase> group;
  bool is_abandoned = false;
};

ProcessGroup::ProcessGroup(const ProcessPlace& place, c10::Device device, std::stop_token stop,
                           std::chrono::seconds timeout)
    : place_(place), device_(device), stop_(std::move(stop)), impl_(std::make_unique<Impl>()) {
  communicate(place_, stop_, [&] {
    const Rendezvous rendezvous = {.place = place_, .stop = stop_, .timeout = timeout};
    impl_->group = make_group(rendezvous, device_);
  });
}

void ProcessGroup::sum(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  // One message, not one per tensor.
  std::vector<at::Tensor> flat;
  for (const at::Tensor& tensor : tensors) flat.push_back(tensor.flatten());
  std::vector<at::Tensor> all = {at::cat(flat)};
  communicate(place_, stop_, [&] { impl_->finish(impl_->group->allreduce(all), stop_); });
  std::int64_t first = 0;
  for (const at::Tensor& tensor : tensors) {
    at::Tensor(tensor).copy_(all[0].narrow(0, first, tensor.numel()).view(tensor.sizes()));
    first += tensor.numel();
  }
}

void ProcessGroup::broadcast(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& tensor : tensors) {
    std::vector<at::Tensor> dense = {tensor.detach().contiguous()};
    communicate(place_, stop_, [&] { impl_->finish(impl_->group->broadcast(dense), stop_); });
    tensor.detach().copy_(dense[0]);
  }
}

#else

struct ProcessGroup::Impl {};

ProcessGroup::ProcessGroup(const ProcessPlace& place, c10::Device device, std::stop_token,
                           std::chrono::seconds)
    : place_(place), device_(device) {
  throw InvalidArgument(
      "processes: this build's LibTorch has no distributed back end (NCCL, Gloo or MPI), got {} "
      "processes; start one, or build with a LibTorch that has one (docs/training.md)",
      place.size);
}

void ProcessGroup::sum(const std::vector<at::Tensor>&) {}
void ProcessGroup::broadcast(const std::vector<at::Tensor>&) {}

#endif

ProcessGroup::~ProcessGroup() = default;

double ProcessGroup::sum(double value) {
  const at::Tensor single = at::full({1}, value, at::TensorOptions(at::kDouble).device(device_));
  sum({single});
  return single.item<double>();
}

namespace {

constexpr int kMilliseconds = 1000;

bool accepts(const addrinfo& address) {
  const int connection =
      ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection < 0) return false;
  bool is_connected = ::connect(connection, address.ai_addr, address.ai_addrlen) == 0;
  if (!is_connected && errno == EINPROGRESS) {
    pollfd waiting = {.fd = connection, .events = POLLOUT, .revents = 0};
    int error = 0;
    socklen_t size = sizeof(error);
    is_connected = ::poll(&waiting, 1, kMilliseconds) == 1 &&
                   ::getsockopt(connection, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  ::close(connection);
  return is_connected;
}

constexpr int kDefaultPort = 29500;

/// Returns the first of Slurm's nodes: "gpu[07-09,12],x1" begins with gpu07.
std::string first_node(const std::string& nodes) {
  const std::size_t bracket = nodes.find('[');
  const std::size_t comma = nodes.find(',');
  if (bracket == std::string::npos || comma < bracket) return nodes.substr(0, comma);
  const std::size_t end = nodes.find_first_of("-,]", bracket);
  return nodes.substr(0, bracket) + nodes.substr(bracket + 1, end - bracket - 1);
}

}  // namespace

bool is_listening(const std::string& address, std::uint16_t port) {
  addrinfo requested{};
  requested.ai_family = AF_UNSPEC;
  requested.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &requested, &found) != 0) {
    return false;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* item = found; item != nullptr; item = item->ai_next) {
    if (accepts(*item)) return true;
  }
  return false;
}

std::optional<ProcessPlace> process_place(const EnvironmentFn& variable) {
  const std::optional<LaunchPlace> launched = launch_place(variable);
  if (!launched) return std::nullopt;
  ProcessPlace place;
  place.rank = launched->rank;
  place.size = launched->size;
  place.local_rank = launched->local_rank;
  int port = kDefaultPort;
  place.address = "127.0.0.1";
  if (launched->launcher == Launcher::kSlurm) {
    place.address = first_node(variable("SLURM_STEP_NODELIST").value_or(place.address));
    const std::string job = variable("SLURM_JOB_ID").value_or("0");
    port = 15000 + environment_number("SLURM_JOB_ID", job, 0, 2000000000) % 20000;
  }
  place.address = variable("MASTER_ADDR").value_or(place.address);
  if (const auto given = variable("MASTER_PORT")) {
    port = environment_number("MASTER_PORT", *given, 1, 65535);
  }
  place.port = static_cast<std::uint16_t>(port);
  place.has_external_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return place;
}

}  // namespace lime
