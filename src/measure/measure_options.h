// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/capture_options.h"
#include "core/memory.h"
#include "core/options.h"

namespace lime {

/// A measurement with the options that were given for it.
struct MeasureRequest {
  std::string metric;                                             ///< "entropy"
  std::vector<std::pair<std::string, std::string>> options = {};  ///< names in snake_case, values
};

/// Parses texts of the form `NAME[,NAME...] [OPTION=VALUE ...]`, e.g. "entropy preset=raw".
/// @throws InvalidArgument  for an unknown or repeated measurement, or a word without '='.
std::vector<MeasureRequest> parse_measurements(const std::vector<std::string>& texts);

/// An option of a metric that cannot be set for a measurement, with the remedy.
struct ReservedOption {
  std::string_view name;
  std::string_view remedy;
};

/// Assigns the options of `request` to the fields of their names.
/// @throws InvalidArgument  for an unknown, reserved or repeated option, or an invalid value.
void assign_options(const MeasureRequest& request, const std::vector<OptionField>& fields,
                    std::span<const ReservedOption> reserved);

/// Options of measurements inside the passes of a capture.
struct MeasureOptions {
  std::vector<std::string> measure = {};  ///< see parse_measurements(); empty: store a capture
  /// Also stores a capture of the first sequences, > 0.
  std::optional<std::int64_t> store_sequences = std::nullopt;
  /// Maximum size of the activations that are kept until the statistics of the data set are known.
  /// Not set: the free memory on the CPU, nothing on a GPU.
  std::optional<ByteSize> activation_memory = std::nullopt;

  bool is_requested() const { return !measure.empty(); }
  void describe(OptionList& list);
  /// @throws InvalidArgument
  void validate() const;
};

/// @throws InvalidArgument  if a capture option conflicts with measurements.
void check_capture_options(const CaptureOptions& capture, const MeasureOptions& measure);

/// Returns the results file of a measurement: `output` if there is one only, else with the name of
/// the metric before its extension.
std::filesystem::path results_path(const std::filesystem::path& output, const std::string& metric,
                                   std::size_t num_measurements);
/// Returns the file of the stored sequences, next to the results: NAME.h5 for NAME.json.
std::filesystem::path sample_path(const std::filesystem::path& output);

}  // namespace lime
