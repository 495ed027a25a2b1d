// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/figure_or_message.h"

#include <string_view>

#include "core/errors.h"
#include "explorer/models/text.h"

namespace lime::explorer {

FigureOrMessage figureOrMessage(std::span<const FigureSource> sources,
                                const FigureOptions& options) {
  if (sources.empty()) return {};
  try {
    return {.figure = make_figure(sources, options)};
  } catch (const NothingToShow&) {
    return {};
  } catch (const Error& error) {
    return {.message = toQString(error)};
  }
}

}  // namespace lime::explorer
