// SPDX-License-Identifier: Apache-2.0
#include "analysis/results_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "analysis/latex_table.h"
#include "core/errors.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::optional<ResultsFormat> format_of_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".json") return ResultsFormat::kJson;
  if (extension == ".csv") return ResultsFormat::kCsv;
  if (extension == ".tex") return ResultsFormat::kLatex;
  if (extension == ".txt") return ResultsFormat::kTable;
  return std::nullopt;
}

void write_text(const AtomicFile& file, const std::string& text) {
  errno = 0;
  std::ofstream out(file.temporary(), std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) {
    throw IoError("'{}': cannot be written: {}", file.path().string(),
                  describe_errno(errno != 0 ? errno : EIO));
  }
}

}  // namespace

std::string format_report(const Report& report, ResultsFormat format, const TextStyle& style) {
  switch (format) {
    case ResultsFormat::kCsv:
      return results_to_csv(report.results);
    case ResultsFormat::kJson:
      return results_to_json(report.results);
    case ResultsFormat::kLatex:
      return results_to_latex(report.results, report.layout, report.notes);
    case ResultsFormat::kTable:
      break;
  }
  std::string text;
  for (const std::string& note : report.notes) text += note + "\n";
  if (!report.legend.empty()) text += report.legend + "\n";
  if (!text.empty()) text += "\n";
  return text + results_to_text(report.results, report.layout, style);
}

void OutputOptions::describe(OptionList& list) {
  list.group("Output");
  list.add("format", format,
           "format of the output; else the ending of each file decides (.json, .csv, .tex, .txt), "
           "and a table is printed");
  list.add("output", output, "write to these files, whole or not at all");
  list.add("quiet", quiet, "show no progress and, where files are written, no table");
}

void OutputOptions::validate() const {
  for (auto path = output.begin(); path != output.end(); ++path) {
    if (!format && !format_of_name(*path)) {
      throw InvalidArgument(
          "output: the name must end in .json, .csv, .tex or .txt, got '{}'; or say --format",
          path->string());
    }
    if (std::find(output.begin(), path, *path) != path) {
      throw InvalidArgument("output: '{}' is named twice", path->string());
    }
  }
}

OutputFiles::OutputFiles(const OutputOptions& options, const std::vector<fs::path>& inputs) {
  options.validate();
  for (const fs::path& path : options.output) {
    for (const fs::path& input : inputs) {
      std::error_code ignored;
      if (fs::equivalent(path, input, ignored)) {
        throw InvalidArgument("output: '{}' is an input and would be lost; choose another name",
                              path.string());
      }
    }
    remove_stale_temporaries(path);
    files_.push_back({std::make_unique<AtomicFile>(path),
                      options.format ? *options.format : format_of_name(path).value()});
  }
}

void OutputFiles::write(const Report& report) {
  for (const File& file : files_) write_text(*file.file, format_report(report, file.format));
  for (const File& file : files_) file.file->commit();
}

}  // namespace lime
