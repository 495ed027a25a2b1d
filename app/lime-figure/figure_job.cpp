// SPDX-License-Identifier: Apache-2.0
#include "figure_job.h"

#include <QString>
#include <ranges>

#include "core/files/atomic_file.h"
#include "core/program/command_help.h"
#include "core/program/program.h"
#include "core/program/terminal.h"
#include "core/utf8.h"
#include "report_page.h"
#include "store/file_names.h"
#include "store/results/columns.h"
#include "viz/figure_file.h"
#include "viz/figure_hover.h"
#include "viz/recipes/figure_row.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::string argument(const Json& value) {
  const std::vector<std::string> texts = option_texts(value);
  if (!value.is_array()) return texts.front();
  std::string list;
  for (const std::string& text : texts) {
    if (!list.empty()) list += ',';
    for (const char letter : text) {
      if (letter == ',') list += '\\';
      list += letter;
    }
  }
  return list;
}

template <typename Options> std::string changed_options(const Options& given) {
  const Json values = options_to_json(given);
  const Json defaults = options_to_json(Options{});
  std::string text;
  for (const auto& [name, value] : values.items()) {
    if (value == defaults.at(name)) continue;
    text += " " + option_name(name);
    if (!value.is_boolean()) text += " " + shell_word(argument(value));
  }
  return text;
}

Json inputs_of(const Results& results) {
  Json inputs = Json::array();
  for (const ResultsInput& input : results.inputs) {
    inputs.push_back({{"path", input.path}, {"sha256", input.sha256}, {"label", input.label}});
  }
  return inputs;
}

/// Returns the command, without output and defaults: "lime-figure a.json --kind router-heads".
std::string command_of(const FigureJob& job) {
  std::string command = "lime-figure";
  for (const FigureSource& source : job.sources) command += " " + shell_word(source.path.string());
  return command + changed_options(job.figure) + changed_options(job.style);
}

/// Files drawn together, and the suffix that tells their figures from others of the metric.
struct SourceGroup {
  std::vector<FigureSource> sources;
  std::string suffix;
};

std::vector<SourceGroup> grouped(std::vector<FigureSource> sources) {
  std::map<std::string, int> count;
  for (const FigureSource& source : sources) ++count[source.results.metric];
  std::vector<SourceGroup> groups;
  SourceGroup training;
  for (FigureSource& source : sources) {
    if (source.results.metric == "training") {
      training.sources.push_back(std::move(source));
      continue;
    }
    const bool is_alone = count[source.results.metric] == 1;
    const std::string suffix = is_alone ? "" : "-" + results_stem(source.path);
    groups.push_back({{std::move(source)}, suffix});
  }
  if (!training.sources.empty()) groups.push_back(std::move(training));
  return groups;
}

void check_names(const std::vector<SourceGroup>& groups) {
  std::map<std::pair<std::string, std::string>, fs::path> paths;  // by metric and suffix
  for (const SourceGroup& group : groups) {
    const FigureSource& source = group.sources.front();
    const auto [found, is_new] =
        paths.emplace(std::pair(source.results.metric, group.suffix), source.path);
    if (is_new) continue;
    throw InvalidArgument(
        OptionName("results"),
        "figures of '{}' and '{}' would have the same names; rename one of the files, or "
        "write each to its own folder with -o",
        found->second.string(), source.path.string());
  }
}

std::optional<Figure> figure_if_any(const FigureJob& job) {
  try {
    return make_figure(job.sources, job.figure);
  } catch (const NothingToShow&) {
    return std::nullopt;
  }
}

/// A figure of a group, and how it was made.
struct DrawnFigure {
  const Recipe& recipe;
  std::string name;  ///< of its file, without the extension
  Figure figure;
  Json provenance;
};

/// Calls `use` with each figure of the groups. @return number of figures
template <typename Use>
int for_each_figure(const std::vector<SourceGroup>& groups, const FigureOptions& options,
                    const FigureStyle& style, const Use& use) {
  int drawn = 0;
  for (const SourceGroup& group : groups) {
    FigureJob job{group.sources, options, style};
    const std::string& metric = group.sources.front().results.metric;
    for (const Recipe* const recipe : recipes_of(metric)) {
      job.figure = options_read_by(*recipe, options);
      job.figure.kind = recipe->name;
      const std::optional<Figure> figure = figure_if_any(job);
      if (!figure) continue;
      ++drawn;
      const std::string name =
          recipe->metrics.size() == 1 ? recipe->name : fmt::format("{}-{}", recipe->name, metric);
      use(DrawnFigure{*recipe, name + group.suffix, *figure, provenance_of(job)});
    }
  }
  if (drawn > 0) return drawn;
  throw InvalidArgument(
      "figure: no figure shows the contents of the {} files; see lime-figure --list",
      groups.size());
}

void check_options(const std::vector<SourceGroup>& groups, const FigureOptions& options) {
  for (const std::string& option : options_unread_by({}, options)) {
    const auto reads = [&](const Recipe* recipe) { return contains(recipe->options, option); };
    const bool is_read = std::ranges::any_of(groups, [&](const SourceGroup& group) {
      const auto recipes = recipes_of(group.sources.front().results.metric);
      return std::ranges::any_of(recipes, reads);
    });
    if (!is_read)
      throw InvalidArgument("figure: no figure of these files accepts {}", option_name(option));
  }
}

void check_kind_is_unset(const FigureOptions& options, const char* command) {
  if (options.kind.empty()) return;
  throw InvalidArgument(OptionName("kind"),
                        "the command {} draws every kind, got '{}'; omit --kind", command,
                        options.kind);
}

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

std::vector<FigureSource> read_figure_sources(const std::vector<std::filesystem::path>& paths) {
  std::vector<FigureSource> sources;
  for (const std::filesystem::path& path : paths) {
    for (const std::filesystem::path& file : figure_files(path)) {
      sources.push_back(read_figure_source(file));
    }
  }
  return sources;
}

Json provenance_of(const FigureJob& job) {
  Json provenance = Json::object();
  provenance["tool"] = tool_version();
  provenance["command"] = command_of(job);
  std::string created;
  provenance["results"] = Json::array();
  for (const FigureSource& source : job.sources) {
    const Results& results = source.results;
    const auto time = results.provenance.find("created_utc");
    const bool has_time = time != results.provenance.end() && time->is_string();
    if (has_time) created = std::max(created, time->get<std::string>());
    provenance["results"].push_back({{"path", source.path.string()},
                                     {"sha256", source.sha256},
                                     {"metric", results.metric},
                                     {"options", results.options},
                                     {"provenance", results.provenance},
                                     {"inputs", inputs_of(results)}});
  }
  provenance["created_utc"] = created;
  Json options = options_to_json(job.figure);
  options.update(options_to_json(job.style));
  provenance["options"] = std::move(options);
  return provenance;
}

void FigureRequest::describe(OptionList& options) {
  figure.describe(options);
  style.describe(options);
}

void FigureRequest::validate() const {
  throw_if(results.empty(), OptionName("results"),
           "expected results files of lime-metrics, or output folders of lime-metrics or "
           "lime-train, got none");
  figure.validate();
  style.validate();
}

void AllCommand::describe(OptionList& options) {
  options.group("Files");
  options.add("output", output, "folder for the figures; created if missing").role =
      OptionRole::kOutput;
  options.add("format", format, "file formats");
  options.add("quiet", quiet, "do not list the figures written");
  FigureRequest::describe(options);
}

void AllCommand::validate() const {
  FigureRequest::validate();
  check_kind_is_unset(figure, "all");
}

int run_all(const AllCommand& command) {
  const std::vector<SourceGroup> groups = grouped(read_figure_sources(command.results));
  check_options(groups, command.figure);
  check_names(groups);
  make_folder(command.output, Parents::kCreate);
  for_each_figure(groups, command.figure, command.style, [&](const DrawnFigure& drawn) {
    for (const FigureFormat format : command.format) {
      const fs::path path = command.output / fmt::format("{}.{}", drawn.name, enum_name(format));
      write_figure(path, drawn.figure, command.style, drawn.provenance);
      if (command.quiet) continue;
      fmt::print("{:<32} {}\n", escaped(path.string()), drawn.recipe.help);
      flush_output();
    }
  });
  return kExitDone;
}

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
  const std::vector<SourceGroup> groups = grouped(read_figure_sources(command.results));
  check_options(groups, command.figure);
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
