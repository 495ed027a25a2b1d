// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/json.h"

namespace lime {

/// Returns a text for HTML, without control characters.
std::string html_text(const std::string& text);

/// Returns figure_hover() as an element that browsers do not show or run.
std::string report_data(const Json& hover);

/// Returns the HTML page of a report. Its script, which is ours, shows the values under the
/// pointer, zooms figures and hides series; without scripts the page can be read as it is. Its
/// content security policy permits this script and style only: the page loads nothing.
/// @param title     plain text
/// @param contents  HTML: the items of the list of figures
/// @param body      HTML: the figures
std::string report_page(const std::string& title, const std::string& contents,
                        const std::string& body);

}  // namespace lime
