// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// Draws `figure` into a file, the kind of which its ending says: .pdf, .svg, .png; .csv has the
/// numbers that are drawn, .tex a pgfplots picture of them.
///
/// `provenance` goes into the file: a PDF's attachment, a PNG's text, an SVG's comment. Equal input
/// gives equal bytes: dates come from provenance["created_utc"] where that is given. The file
/// appears whole or not at all. Needs a QApplication, except for .csv and .tex.
/// @throws InvalidArgument  if the ending is none of these, or the style does not fit.
/// @throws IoError
void write_figure(const std::filesystem::path& path, const Figure& figure, const FigureStyle& style,
                  const Json& provenance);

/// What write_figure() stored in a PDF, SVG or PNG.
/// @throws FormatError  if there is none. @throws IoError
Json read_figure_provenance(const std::filesystem::path& path);

/// The numbers of `figure` in long form: panel, series, x, y, low, high or row, col, value.
std::string figure_to_csv(const Figure& figure);

/// A standalone LaTeX document that draws `figure` with pgfplots.
std::string figure_to_pgfplots(const Figure& figure, const FigureStyle& style);

}  // namespace lime
