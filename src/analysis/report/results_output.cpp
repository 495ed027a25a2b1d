// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/results_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <set>

#include "core/program/terminal.h"
#include "store/file_names.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

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

/// Returns ".json, .csv, .tex or .txt".
std::string extensions_in_words() {
  const std::vector<std::string> all = format_extensions();
  return fmt::format("{} or {}", fmt::join(all.begin(), all.end() - 1, ", "), all.back());
}

}  // namespace

void OutputOptions::describe(OptionList& list) {
  list.group("Output");
  list.add(
      "format", format,
      fmt::format("output format; default: from the extension of each file ({}), and a table on "
                  "standard output",
                  fmt::join(format_extensions(), ", ")));
  list.add("output", output, "output files, written atomically");
  list.add("quiet", quiet, "hide progress and, if files are written, the table");
}

void OutputOptions::validate() const {
  for (auto path = output.begin(); path != output.end(); ++path) {
    throw_if(!format && !format_of_name(*path), OptionName("output"),
             "the name must end in {}, got '{}'; or use --format", extensions_in_words(),
             path->string());
    throw_if(std::find(output.begin(), path, *path) != path, OptionName("output"),
             "'{}' is named twice", path->string());
  }
}

OutputFiles::OutputFiles(const OutputOptions& options, const std::vector<fs::path>& inputs,
                         const WorkShare& share) {
  options.validate();
  for (const fs::path& path : options.output) {
    for (const fs::path& input : inputs) {
      std::error_code ignored;
      throw_if(fs::equivalent(path, input, ignored), OptionName("output"),
               "'{}' is an input and would be overwritten; use another name", path.string());
    }
    files_.push_back({OutputLock(path, share), std::make_unique<AtomicFile>(path),
                      options.format ? *options.format : format_of_name(path).value()});
  }
}

void OutputFiles::write(const Report& report) {
  for (const File& file : files_) write_text(*file.file, format_report(report, file.format));
  write_companions(report);
  for (const File& file : files_) file.file->commit();
}

void OutputFiles::write_companions(const Report& report) {
  std::set<fs::path> written;
  for (const File& file : files_) {
    for (const Companion& companion : report.companions) {
      const auto& beside = companion.beside;
      if (std::ranges::find(beside, file.format) == beside.end()) continue;
      const fs::path path = companion_of(file.file->path(), companion.suffix);
      if (written.insert(path).second) companion.write(path);
    }
  }
}

}  // namespace lime
