// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace lime::testing {

/// Runs `work` in a child process and waits for it.
/// @return its exit status: 0 if `work` returned, 3 if it threw (the text is printed), 128 + signal
///         if it was killed.
int run_in_child(const std::function<void()>& work);

/// Runs several at the same time; the sum of what run_in_child() would return.
int run_in_children(const std::vector<std::function<void()>>& works);

}  // namespace lime::testing
