// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/unit_runner.h"

#include <malloc.h>

#include <cmath>
#include <condition_variable>

namespace lime {
namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr double kMebibyte = 1048576.0;

std::int64_t bytes_of(const Unit& unit, int threads) {
  return unit.bytes + unit.bytes_per_thread * threads;
}

/// Returns the unit's key without the label, e.g. "values, layer 3".
std::string note_of(const Unit& unit) {
  std::string note;
  for (const auto& [name, value] : unit.key.cells()) {
    if (name == col::kLabel.name) continue;
    note += note.empty() ? "" : ", ";
    note += (value.is_text() ? "" : name + " ") + cell_text(value);
  }
  return note;
}

void check_finite(const UnitResult& result) {
  for (const Samples& samples : result.samples) {
    for (std::size_t i = 0; i < samples.values.size(); ++i) {
      if (std::isfinite(samples.values[i])) continue;
      throw NumericalError("{} of item {} of the {} is not finite", samples.quantity, i,
                           samples.items);
    }
  }
  for (const NamedMatrix& matrix : result.matrices) {
    if (!matrix.values.allFinite()) throw NumericalError("{} is not finite", matrix.name);
  }
}

/// State shared by the threads of one run.
class Run {
 public:
  Run(std::span<const Unit* const> units, const UnitPlan& plan)
      : units_(units), plan_(plan), progress_(units.size()), stops_(units.size()) {
    for (const Unit* unit : units) total_work_ += std::max<std::int64_t>(1, unit->work);
    end_ = units.size();
    workers_running_ = plan.workers;
    start_threads(
        threads_, plan.workers, [this](int) { work(); }, [this] { stop(); });
  }

  ~Run() {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Waits a moment for finished units. @return false if all have been handed out.
  bool wait(std::vector<std::pair<std::size_t, UnitResult>>& finished) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kTick, [&] { return !finished_.empty() || workers_running_ == 0; });
    finished = std::exchange(finished_, {});
    return workers_running_ > 0 || !finished.empty();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stop_from(0);
  }

  void rethrow_failure() {
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

  Progress progress() {
    Progress progress{0, total_work_, ""};
    for (std::size_t i = 0; i < units_.size(); ++i) {
      progress.done += std::min(progress_[i].load(), units_[i]->work);
    }
    const std::lock_guard lock(mutex_);
    if (latest_ < units_.size()) progress.note = note_of(*units_[latest_]);
    return progress;
  }

 private:
  /// Skips or stops the units from `index` on; earlier units still run.
  void stop_from(std::size_t index) {
    end_ = std::min(end_, index);
    for (std::size_t i = index; i < stops_.size(); ++i) stops_[i].request_stop();
    room_.notify_all();
  }

  /// The next unit, when there is memory for it; the number of units if there is none.
  std::size_t take() {
    std::unique_lock lock(mutex_);
    const auto fits = [&] {
      return next_ >= end_ || bytes_in_use_ == 0 ||
             bytes_in_use_ + bytes_of(*units_[next_], plan_.threads_inside) <= plan_.memory;
    };
    // Another thread may take the unit that this one waits with.
    room_.wait(lock, fits);
    if (next_ >= end_) return units_.size();
    bytes_in_use_ += bytes_of(*units_[next_], plan_.threads_inside);
    latest_ = next_;
    return next_++;
  }

  void work() {
    set_library_threads(1);
    try {
      measure_units();
    } catch (...) {
      fail(0, std::current_exception());  // no unit's fault: its threads cannot be started
    }
    const std::lock_guard lock(mutex_);
    --workers_running_;
    changed_.notify_all();
  }

  void measure_units() {
    ThreadPool pool(plan_.threads_inside);
    for (std::size_t index = take(); index < units_.size(); index = take()) {
      measure(index, pool);
      const std::lock_guard lock(mutex_);
      bytes_in_use_ -= bytes_of(*units_[index], plan_.threads_inside);
      room_.notify_all();
    }
  }

  void measure(std::size_t index, ThreadPool& pool) {
    const Unit& unit = *units_[index];
    const auto on_progress = [&](const Progress& progress) { progress_[index] = progress.done; };
    try {
      UnitResult result = unit.measure({pool, on_progress, stops_[index].get_token()});
      check_finite(result);
      progress_[index] = unit.work;
      const std::lock_guard lock(mutex_);
      finished_.emplace_back(index, std::move(result));
      changed_.notify_all();
    } catch (const Interrupted&) {
      // The caller requested the stop and needs no error.
    } catch (const InvalidArgument& error) {
      fail(index, std::make_exception_ptr(prefixed(unit.where, error)));
    } catch (const NumericalError& error) {
      fail(index, std::make_exception_ptr(prefixed(unit.where, error)));
    } catch (...) {
      fail(index, std::current_exception());
    }
  }

  void fail(std::size_t index, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (failed_index_ <= index) return;
    failed_index_ = index;
    failure_ = std::move(failure);
    stop_from(index);
  }

  std::span<const Unit* const> units_;
  const UnitPlan plan_;
  std::vector<std::atomic<std::int64_t>> progress_;
  std::vector<std::stop_source> stops_;
  std::int64_t total_work_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable room_;
  std::vector<std::pair<std::size_t, UnitResult>> finished_;
  std::size_t next_ = 0;
  std::size_t end_ = 0;
  std::size_t latest_ = SIZE_MAX;
  std::int64_t bytes_in_use_ = 0;
  int workers_running_ = 0;
  std::size_t failed_index_ = SIZE_MAX;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

/// Gives memory that units have freed back to the system. glibc keeps it, in another place for each
/// unit: 30 layers of 50 MB took 1.4 GB.
void release_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

UnitPlan plan_units(std::span<const Unit* const> units, UnitThreads kind, int threads,
                    std::optional<ByteSize> memory_limit) {
  UnitPlan plan;
  const std::int64_t held = resident_memory();
  plan.memory = memory_limit ? memory_limit->bytes - held : available_memory();
  const bool inside = kind == UnitThreads::kInside;
  const auto num_units = static_cast<int>(std::clamp<std::size_t>(units.size(), 1, 1 << 16));
  plan.workers = inside ? 1 : std::min(threads, num_units);
  plan.threads_inside = threads / plan.workers;
  const auto fits = [&](const Unit* unit) {
    return bytes_of(*unit, plan.threads_inside) <= plan.memory;
  };
  while (plan.threads_inside > 1 && !std::ranges::all_of(units, fits)) --plan.threads_inside;
  const auto too_large =
      units.size() - static_cast<std::size_t>(std::ranges::count_if(units, fits));
  if (too_large == 0) return plan;
  const Unit& largest =
      **std::ranges::max_element(units, {}, [](const Unit* unit) { return bytes_of(*unit, 1); });
  const auto need = static_cast<double>(bytes_of(largest, 1));
  throw_if(
      !memory_limit,
      "memory: {} needs {}, but only {} is free; use fewer rows, or set --memory-limit to run it "
      "anyway",
      largest.where, human_bytes(need), human_bytes(static_cast<double>(plan.memory)));
  throw InvalidArgument(OptionName("memory_limit"),
                        "{} of {} units need{} more than {}, the largest is {} with {}; set "
                        "--memory-limit to {:.0f}MiB or more",
                        too_large, units.size(), too_large == 1 ? "s" : "",
                        memory_limit->to_string(), largest.where, human_bytes(need),
                        std::ceil((need * 1.05 + static_cast<double>(held)) / kMebibyte));
}

std::int64_t peak_memory(std::span<const Unit* const> units, const UnitPlan& plan) {
  const auto workers = static_cast<std::size_t>(plan.workers);
  std::int64_t together = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    together += bytes_of(*units[i], plan.threads_inside);
    if (i >= workers) together -= bytes_of(*units[i - workers], plan.threads_inside);
    most = std::max(most, together);
  }
  return std::min(most, plan.memory);
}

void run_units(std::span<const Unit* const> units, const UnitPlan& plan,
               const std::function<void(std::size_t, UnitResult)>& on_finished,
               const ProgressFn& on_progress, const std::stop_token& stop) {
  throw_if_stopped(stop);
  if (units.empty()) return;
  Run run(units, plan);
  std::vector<std::pair<std::size_t, UnitResult>> finished;
  std::size_t num_finished = 0;
  while (run.wait(finished)) {
    if (stop.stop_requested()) run.stop();
    for (auto& [index, result] : finished) {
      on_finished(index, std::move(result));
      ++num_finished;
    }
    if (!finished.empty()) release_freed_memory();
    if (on_progress) on_progress(run.progress());
  }
  run.rethrow_failure();
  if (num_finished < units.size()) throw Interrupted("stopped on request");
}

}  // namespace lime
