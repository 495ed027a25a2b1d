// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "core/threads/threads.h"

namespace lime::python {
namespace {

namespace nb = nanobind;

/// Interval between two checks for signals.
constexpr auto kSignalInterval = std::chrono::milliseconds(50);

/// Task that runs on its own thread.
class RunningWork {
 public:
  explicit RunningWork(const std::function<void(std::stop_token)>& work)
      : thread_(start_thread([&] {
          return std::jthread([this, &work](const std::stop_token& stop) { run(work, stop); });
        })) {}

  bool wait() {
    std::unique_lock lock(mutex_);
    return done_.wait_for(lock, kSignalInterval, [this] { return is_done_; });
  }
  void stop() { thread_.request_stop(); }
  void finish() {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run(const std::function<void(std::stop_token)>& work, const std::stop_token& stop) {
    set_library_threads(1);
    try {
      work(stop);
    } catch (...) {
      failure_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    done_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;
};

/// What threads other than the main one run.
std::mutex registry_mutex;
std::map<unsigned long, RunningWork*> registry;

/// Adds work to the registry as long as it exists.
class Registered {
 public:
  Registered(unsigned long thread, RunningWork& work) : thread_(thread) {
    const std::lock_guard lock(registry_mutex);
    registry[thread_] = &work;
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() {
    const std::lock_guard lock(registry_mutex);
    registry.erase(thread_);
  }

 private:
  unsigned long thread_;
};

unsigned long main_thread = 0;

}  // namespace

void request_stop(unsigned long thread) {
  const std::lock_guard lock(registry_mutex);
  const auto found = registry.find(thread);
  if (found != registry.end()) found->second->stop();
}

void bind_calls(nb::module_& module) {
  main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  module.def("request_stop", request_stop);
}

void run_interruptibly(const std::function<void(std::stop_token)>& work) {
  const unsigned long thread = PyThread_get_thread_ident();
  const nb::gil_scoped_release without_gil;
  RunningWork running(work);
  if (thread != main_thread) {
    const Registered registered(thread, running);
    while (!running.wait()) {
    }
    running.finish();
    return;
  }
  while (!running.wait()) {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) continue;
    nb::python_error raised;
    running.stop();
    {
      const nb::gil_scoped_release while_it_stops;
      while (!running.wait()) {
      }
    }
    throw raised;
  }
  running.finish();
}

}  // namespace lime::python
