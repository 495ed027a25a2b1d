// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>
#include <vector>

#include "core/options.h"

namespace lime {

/// Data type of a forward pass; `--dtype`.
enum class ComputeType { kFloat32, kFloat64, kBfloat16, kFloat16 };

constexpr auto names_of(ComputeType) {
  using enum ComputeType;
  return enum_table<ComputeType>({{kFloat32, "float32"},
                                  {kFloat64, "float64"},
                                  {kBfloat16, "bfloat16"},
                                  {kFloat16, "float16"}});
}

c10::ScalarType scalar_type(ComputeType type);

/// Returns the device named by `--device`.
///
/// @param name  "auto" (the first GPU if this LibTorch has one, else the CPU), "cpu", "cuda" or
///              "cuda:1".
/// @param neighbour  local rank: the index of this process among those started together on its
///                   machine. If the name leaves the GPU open, ranks are assigned to the visible
///                   GPUs in turn.
/// @throws InvalidArgument  if the name is none of these, or names a GPU that does not exist.
c10::Device parse_device(const std::string& name, int neighbour = 0);

/// Returns the devices named by `--device` for one model: as parse_device(), or a comma-separated
/// list of "cuda:N" (or of "cpu", to test a plan without GPUs).
/// @throws InvalidArgument  also for a repeated GPU, and for GPUs mixed with the CPU.
std::vector<c10::Device> parse_devices(const std::string& names, int neighbour = 0);

/// Joins the device names with commas: "cuda:0,cuda:1".
std::string devices_text(const std::vector<c10::Device>& devices);

/// Checks that layers can be split across the devices.
/// @throws InvalidArgument  if the list is empty or contains several device types.
void check_devices(const std::vector<c10::Device>& devices);

/// Checks that this LibTorch supports matrix products of the type on the device.
/// @throws InvalidArgument  if it does not; some versions lack float16 on the CPU.
void check_computes(ComputeType type, c10::Device device);

/// Sets the threads of all decoders of this process; LibTorch's default may be half the CPUs.
/// @param num_threads  in [1, kMaxThreads], or 0 for all CPUs that this process may run on.
/// @throws IoError  if the system does not start that many.
void use_threads(int num_threads);

}  // namespace lime
