// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/program/work_share.h"

namespace lime {

/// Returns the value of an environment variable; nothing if it is not set.
using EnvironmentFn = std::function<std::optional<std::string>(const char* name)>;

/// Returns a variable of this process's environment.
std::optional<std::string> environment_variable(const char* name);

/// Parses the integer in a variable, from `least` to `most`. @throws InvalidArgument that names it.
int environment_number(const char* name, const std::string& text, int least, int most);

enum class Launcher { kTorchrun, kOpenMpi, kMvapich, kPmi, kSlurm };

/// Describes a process's place among those that a launcher started.
struct LaunchPlace {
  Launcher launcher = Launcher::kTorchrun;
  int rank = 0;        ///< from 0
  int size = 1;        ///< number of processes
  int local_rank = 0;  ///< among those of this machine: the GPU to use
  int local_size = 0;  ///< number of those of this machine; 0 where unknown
};

/// Reads the place from the launcher's environment variables. The first set that exists counts:
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

/// Returns the share of this process and the variable that determines it, for work whose processes
/// do not communicate. It follows launch_place(); in a Slurm job array each task has the share
/// (SLURM_ARRAY_TASK_ID - _MIN) / _STEP of SLURM_ARRAY_TASK_COUNT. If a task starts several
/// processes, they split the task's share.
/// @return nothing where there is one process only
/// @throws InvalidArgument  as launch_place(); if the numbers of an array have gaps.
std::optional<LaunchedShare> launched_share(const EnvironmentFn& variable = environment_variable);

/// Returns the default number of threads of a process: all CPUs that it may run on, or its part of
/// them if other processes of the job on this machine may use the same ones. In a Slurm job at most
/// SLURM_CPUS_PER_TASK and its part of SLURM_CPUS_ON_NODE: many clusters do not bind processes.
int threads_beside_neighbours(const EnvironmentFn& variable = environment_variable);

}  // namespace lime
