// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_file.h"

#include <QBuffer>
#include <QPageSize>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSvgGenerator>
#include <QtEndian>

#include "core/files/atomic_file.h"
#include "core/files/input_file.h"
#include "core/utf8.h"
#include "viz/figure_pgfplots.h"
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
  // "--" is forbidden inside a comment, and some characters in XML; JSON can escape them.
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

/// Returns what `write` writes to a device.
template <typename Write> QByteArray bytes_of(const Write& write) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  write(buffer);
  return bytes;
}

QString title_of(const Figure& figure) {
  return QString::fromStdString(figure.title.empty() ? figure.name : figure.title);
}

QByteArray draw_pdf(FigureScene& scene, const Figure& figure, const FigureStyle& style,
                    const Json& provenance) {
  QByteArray bytes = bytes_of([&](QBuffer& buffer) {
    QPdfWriter writer(&buffer);
    writer.setCreator("lime-figure");
    writer.setTitle(title_of(figure));
    writer.setResolution(static_cast<int>(kUnitsPerInch));
    writer.setPageSize(QPageSize(QSizeF(scene.size()) * style.magnification() / kUnitsPerPoint,
                                 QPageSize::Point, QString(), QPageSize::ExactMatch));
    writer.setPageMargins(QMarginsF(0, 0, 0, 0));
    writer.addFileAttachment(kProvenanceName, QByteArray::fromStdString(dump_json(provenance, 1)),
                             "application/json");
    scene.paint(writer, {}, style.magnification());
  });
  fix_pdf_date(bytes, provenance.value("created_utc", ""));
  return bytes;
}

QByteArray draw_svg(FigureScene& scene, const Figure& figure, const FigureStyle& style,
                    const Json& provenance) {
  QByteArray bytes = bytes_of([&](QBuffer& buffer) {
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setTitle("");  // Qt versions differ in whether they escape it: see below
    generator.setDescription("");
    generator.setResolution(static_cast<int>(kUnitsPerInch));
    generator.setSize((QSizeF(scene.size()) * style.magnification()).toSize());
    generator.setViewBox(QRect(QPoint(0, 0), scene.size()));
    scene.paint(generator, {}, 1.0);
  });
  const QString about = QString("\n<title>%1</title>\n<desc>%2</desc>")
                            .arg(title_of(figure).toHtmlEscaped(),
                                 QString::fromStdString(figure.note).toHtmlEscaped());
  bytes.insert(bytes.indexOf('>', bytes.indexOf("<svg")) + 1, about.toUtf8());
  constexpr bool kAsciiOnly = true;
  add_svg_comment(bytes, provenance.dump(-1, ' ', kAsciiOnly, Json::error_handler_t::replace));
  return bytes;
}

QByteArray draw_png(FigureScene& scene, const FigureStyle& style, const Json& provenance) {
  const double scale = style.magnification() * style.dpi / kUnitsPerInch;
  QImage image((QSizeF(scene.size()) * scale).toSize(), QImage::Format_RGB32);
  image.setDotsPerMeterX(static_cast<int>(std::lround(style.dpi / 0.0254)));
  image.setDotsPerMeterY(image.dotsPerMeterX());
  image.fill(Qt::white);
  scene.paint(image, {}, scale);
  image.setText(kProvenanceName, QString::fromStdString(dump_json(provenance)));
  return bytes_of([&](QBuffer& buffer) {
    if (!image.save(&buffer, "PNG")) throw IoError("figure: cannot encode the PNG");
  });
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

/// Adds the lines of one panel; `head` contains the first cells.
struct TableLines {
  std::vector<std::vector<std::string>>& lines;
  std::vector<std::string> head;

  void add(const std::string& series, const std::string& x, const std::string& y,
           const std::string& low = "", const std::string& high = "") const {
    lines.push_back(head);
    lines.back().insert(lines.back().end(), {series, x, y, low, high});
  }

  void operator()(const CurvePanel& panel) const {
    for (const Curve& curve : panel.curves) {
      for (std::size_t i = 0; i < curve.x.size(); ++i) {
        add(curve.label, number(curve.x[i]), number(curve.y[i]), at(curve.low, i),
            at(curve.high, i));
      }
    }
    for (const ReferenceLine& line : panel.references) add(line.label, "", number(line.y));
    for (const RangeMark& range : panel.ranges) {
      add(range.whole_label(), number(range.low), "");
      if (!range.is_line()) add(range.whole_label(), number(range.high), "");
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
      add(c < panel.class_names.size() ? panel.class_names[c] : "", fmt::to_string(panel.x[i]),
          fmt::to_string(panel.y[i]));
    }
  }

  void operator()(const BarPanel& panel) const {
    for (const BarPanel::Series& series : panel.series) {
      for (std::size_t g = 0; g < panel.groups.size(); ++g) {
        add(series.label, panel.groups[g], number(series.values[g]), at(series.low, g),
            at(series.high, g));
      }
    }
  }

  void operator()(const TablePanel& panel) const {
    for (const auto& row : panel.rows) {
      const std::string name = cell_text(row.front());
      for (std::size_t c = 0; c < row.size(); ++c) add(name, panel.head[c], cell_text(row[c]));
    }
  }
};

}  // namespace

Figure drawn_figure(const Figure& figure, const FigureStyle& style) {
  style.validate();
  Figure drawn = printable_figure(figure);
  if (!style.panel.empty()) {
    drawn.panels.clear();
    for (const int number : style.panel) {
      throw_if(number < 1 || number > std::ssize(figure.panels), OptionName("panel"),
               "the figure has panels 1 to {}, got {}", figure.panels.size(), number);
      drawn.panels.push_back(figure.panels[static_cast<std::size_t>(number - 1)]);
    }
    drawn.columns = std::min(drawn.columns, static_cast<int>(drawn.panels.size()));
    drawn.is_wide = drawn.is_wide && drawn.columns > 1;
  }
  if (style.no_note) drawn.note.clear();
  return with_fitting_columns(drawn, style);
}

void write_figure(const fs::path& path, const Figure& figure, const FigureStyle& style,
                  const Json& provenance) {
  const std::string kind = path.extension().string();
  throw_if(kind != ".pdf" && kind != ".svg" && kind != ".png" && kind != ".csv" && kind != ".tex",
           "'{}': must end in .pdf, .svg, .png, .csv or .tex, got '{}'", path.string(), kind);
  const Figure drawn = drawn_figure(figure, style);
  if (kind == ".csv") return write_file_atomically(path, figure_to_csv(drawn));
  if (kind == ".tex") return write_file_atomically(path, figure_to_pgfplots(drawn, style));
  FigureScene scene(drawn, style);
  const Json stored = style.anonymous ? anonymous_provenance(provenance) : provenance;
  const QByteArray bytes = kind == ".pdf"   ? draw_pdf(scene, drawn, style, stored)
                           : kind == ".svg" ? draw_svg(scene, drawn, style, stored)
                                            : draw_png(scene, style, stored);
  write_file_atomically(path, bytes.toStdString());
}

std::string figure_to_svg(const Figure& figure, const FigureStyle& style) {
  const Figure drawn = drawn_figure(figure, style);
  FigureScene scene(drawn, style);
  const std::string svg = draw_svg(scene, drawn, style, Json::object()).toStdString();
  return svg.substr(svg.find("<svg"));
}

QImage preview_figure(const Figure& figure, const FigureStyle& style, const QSize& room) {
  const Figure drawn = drawn_figure(figure, style);
  FigureScene scene(drawn, style);
  const QSize size = scene.size().scaled(room, Qt::KeepAspectRatio);
  QImage image(size, QImage::Format_RGB32);
  image.fill(Qt::white);
  scene.paint(image, {}, static_cast<double>(size.width()) / scene.size().width());
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
  throw_if<FormatError>(!text,
                        "'{}': must be a PDF, SVG or PNG of lime-figure; it contains no provenance",
                        path.string());
  return parse_json(*text, path.string());
}

std::vector<std::vector<std::string>> figure_table(const Figure& figure) {
  std::vector<std::vector<std::string>> lines = {
      {"panel", "title", "series", "x", "y", "low", "high"}};
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    std::visit(TableLines{lines, {std::to_string(i), figure.panels[i].title}},
               figure.panels[i].content);
  }
  return lines;
}

std::string figure_to_csv(const Figure& figure) {
  std::string csv;
  for (std::vector<std::string>& line : figure_table(figure)) {
    std::ranges::transform(line, line.begin(), csv_cell);
    csv += fmt::format("{}\n", fmt::join(line, ","));
  }
  return csv;
}

}  // namespace lime
