// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/report/report.h"
#include "core/files/atomic_file.h"
#include "core/files/output_lock.h"
#include "core/options.h"
#include "core/program/work_share.h"

namespace lime {

struct OutputOptions {
  std::optional<ResultsFormat> format;
  std::vector<std::filesystem::path> output;  ///< empty: standard output only
  bool quiet = false;  ///< hides progress and, if files are written, the table

  void describe(OptionList& list);
  void validate() const;
};

/// The output files of one command: opened before the work starts, so that a wrong path does not
/// cost an hour, and under their final names whole or not at all.
class OutputFiles {
 public:
  /// @throws IoError          if a file cannot be written.
  /// @throws InvalidArgument  if an output is one of `inputs`, or another process is writing it.
  OutputFiles(const OutputOptions& options, const std::vector<std::filesystem::path>& inputs,
              const WorkShare& share = {});

  /// Writes `report` to every file, and its companions beside them. @throws IoError
  void write(const Report& report);

 private:
  struct File {
    OutputLock lock;
    std::unique_ptr<AtomicFile> file;
    ResultsFormat format;
  };
  void write_companions(const Report& report);

  std::vector<File> files_;
};

}  // namespace lime
