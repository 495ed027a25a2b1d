// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "core/json.h"
#include "core/options.h"

namespace lime {

/// Files with samples of a task, for those that otherwise draw them by the seed.
struct TaskFiles {
  /// Trained on instead of drawn samples; empty for none.
  std::filesystem::path train_file;
  /// Tested on instead of drawn samples; empty for none. Shares no sample with `train_file`.
  std::filesystem::path test_file;

  void describe(OptionList& list);

  /// For a task without samples. @throws InvalidArgument  if a file is named.
  void require_none() const;

  /// @param training, test  the samples of the two files, as one text each.
  /// @throws InvalidArgument  that names a sample which is in both.
  void require_apart(std::span<const std::string> training,
                     std::span<const std::string> test) const;

  /// SHA-256 of a file; null without one.
  static Json digest_of(const std::filesystem::path& file);
};

}  // namespace lime
