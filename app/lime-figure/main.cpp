// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QApplication>
#include <QHashSeed>
#include <filesystem>
#include <vector>

#include "all_command.h"
#include "core/errors.h"
#include "core/program/command_line.h"
#include "core/program/program.h"
#include "core/program/terminal.h"
#include "figure_job.h"
#include "figure_request.h"
#include "report_command.h"
#include "viz/figure_file.h"
#include "viz/recipes/recipe.h"

namespace lime {
namespace {

struct FigureCommand : FigureRequest {
  std::vector<std::filesystem::path> output;
  bool list = false;
  std::filesystem::path show_provenance;

  void describe(OptionList& options) {
    options.group("Files");
    options.add("output", output, "figures to write: .pdf, .svg, .png, .csv or .tex");
    options.add("list", list, "list the available figures");
    options.add("show_provenance", show_provenance, "print the provenance of a figure");
    FigureRequest::describe(options);
  }
  void validate() const {
    if (list || !show_provenance.empty()) return;
    FigureRequest::validate();
    throw_if(output.empty(), OptionName("output"), "expected a file name, got none; add -o FIGURE");
  }
};

int list_recipes() {
  for (const Recipe& recipe : all_recipes()) {
    fmt::print("{:22} {}\n{:22} metrics: {}\n", recipe.name, recipe.help, "",
               fmt::join(recipe.metrics, ", "));
  }
  return kExitDone;
}

int run_figure(const FigureCommand& command) {
  if (command.list) return list_recipes();
  if (!command.show_provenance.empty()) {
    fmt::print("{}\n",
               for_standard_output(dump_json(read_figure_provenance(command.show_provenance), 2)));
    return kExitDone;
  }
  const FigureJob job{read_figure_sources(command.results), command.figure, command.style};
  const Figure figure = make_figure(job.sources, job.figure);
  const Json provenance = provenance_of(job);
  for (const std::filesystem::path& path : command.output) {
    write_figure(path, figure, command.style, provenance);
  }
  if (command.style.no_note && !figure.note.empty()) {
    fmt::print("{}\n", for_standard_output(figure.note));
  }
  return kExitDone;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  // Figures need no display.
  qputenv("QT_QPA_PLATFORM", "offscreen");
  // Qt's session warnings (no runtime folder, ...) are irrelevant for figures.
  qInstallMessageHandler([](QtMsgType, const QMessageLogContext&, const QString&) {});
  // Without a fixed seed, Qt's hash tables and so the PDFs differ between runs.
  QHashSeed::setDeterministicGlobalSeed();
  int qt_argc = 1;
  QApplication application(qt_argc, argv);
  lime::FigureCommand command;
  lime::AllCommand all;
  lime::ReportCommand report;
  const auto set_up = [](lime::CommandLine& line, auto& request, const char* examples,
                         const auto& run) {
    line.add_positional("results", request.results,
                        "results files (JSON), training logs, or folders that contain them");
    line.add_options(request);
    line.set_examples(examples);
    line.on_run([&request, run] { return run(request); });
  };
  lime::CommandLine line("lime-figure", "Plots results of lime-metrics as figures for papers.");
  set_up(line, command,
         "lime-figure entropy.json -o entropy.pdf\n"
         "lime-figure router.json --kind router-heads --size acl-page -o heads.svg\n"
         "lime-figure data/aet-llama data/aet-lime --over tokens --log-y -o loss.pdf\n"
         "lime-figure all results data/aet-lime -o figures --format pdf,png\n"
         "lime-figure --show-provenance entropy.pdf",
         lime::run_figure);
  set_up(line.add_command("all", "Draws every figure supported by the given files into a folder."),
         all, "lime-figure all results data/aet-lime -o figures", lime::run_all);
  set_up(line.add_command(
             "report", "Writes every figure, its numbers and its provenance into one HTML file."),
         report, "lime-figure report results -o report.html --anonymous", lime::run_report);
  return lime::run_program(line, argc, argv);
}
