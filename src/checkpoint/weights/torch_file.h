// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/weights/tensor_view.h"

namespace lime {

/// Lists the tensors of a state_dict() that torch.save wrote (`pytorch_model.bin`), since PyTorch
/// 1.6 (a ZIP archive) or before. Executes nothing (parse_pickle()) and touches no weights.
/// @param file  outlives the tensors.
/// @throws FormatError  if the file is broken or contains anything but tensors, or one is not
/// row-major, does not fit its storage or is big-endian.
std::vector<TensorView> parse_torch_file(std::span<const std::byte> file, std::string_view where);

}  // namespace lime
