// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_metadata.h"

#include <QList>
#include <QRegularExpression>
#include <QtEndian>

namespace lime {
namespace {

/// Converts "2026-11-21T04:10:33Z" to "D:20261121041033Z".
QByteArray pdf_date(const std::string& date) {
  QByteArray digits;
  for (const char letter : date) {
    if (letter >= '0' && letter <= '9') digits.append(letter);
  }
  digits.resize(14, '0');
  if (date.empty()) digits = "19700101000000";
  return "D:" + digits + "Z";
}

/// Decompresses zlib data. Qt expects the length in front, a hint that may be wrong.
QByteArray inflate(const QByteArray& data) {
  QByteArray framed(4, '\0');
  qToBigEndian<quint32>(1 << 16, framed.data());
  return qUncompress(framed + data);
}

}  // namespace

void fix_pdf_date(QByteArray& pdf, const std::string& date) {
  const QByteArray key = "/CreationDate (";
  const qsizetype start = pdf.indexOf(key);
  if (start < 0) return;
  const qsizetype from = start + key.size();
  const qsizetype end = pdf.indexOf(')', from);
  if (end < 0) return;
  QByteArray text = pdf_date(date);
  // Spaces may separate the text from what follows, but not occur inside it.
  text.append(')');
  pdf.replace(from, end + 1 - from, text.leftJustified(end + 1 - from, ' ', true));
}

std::optional<std::string> find_in_pdf(const QByteArray& pdf) {
  // "/F (lime-provenance.json) /EF <</F 21 0 R>>": object 21 is the stream.
  const QRegularExpression reference(
      QStringLiteral("/F \\(lime-provenance\\.json\\)\\s*/EF\\s*<</F (\\d+) 0 R>>"));
  const QRegularExpressionMatch match = reference.match(QString::fromLatin1(pdf));
  if (!match.hasMatch()) return std::nullopt;
  const qsizetype object = pdf.indexOf("\n" + match.captured(1).toLatin1() + " 0 obj");
  const qsizetype stream = pdf.indexOf("stream\n", object);
  const qsizetype end = pdf.indexOf("endstream", stream);
  if (object < 0 || stream < 0 || end < 0) return std::nullopt;
  const QByteArray data = pdf.mid(stream + 7, end - stream - 7);
  const bool is_packed = pdf.mid(object, stream - object).contains("FlateDecode");
  const QByteArray text = is_packed ? inflate(data) : data.trimmed();
  if (text.isEmpty()) return std::nullopt;
  return text.toStdString();
}

void add_svg_comment(QByteArray& svg, const std::string& text) {
  // "--" is forbidden inside a comment; JSON can escape it.
  QByteArray safe = QByteArray::fromStdString(text);
  safe.replace("--", "-\\u002d");
  const qsizetype line = svg.indexOf('\n');
  svg.insert(line + 1, QByteArray("<!-- ") + kProvenanceName + ": " + safe + " -->\n");
}

std::optional<std::string> find_in_svg(const QByteArray& svg) {
  const QByteArray key = QByteArray("<!-- ") + kProvenanceName + ": ";
  const qsizetype start = svg.indexOf(key);
  const qsizetype end = svg.indexOf(" -->", start);
  if (start < 0 || end < 0) return std::nullopt;
  return svg.mid(start + key.size(), end - start - key.size()).toStdString();
}

}  // namespace lime
