// SPDX-License-Identifier: Apache-2.0
#include "core/program/launcher.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include "core/errors.h"
#include "core/threads/thread_pool.h"

namespace lime {
namespace {

constexpr int kMany = 1 << 20;

struct LauncherVariables {
  Launcher launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

constexpr LauncherVariables kLaunchers[] = {
    {Launcher::kTorchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {Launcher::kOpenMpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {Launcher::kMvapich, "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE"},
    {Launcher::kPmi, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {Launcher::kSlurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""}};

const LauncherVariables& variables_of(Launcher launcher) {
  return *std::ranges::find_if(kLaunchers,
                               [&](const auto& entry) { return entry.launcher == launcher; });
}

/// The number in a variable, or `missing`.
int number_or(const EnvironmentFn& variable, const char* name, int missing, int most) {
  const auto text = variable(name);
  return text ? environment_number(name, *text, 0, most) : missing;
}

/// Returns the tasks of a Slurm step here, an entry of a list like "4(x2),1"; 0 if unknown.
int slurm_tasks_here(const EnvironmentFn& variable) {
  int machine = number_or(variable, "SLURM_NODEID", 0, kMany);
  std::istringstream entries(variable("SLURM_STEP_TASKS_PER_NODE").value_or(""));
  for (std::string entry; std::getline(entries, entry, ',');) {
    int tasks = 0;
    int machines = 1;
    if (std::sscanf(entry.c_str(), "%d(x%d)", &tasks, &machines) < 1) return 0;
    if (machine < machines) return std::max(0, tasks);
    machine -= machines;
  }
  return 0;
}

/// Returns the CPUs that Slurm assigned to each of `processes`; `otherwise` outside of its jobs.
int slurm_processors(const EnvironmentFn& variable, int processes, int otherwise) {
  const int here = number_or(variable, "SLURM_CPUS_ON_NODE", 0, kMany);
  const int each = number_or(variable, "SLURM_CPUS_PER_TASK", 0, kMany);
  int given = otherwise;
  if (here > 0) given = std::min(given, std::max(1, here / std::max(1, processes)));
  return each > 0 ? std::min(given, each) : given;
}

/// The share of a task of a job array of Slurm; nothing outside of one.
std::optional<WorkShare> array_share(const EnvironmentFn& variable) {
  const auto id = variable("SLURM_ARRAY_TASK_ID");
  const auto count = variable("SLURM_ARRAY_TASK_COUNT");
  if (!id || !count) return std::nullopt;
  WorkShare share;
  share.count = environment_number("SLURM_ARRAY_TASK_COUNT", *count, 1, kMany);
  const int first = number_or(variable, "SLURM_ARRAY_TASK_MIN", 0, INT_MAX);
  const int step = std::max(1, number_or(variable, "SLURM_ARRAY_TASK_STEP", 1, INT_MAX));
  const int last =
      number_or(variable, "SLURM_ARRAY_TASK_MAX", first + (share.count - 1) * step, INT_MAX);
  const int number = environment_number("SLURM_ARRAY_TASK_ID", *id, first, last);
  throw_if((last - first) / step + 1 != share.count || (number - first) % step != 0,
           "SLURM_ARRAY_TASK_ID: the {} tasks of the array must be numbered without gaps to share "
           "work, got {} of {} to {}; pass --shard I/N",
           share.count, number, first, last);
  share.index = (number - first) / step;
  return share;
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

int environment_number(const char* name, const std::string& text, int least, int most) {
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  throw_if(parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || value < least ||
               value > most,
           "{}: must be a whole number from {} to {}, got '{}'", name, least, most, text);
  return value;
}

std::optional<LaunchPlace> launch_place(const EnvironmentFn& variable) {
  for (const LauncherVariables& names : kLaunchers) {
    const auto rank = variable(names.rank);
    const auto size = variable(names.size);
    if (!rank || !size) continue;
    LaunchPlace place{.launcher = names.launcher};
    place.size = environment_number(names.size, *size, 1, kMany);
    place.rank = environment_number(names.rank, *rank, 0, place.size - 1);
    if (place.size == 1) return std::nullopt;
    place.local_rank = number_or(variable, names.local_rank, 0, place.size - 1);
    place.local_size = names.launcher == Launcher::kSlurm
                           ? slurm_tasks_here(variable)
                           : number_or(variable, names.local_size, 0, place.size);
    return place;
  }
  return std::nullopt;
}

std::optional<LaunchedShare> launched_share(const EnvironmentFn& variable) {
  const std::optional<LaunchPlace> place = launch_place(variable);
  const std::optional<WorkShare> task = array_share(variable);
  LaunchedShare launched;
  if (task) launched = {*task, "SLURM_ARRAY_TASK_ID"};
  if (place) {
    const char* const rank = variables_of(place->launcher).rank;
    const WorkShare outer = launched.share;
    launched.share = {outer.index * place->size + place->rank, outer.count * place->size};
    launched.source += launched.source.empty() ? rank : std::string(" and ") + rank;
  }
  if (launched.share.is_whole()) return std::nullopt;
  return launched;
}

int threads_beside_neighbours(const EnvironmentFn& variable) {
  const std::optional<LaunchPlace> place = launch_place(variable);
  const int mine = slurm_processors(variable, place ? place->local_size : 1, available_threads());
  if (!place || place->local_size < 2) return mine;
  const auto all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (all < 1 || std::int64_t{mine} * place->local_size <= all) return mine;  // bound apart
  return std::max(1, std::min(mine, all / place->local_size));
}

}  // namespace lime
