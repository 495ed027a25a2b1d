// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lime {

/// A scatter plot of points with a class each.
struct ScatterPanel {
  std::vector<float> x;
  std::vector<float> y;
  std::vector<int> classes;  ///< index into `class_names`
  std::vector<std::string> class_names;
};

}  // namespace lime
