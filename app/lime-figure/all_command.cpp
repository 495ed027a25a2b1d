// SPDX-License-Identifier: Apache-2.0
#include "all_command.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/program/program.h"
#include "core/program/terminal.h"
#include "drawn_figures.h"
#include "figure_job.h"
#include "viz/figure_file.h"

namespace lime {
namespace {

void check_names(const std::vector<SourceGroup>& groups) {
  std::map<std::pair<std::string, std::string>, std::filesystem::path>
      paths;  // by metric and suffix
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

}  // namespace

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
  const std::vector<SourceGroup> groups = group_sources(read_figure_sources(command.results));
  check_figure_options(groups, command.figure);
  check_names(groups);
  make_folder(command.output, Parents::kCreate);
  for_each_figure(groups, command.figure, command.style, [&](const DrawnFigure& drawn) {
    for (const FigureFormat format : command.format) {
      const std::filesystem::path path =
          command.output / fmt::format("{}.{}", drawn.name, enum_name(format));
      write_figure(path, drawn.figure, command.style, drawn.provenance);
      if (command.quiet) continue;
      fmt::print("{:<32} {}\n", escaped(path.string()), drawn.recipe.help);
      flush_output();
    }
  });
  return kExitDone;
}

}  // namespace lime
