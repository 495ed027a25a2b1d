// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// Returns the sites of a capture whose rows are representations, see is_representation().
std::vector<std::string> representationsOf(const CaptureReader& capture);

/// Returns whether a capture contains every token of its sequences.
bool hasWholeSequences(const CaptureReader& capture);

}  // namespace lime::explorer
