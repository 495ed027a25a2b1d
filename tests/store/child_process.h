// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace lime::testing {

/// Runs `work` in a child process and waits for it.
/// @return its exit status: 0 if `work` returned, 3 if it threw (the text is printed), 128 + signal
///         if it was killed.
int run_in_child(const std::function<void()>& work);

/// Runs several functions concurrently; returns the sum of their run_in_child() values.
int run_in_children(const std::vector<std::function<void()>>& works);

}  // namespace lime::testing
