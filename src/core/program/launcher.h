// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/threads/work_share.h"

namespace lime {

/// The value of an environment variable; nothing where it is not set.
using EnvironmentFn = std::function<std::optional<std::string>(const char* name)>;

/// That of this process.
std::optional<std::string> environment_variable(const char* name);

/// The whole number in a variable, `least` to `most`. @throws InvalidArgument  that names it.
int environment_number(const char* name, const std::string& text, int least, int most);

enum class Launcher { kTorchrun, kOpenMpi, kMvapich, kPmi, kSlurm };

/// Where a process stands among those that a launcher started with it.
struct LaunchPlace {
  Launcher launcher = Launcher::kTorchrun;
  int rank = 0;        ///< from 0
  int size = 1;        ///< number of processes
  int local_rank = 0;  ///< among those of this machine: the GPU to use
  int local_size = 0;  ///< number of those of this machine; 0 where unknown
};

/// Reads the place from what the launcher left in the environment. The first that is there counts:
///
///   torchrun             RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
///   mpirun (Open MPI)    OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
///   mpirun (MVAPICH2)    MV2_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
///   mpirun (MPICH, PMI)  PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS
///   srun                 SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID,
///                        SLURM_STEP_TASKS_PER_NODE
///
/// Slurm comes last, because inside of a job the others start their daemons with srun, whose
/// variables the processes inherit. SLURM_NTASKS is not read: Slurm sets it in the batch script
/// too, which runs once however many tasks the job has.
/// @return nothing where there is one process only
/// @throws InvalidArgument  if a variable holds no number, or the rank is not below the size.
std::optional<LaunchPlace> launch_place(const EnvironmentFn& variable = environment_variable);

struct LaunchedShare {
  WorkShare share;
  std::string source;  ///< e.g. "SLURM_PROCID"
};

/// The share of this process and the variable that says so, for work whose processes do not talk
/// to each other: as launch_place(), and of a job array of Slurm each task has the share
/// (SLURM_ARRAY_TASK_ID - _MIN) / _STEP of SLURM_ARRAY_TASK_COUNT; where a task starts several
/// processes, they share the task's share.
/// @return nothing where there is one process only
/// @throws InvalidArgument  as launch_place(); if the numbers of an array have gaps.
std::optional<LaunchedShare> launched_share(const EnvironmentFn& variable = environment_variable);

/// Threads for a process that was not told how many: all processors that it may run on, or where
/// its neighbours on this machine may run on the same ones, its part of them. In a job of Slurm no
/// more than SLURM_CPUS_PER_TASK, nor than its part of SLURM_CPUS_ON_NODE: many clusters bind
/// nobody.
int threads_beside_neighbours(const EnvironmentFn& variable = environment_variable);

}  // namespace lime
