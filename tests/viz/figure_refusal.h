// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/errors.h"
#include "support/refusal.h"
#include "viz/recipes/recipe.h"

namespace lime::testing {

/// Returns the error of make_figure() for `options` of `sources`; empty on success.
inline std::string figure_refusal(const std::vector<FigureSource>& sources,
                                  const FigureOptions& options = {}) {
  return refusal_of<InvalidArgument>([&] { make_figure(sources, options); });
}

}  // namespace lime::testing
