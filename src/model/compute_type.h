// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.h"

namespace lime {

/// The arithmetic of a forward pass; `--dtype`.
enum class ComputeType { kFloat32, kFloat64, kBfloat16, kFloat16 };

template <>
struct EnumNames<ComputeType> {
  static constexpr std::array<std::pair<ComputeType, std::string_view>, 4> kNames = {
      {{ComputeType::kFloat32, "float32"},
       {ComputeType::kFloat64, "float64"},
       {ComputeType::kBfloat16, "bfloat16"},
       {ComputeType::kFloat16, "float16"}}};
};

c10::ScalarType scalar_type(ComputeType type);

/// The device that `--device` names.
///
/// @param name  "auto" (the first GPU where this LibTorch has one, else the processor), "cpu",
///              "cuda" or "cuda:1".
/// @param neighbour  number of this process among those of its machine that were started with it:
///                   where the name leaves the GPU open, each takes one of those it sees in turn.
/// @throws InvalidArgument  if the name is none of these, or names a GPU that is not there.
c10::Device parse_device(const std::string& name, int neighbour = 0);

/// The devices that `--device` names for one model: as parse_device(), or several, each "cuda:N"
/// (or each "cpu", to try a plan where there are no GPUs), with commas between them.
/// @throws InvalidArgument  also for a GPU that stands twice, and for GPUs beside the processor.
std::vector<c10::Device> parse_devices(const std::string& names, int neighbour = 0);

/// "cuda:0,cuda:1".
std::string devices_text(const std::vector<c10::Device>& devices);

/// @throws InvalidArgument  if nothing can share its layers among them: none, or several kinds.
void check_devices(const std::vector<c10::Device>& devices);

/// @throws InvalidArgument  if this LibTorch multiplies no matrices of the type on the device, as
///         some versions no float16 on the CPU.
void check_computes(ComputeType type, c10::Device device);

/// Sets the number of threads of all decoders of this process; `--threads`. LibTorch's own default
/// is half the processors on some machines.
/// @param num_threads  in [1, kMaxThreads], or 0 for all processors that this process may run on.
/// @throws IoError  if the system does not start so many.
void use_threads(int num_threads);

}  // namespace lime
