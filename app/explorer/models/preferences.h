// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/errors.h"
#include "core/options.h"
#include "core/threads/threads.h"

namespace lime::explorer {

enum class ThemeChoice { kDesktop, kLight, kDark };
constexpr auto names_of(ThemeChoice) {
  using enum ThemeChoice;
  return enum_table<ThemeChoice>({{kDesktop, "desktop"}, {kLight, "light"}, {kDark, "dark"}});
}

/// The settings of the user for all sessions.
struct Preferences {
  ThemeChoice theme = ThemeChoice::kDesktop;
  /// Size of the text in plots, pt.
  double plot_font_size = 9.0;
  /// Displayed number of the first layer: 0, or 1 as in papers.
  int layer_base = 0;
  /// Threads of analyses, >= 0; 0: all CPUs.
  int threads = 0;
  /// Opens the documents of the last session at the start.
  bool restore_session = true;

  void describe(OptionList& list) {
    list.add("theme", theme, "light, dark, or the theme of the desktop");
    list.add("plot_font_size", plot_font_size, "size of the text in plots, pt");
    list.add("layer_base", layer_base, "number of the first layer: 0, or 1 as in papers");
    list.add("threads", threads, "threads of analyses; 0: all CPUs");
    list.add("restore_session", restore_session,
             "open the documents of the last session at the start");
  }
  /// @throws InvalidArgument
  void validate() const {
    throw_if(!(plot_font_size >= 5.0 && plot_font_size <= 30.0), OptionName("plot_font_size"),
             "must be in [5, 30], got {}", plot_font_size);
    throw_if(layer_base != 0 && layer_base != 1, OptionName("layer_base"), "must be 0 or 1, got {}",
             layer_base);
    check_threads(threads);
  }
};

}  // namespace lime::explorer
