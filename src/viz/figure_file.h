// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QSize>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime {

/// Writes `figure` as .pdf, .svg or .png, its numbers as .csv, or a pgfplots figure as .tex.
///
/// `provenance` is embedded: as a PDF attachment, PNG text or SVG comment. Equal input gives
/// identical bytes: dates come from provenance["created_utc"] if present. The file is written
/// atomically. Needs a QApplication, except for .csv and .tex.
/// @throws InvalidArgument  if the extension is none of these, or the style is invalid.
/// @throws IoError
void write_figure(const std::filesystem::path& path, const Figure& figure, const FigureStyle& style,
                  const Json& provenance);

/// Returns the figure that is drawn: the selected panels, in columns that fit.
/// @throws InvalidArgument  if the style is invalid, or a panel does not exist.
Figure drawn_figure(const Figure& figure, const FigureStyle& style);

/// Returns the figure as an SVG element for HTML, without provenance. Needs a QApplication.
std::string figure_to_svg(const Figure& figure, const FigureStyle& style);

/// Returns the figure as an image that fits `room`, with the exported layout. Needs a QApplication.
QImage preview_figure(const Figure& figure, const FigureStyle& style, const QSize& room);

/// Returns `provenance` without paths, commands, users and machines: versions, hashes of the
/// results, metrics and options remain.
Json anonymous_provenance(const Json& provenance);

/// Reads the provenance that write_figure() stored in a PDF, SVG or PNG.
/// @throws FormatError  if there is none. @throws IoError
Json read_figure_provenance(const std::filesystem::path& path);

/// Returns the numbers of `figure` in long form, after a header: panel, series, x, y, low, high.
std::vector<std::vector<std::string>> figure_table(const Figure& figure);
/// Returns them as CSV.
std::string figure_to_csv(const Figure& figure);

}  // namespace lime
