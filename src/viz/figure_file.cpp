// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_file.h"

#include <fmt/format.h>

#include <QBuffer>
#include <QImage>
#include <QPageSize>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSvgGenerator>
#include <QtEndian>
#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/files/input_file.h"
#include "core/utf8.h"
#include "viz/figure_scene.h"
#include "viz/plots/plot_theme.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Name of the attachment (PDF), text (PNG) and comment (SVG).
constexpr const char* kProvenanceName = "lime-provenance.json";

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

/// Replaces the time of day that Qt wrote into `pdf` with `date` (empty: the epoch), so that equal
/// figures have identical bytes. Lengths, and so the offsets in the file, are unchanged.
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

QByteArray draw_pdf(FigurePainter& painter, const Figure& figure, const Json& provenance) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  {
    QPdfWriter writer(&buffer);
    writer.setCreator("lime-figure");
    writer.setTitle(QString::fromStdString(figure.title.empty() ? figure.name : figure.title));
    writer.setResolution(static_cast<int>(kUnitsPerInch));
    writer.setPageSize(QPageSize(QSizeF(painter.size_units()) / kUnitsPerPoint, QPageSize::Point,
                                 QString(), QPageSize::ExactMatch));
    writer.setPageMargins(QMarginsF(0, 0, 0, 0));
    writer.addFileAttachment(kProvenanceName, QByteArray::fromStdString(provenance.dump(1)),
                             "application/json");
    painter.paint(writer, 1.0);
  }
  fix_pdf_date(bytes, provenance.value("created_utc", ""));
  return bytes;
}

QByteArray draw_svg(FigurePainter& painter, const Json& provenance) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setResolution(static_cast<int>(kUnitsPerInch));
  generator.setSize(painter.size_units());
  generator.setViewBox(QRect(QPoint(0, 0), painter.size_units()));
  painter.paint(generator, 1.0);
  add_svg_comment(bytes, provenance.dump());
  return bytes;
}

QByteArray draw_png(FigurePainter& painter, const FigureStyle& style, const Json& provenance) {
  const double scale = style.dpi / kUnitsPerInch;
  const QSize size = (QSizeF(painter.size_units()) * scale).toSize();
  QImage image(size, QImage::Format_RGB32);
  image.setDotsPerMeterX(static_cast<int>(std::lround(style.dpi / 0.0254)));
  image.setDotsPerMeterY(image.dotsPerMeterX());
  image.fill(Qt::white);
  painter.paint(image, scale);
  image.setText(kProvenanceName, QString::fromStdString(provenance.dump()));
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!image.save(&buffer, "PNG")) throw IoError("figure: cannot encode the PNG");
  return bytes;
}

/// Returns the figure that is drawn: the selected panels, in columns that fit.
Figure drawn_figure(const Figure& figure, const FigureStyle& style) {
  style.validate();
  Figure drawn = figure;
  if (!style.panel.empty()) {
    drawn.panels.clear();
    for (const int number : style.panel) {
      if (number < 1 || number > std::ssize(figure.panels)) {
        throw InvalidArgument("panel: the figure has panels 1 to {}, got {}", figure.panels.size(),
                              number);
      }
      drawn.panels.push_back(figure.panels[static_cast<std::size_t>(number - 1)]);
    }
    drawn.columns = std::min(drawn.columns, static_cast<int>(drawn.panels.size()));
    drawn.is_wide = drawn.is_wide && drawn.columns > 1;
  }
  if (style.no_note) drawn.note.clear();
  return with_fitting_columns(drawn, style);
}

/// Returns true for a name in provenance whose value names a person, a machine or a place.
bool is_personal(const std::string& key) {
  constexpr std::array kPersonal = {"path", "command", "commands", "documents", "host", "hostname",
                                    "user", "cwd",     "argv",     "machine",   "view", "git"};
  return std::ranges::any_of(kPersonal, [&](const char* name) { return key == name; });
}

std::string number(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

std::string at(const std::vector<double>& values, std::size_t index) {
  return index < values.size() ? number(values[index]) : "";
}

/// Writes the lines of one panel; `head` contains the first cells.
struct CsvLines {
  std::string& csv;
  const std::string& head;

  void add(const std::string& series, const std::string& x, const std::string& y,
           const std::string& low = "", const std::string& high = "") const {
    csv += fmt::format("{},{},{},{},{},{}\n", head, series, x, y, low, high);
  }

  void operator()(const CurvePanel& panel) const {
    for (const Curve& curve : panel.curves) {
      for (std::size_t i = 0; i < curve.x.size(); ++i) {
        add(csv_cell(curve.label), number(curve.x[i]), number(curve.y[i]), at(curve.low, i),
            at(curve.high, i));
      }
    }
    for (const ReferenceLine& line : panel.references) {
      add(csv_cell(line.label), "", number(line.y));
    }
  }

  void operator()(const HeatmapPanel& panel) const {
    for (Eigen::Index r = 0; r < panel.values.rows(); ++r) {
      for (Eigen::Index c = 0; c < panel.values.cols(); ++c) {
        if (!std::isfinite(panel.values(r, c))) continue;
        add(fmt::format("row {}", r), std::to_string(c), number(panel.values(r, c)));
      }
    }
  }

  void operator()(const ScatterPanel& panel) const {
    for (std::size_t i = 0; i < panel.x.size(); ++i) {
      const auto c = static_cast<std::size_t>(panel.classes[i]);
      add(c < panel.class_names.size() ? csv_cell(panel.class_names[c]) : "",
          fmt::to_string(panel.x[i]), fmt::to_string(panel.y[i]));
    }
  }

  void operator()(const BarPanel& panel) const {
    for (const BarPanel::Series& series : panel.series) {
      for (std::size_t g = 0; g < panel.groups.size(); ++g) {
        add(csv_cell(series.label), csv_cell(panel.groups[g]), number(series.values[g]),
            at(series.low, g), at(series.high, g));
      }
    }
  }

  void operator()(const TablePanel& panel) const {
    for (const auto& row : panel.rows) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        add(csv_cell(row.front()), csv_cell(panel.head[c]), csv_cell(row[c]));
      }
    }
  }
};

}  // namespace

void write_figure(const fs::path& path, const Figure& figure, const FigureStyle& style,
                  const Json& provenance) {
  const std::string kind = path.extension().string();
  if (kind != ".pdf" && kind != ".svg" && kind != ".png" && kind != ".csv" && kind != ".tex") {
    throw InvalidArgument("'{}': must end in .pdf, .svg, .png, .csv or .tex, got '{}'",
                          path.string(), kind);
  }
  const Figure drawn = drawn_figure(figure, style);
  if (kind == ".csv") return write_file_atomically(path, figure_to_csv(drawn));
  if (kind == ".tex") return write_file_atomically(path, figure_to_pgfplots(drawn, style));
  FigurePainter painter(drawn, style);
  const Json stored = style.anonymous ? anonymous_provenance(provenance) : provenance;
  const QByteArray bytes = kind == ".pdf"   ? draw_pdf(painter, drawn, stored)
                           : kind == ".svg" ? draw_svg(painter, stored)
                                            : draw_png(painter, style, stored);
  write_file_atomically(path, bytes.toStdString());
}

std::string figure_to_svg(const Figure& figure, const FigureStyle& style) {
  FigurePainter painter(drawn_figure(figure, style), style);
  const std::string svg = draw_svg(painter, Json::object()).toStdString();
  return svg.substr(svg.find("<svg"));
}

QImage preview_figure(const Figure& figure, const FigureStyle& style, const QSize& room) {
  FigurePainter painter(drawn_figure(figure, style), style);
  const QSize size = painter.size_units().scaled(room, Qt::KeepAspectRatio);
  QImage image(size, QImage::Format_RGB32);
  image.fill(Qt::white);
  painter.paint(image, static_cast<double>(size.width()) / painter.size_units().width());
  return image;
}

Json anonymous_provenance(const Json& provenance) {
  if (provenance.is_array()) {
    Json kept = Json::array();
    for (const Json& value : provenance) kept.push_back(anonymous_provenance(value));
    return kept;
  }
  if (provenance.is_string() &&
      provenance.get_ref<const std::string&>().find('/') != std::string::npos) {
    return "";
  }
  if (!provenance.is_object()) return provenance;
  Json kept = Json::object();
  for (const auto& [key, value] : provenance.items()) {
    if (!is_personal(key)) kept[key] = anonymous_provenance(value);
  }
  return kept;
}

Json read_figure_provenance(const fs::path& path) {
  const MappedFile file(path);
  const QByteArray bytes(file.text().data(), static_cast<qsizetype>(file.size()));
  std::optional<std::string> text;
  if (bytes.startsWith("%PDF")) {
    text = find_in_pdf(bytes);
  } else if (bytes.startsWith("\x89PNG")) {
    const QString stored = QImage::fromData(bytes, "PNG").text(kProvenanceName);
    if (!stored.isEmpty()) text = stored.toStdString();
  } else {
    text = find_in_svg(bytes);
  }
  if (!text) {
    throw FormatError("'{}': must be a PDF, SVG or PNG of lime-figure; it contains no provenance",
                      path.string());
  }
  return parse_json(*text, path.string());
}

std::string figure_to_csv(const Figure& figure) {
  std::string csv = "panel,title,series,x,y,low,high\n";
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const std::string head = fmt::format("{},{}", i, csv_cell(figure.panels[i].title));
    std::visit(CsvLines{csv, head}, figure.panels[i].content);
  }
  return csv;
}

}  // namespace lime
