// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "core/options.h"
#include "viz/figure_style.h"
#include "viz/recipes/recipe.h"

namespace lime {

/// Results and the options of their figures, which all commands share.
struct FigureRequest {
  std::vector<std::filesystem::path> results;
  FigureOptions figure;
  FigureStyle style;

  void describe(OptionList& options);
  void validate() const;
};

/// Throws InvalidArgument if `options` select a kind, for commands that draw every kind.
void check_kind_is_unset(const FigureOptions& options, const char* command);

}  // namespace lime
