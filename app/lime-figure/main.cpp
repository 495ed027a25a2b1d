// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <QApplication>
#include <filesystem>
#include <string>
#include <vector>

#include "core/command_line.h"
#include "core/errors.h"
#include "core/program.h"
#include "store/results_file.h"
#include "viz/figure_file.h"
#include "viz/recipes/recipe.h"

namespace lime {
namespace {

struct FigureCommand {
  std::vector<std::filesystem::path> results;
  std::vector<std::filesystem::path> output;
  bool list = false;
  std::filesystem::path show_provenance;
  FigureOptions figure;
  FigureStyle style;

  void describe(OptionList& options) {
    options.group("Files");
    options.add("output", output, "figures to write: .pdf, .svg, .png, .csv or .tex");
    options.add("list", list, "print the figures that there are");
    options.add("show_provenance", show_provenance, "print how a figure was made");
    figure.describe(options);
    style.describe(options);
  }
  void validate() const {
    if (list || !show_provenance.empty()) return;
    if (results.empty()) {
      throw InvalidArgument("results: needs a file that lime-metrics wrote, got none");
    }
    if (output.empty()) throw InvalidArgument("output: needs -o FIGURE, got none");
    figure.validate();
    style.validate();
  }
};

int list_recipes() {
  for (const Recipe& recipe : all_recipes()) {
    fmt::print("{:16} {:16} {}\n", recipe.name, recipe.metric, recipe.help);
  }
  return kExitDone;
}

/// Where the figure comes from: its own options and, file by file, what the results say of theirs.
Json provenance_of(FigureCommand command, const std::vector<FigureSource>& sources) {
  Json provenance = Json::object();
  provenance["tool"] = tool_version();
  // The latest of the results' times, so that the same results make the same bytes.
  std::string created;
  provenance["results"] = Json::array();
  for (const FigureSource& source : sources) {
    Json inputs = Json::array();
    for (const ResultsInput& input : source.results.inputs) {
      inputs.push_back({{"path", input.path}, {"sha256", input.sha256}, {"label", input.label}});
    }
    created = std::max(created, source.results.provenance.value("created_utc", std::string()));
    provenance["results"].push_back({{"path", source.path.string()},
                                     {"metric", source.results.metric},
                                     {"options", source.results.options},
                                     {"provenance", source.results.provenance},
                                     {"inputs", inputs}});
  }
  provenance["created_utc"] = created;
  Json options = options_to_json(std::move(command));
  options.erase("output");
  options.erase("show_provenance");
  provenance["options"] = std::move(options);
  return provenance;
}

int run_figure(const FigureCommand& command) {
  if (command.list) return list_recipes();
  if (!command.show_provenance.empty()) {
    fmt::print("{}\n", read_figure_provenance(command.show_provenance).dump(2));
    return kExitDone;
  }
  std::vector<FigureSource> sources;
  for (const std::filesystem::path& path : command.results) {
    sources.push_back({path, read_results(path)});
  }
  const Figure figure = make_figure(sources, command.figure);
  const Json provenance = provenance_of(command, sources);
  for (const std::filesystem::path& path : command.output) {
    write_figure(path, figure, command.style, provenance);
  }
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  // Figures need no display.
  qputenv("QT_QPA_PLATFORM", "offscreen");
  // Qt's remarks on the session (no runtime folder, ...) do not concern a figure.
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  int qt_argc = 1;
  QApplication application(qt_argc, argv);
  lime::FigureCommand command;
  lime::CommandLine line("lime-figure", "Turns results of lime-metrics into figures for papers.");
  line.add_positional("results", command.results, "results files (JSON)");
  line.add_options(command);
  line.set_examples(
      "lime-figure entropy.json -o entropy.pdf\n"
      "lime-figure router.json --kind router-heads --size acl-page -o heads.svg\n"
      "lime-figure --show-provenance entropy.pdf");
  line.on_run([&] { return lime::run_figure(command); });
  return lime::run_program(line, argc, argv);
}
