// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/launcher.h"

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

/// Reads the place from what the program that started this one left in the environment, as
/// launch_place(). Tasks of a job array are runs of their own.
///
/// MASTER_ADDR and MASTER_PORT say where the process of rank 0 can be reached; without them srun's
/// first node, else this machine, and port 29500 (with srun one that follows from the job's
/// number).
/// @return nothing where there is one process only
/// @throws InvalidArgument  if a variable holds no number, or the rank is not below the size.
std::optional<ProcessPlace> process_place(const EnvironmentFn& variable = environment_variable);

}  // namespace lime
