// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <optional>
#include <string>

// Storage and retrieval of the provenance in figure files.

namespace lime {

/// Name of the attachment (PDF), text (PNG) and comment (SVG).
inline constexpr const char* kProvenanceName = "lime-provenance.json";

/// Replaces the time of day that Qt wrote into `pdf` with `date` ("2026-11-21T04:10:33Z"; empty:
/// the epoch), so that equal figures have identical bytes. Lengths, and so the offsets in the file,
/// are unchanged.
void fix_pdf_date(QByteArray& pdf, const std::string& date);
/// Returns the attachment's text.
std::optional<std::string> find_in_pdf(const QByteArray& pdf);

/// Inserts a comment after the first line of `svg`.
void add_svg_comment(QByteArray& svg, const std::string& text);
std::optional<std::string> find_in_svg(const QByteArray& svg);

}  // namespace lime
