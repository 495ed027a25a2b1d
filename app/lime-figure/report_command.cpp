// SPDX-License-Identifier: Apache-2.0
#include "report_command.h"

#include <fmt/format.h>

#include <cstddef>
#include <ranges>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/program/program.h"
#include "drawn_figures.h"
#include "figure_job.h"
#include "report_page.h"
#include "store/results/columns.h"
#include "viz/figure_file.h"
#include "viz/figure_hover.h"

namespace lime {
namespace {

/// Returns the plotted numbers as a table, the first thousand lines of many.
std::string report_table(const Figure& figure) {
  constexpr std::ptrdiff_t kMaxLines = 1000;
  std::string table = "<table>\n";
  const char* cell = "th";
  for (const auto& line : figure_table(figure) | std::views::take(kMaxLines + 1)) {
    table += "<tr>";
    for (const std::string& text : line) {
      table += fmt::format("<{0}>{1}</{0}>", cell, html_text(text));
    }
    table += "</tr>\n";
    cell = "td";
  }
  return table + "</table>\n";
}

/// Returns the sentences of results that contain some (lime-metrics collapse), as a list.
std::string report_sentences(const FigureSource& source) {
  std::string list;
  for (const ResultRow& row : source.results.rows) {
    const std::string& sentence = row.text(col::kSentence);
    if (sentence.empty()) continue;
    list += fmt::format("<li>{}, {}, {}</li>\n", html_text(row.text(col::kLabel)),
                        html_text(row.text(col::kSite)), html_text(sentence));
  }
  return list.empty() ? "" : fmt::format("<ul>\n{}</ul>\n", list);
}

std::string report_section(const DrawnFigure& drawn, const FigureStyle& style) {
  const Json provenance =
      style.anonymous ? anonymous_provenance(drawn.provenance) : drawn.provenance;
  const std::string note = drawn.figure.note.empty() ? "" : ". " + drawn.figure.note;
  return fmt::format(
      "<figure id=\"{0}\">\n<h2>{0}</h2>\n{1}\n{6}<figcaption>{2}{3}.</figcaption>\n"
      "<details><summary>Numbers</summary>\n{4}</details>\n"
      "<details><summary>Provenance</summary>\n<pre>{5}</pre></details>\n</figure>\n",
      html_text(drawn.name), figure_to_svg(drawn.figure, style), html_text(drawn.recipe.help),
      html_text(note), report_table(drawn.figure), html_text(dump_json(provenance, 1)),
      report_data(figure_hover(drawn.figure, style)));
}

}  // namespace

void ReportCommand::describe(OptionList& options) {
  options.group("Files");
  options.add("output", output, "HTML file to write").role = OptionRole::kOutput;
  FigureRequest::describe(options);
}

void ReportCommand::validate() const {
  FigureRequest::validate();
  check_kind_is_unset(figure, "report");
  throw_if(output.extension() != ".html", OptionName("output"), "'{}' must end in .html",
           output.string());
}

int run_report(const ReportCommand& command) {
  const std::vector<SourceGroup> groups = group_sources(read_figure_sources(command.results));
  check_figure_options(groups, command.figure);
  FigureStyle style = command.style;
  style.no_note = true;  // the caption has it
  style.title.clear();
  std::string contents;
  std::string body;
  for (const SourceGroup& group : groups) {
    for (const FigureSource& source : group.sources) body += report_sentences(source);
  }
  for_each_figure(groups, command.figure, style, [&](const DrawnFigure& drawn) {
    contents += fmt::format("<li><a href=\"#{0}\">{0}</a></li>\n", html_text(drawn.name));
    body += report_section(drawn, style);
  });
  const std::string title = command.style.title.empty() ? "LIMe results" : command.style.title;
  write_file_atomically(command.output, report_page(title, contents, body));
  return kExitDone;
}

}  // namespace lime
