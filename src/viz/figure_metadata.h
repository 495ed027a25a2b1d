// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <optional>
#include <string>

// How provenance lies in a figure's file, and how it is found again.

namespace lime {

/// Name of the PDF's attachment, of the PNG's text and of the SVG's comment.
inline constexpr const char* kProvenanceName = "lime-provenance.json";

/// Puts `date` ("2026-11-21T04:10:33Z"; empty: the epoch) where Qt wrote the time of day into
/// `pdf`, so that equal figures have equal bytes. Lengths stay, and with them the file's offsets.
void fix_pdf_date(QByteArray& pdf, const std::string& date);
/// The attachment's text.
std::optional<std::string> find_in_pdf(const QByteArray& pdf);

/// Puts a comment behind the first line of `svg`.
void add_svg_comment(QByteArray& svg, const std::string& text);
std::optional<std::string> find_in_svg(const QByteArray& svg);

}  // namespace lime
