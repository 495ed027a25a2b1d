// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace lime {

/// Where a process stands among those that train together, and where they meet.
struct ProcessPlace {
  int rank = 0;        ///< from 0
  int size = 1;        ///< number of processes
  int local_rank = 0;  ///< among those of this machine: the GPU to use
  std::string address;
  std::uint16_t port = 0;
  /// Somebody else (torchrun) keeps the meeting place; else the process of rank 0 does.
  bool has_keeper = false;
};

/// The value of an environment variable; nothing where it is not set.
using EnvironmentFn = std::function<std::optional<std::string>(const char* name)>;

/// That of this process.
std::optional<std::string> environment_variable(const char* name);

/// Reads the place from what the program that started this one left in the environment:
///
///   torchrun           RANK, WORLD_SIZE, LOCAL_RANK
///   srun               SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID
///   mpirun (Open MPI)  OMPI_COMM_WORLD_RANK, ..._SIZE, ..._LOCAL_RANK
///   mpirun (MPICH)     PMI_RANK, PMI_SIZE, MPI_LOCALRANKID
///
/// MASTER_ADDR and MASTER_PORT say where the process of rank 0 can be reached; without them srun's
/// first node, else this machine, and port 29500 (with srun one that follows from the job's
/// number).
/// @return nothing where there is one process only
/// @throws InvalidArgument  if a variable holds no number, or the rank is not below the size.
std::optional<ProcessPlace> process_place(const EnvironmentFn& variable = environment_variable);

}  // namespace lime
