// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/engine/capture_set.h"
#include "metrics/experts/expert_information.h"

namespace lime {

/// Groups of the tokens of a capture, with the names of the groups if there are few.
struct NamedGroups {
  TokenGroups groups = {};
  std::vector<std::string> names = {};  ///< [num_groups] of domains and classes, else empty
};

/// Returns the domain of each sequence: the lines of a file, one per sequence in their order.
/// @throws IoError, FormatError, InvalidArgument  if a line is blank or there are too few.
std::vector<std::string> read_domains(const std::filesystem::path& file);

/// Returns the divisions of the tokens that a capture has: domain (if there are `domains`), class
/// (of lime-capture --only), document (a sequence) and token (id). Those with one group are
/// omitted.
/// @throws InvalidArgument  if there are fewer domains than sequences.
std::vector<NamedGroups> token_groups(const ChosenCapture& capture,
                                      const std::vector<std::string>& domains);

}  // namespace lime
