// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapse/random_capture.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "analysis/engine/capture_rows.h"
#include "core/layer_selection.h"
#include "core/program/child_program.h"
#include "core/program/program.h"
#include "store/file_names.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Returns the arguments of lime-capture.
std::vector<std::string> arguments_of(const CaptureReader& capture,
                                      const std::vector<std::string>& sites,
                                      const fs::path& checkpoint, const fs::path& output,
                                      const RunOptions& run) {
  const CaptureInfo& info = capture.info();
  std::vector<int> layers;
  for (const std::string& site : sites)
    std::ranges::copy(capture.layers(site), back_inserter(layers));
  std::ranges::sort(layers);
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  std::vector<std::string> arguments = {"--checkpoint",
                                        checkpoint.string(),
                                        "--random-weights",
                                        "--seed",
                                        std::to_string(run.seed),
                                        "--tokens",
                                        capture.path().string(),
                                        "--sites",
                                        fmt::format("{}", fmt::join(sites, ",")),
                                        "--layers",
                                        layers_to_string(layers),
                                        "--store",
                                        std::string(enum_name(info.storage)),
                                        "--resume",
                                        "--output",
                                        output.string()};
  if (run.threads > 0) {
    arguments.insert(arguments.end(), {"--threads", std::to_string(run.threads)});
  }
  if (::isatty(STDERR_FILENO) == 0) arguments.emplace_back("--quiet");
  return arguments;
}

/// Refuses a file that is not what lime-capture would write.
void check_found(const fs::path& path, const CaptureReader& capture, std::uint64_t seed) {
  const CaptureReader found(path);
  const Json& options = found.info().options;
  const bool is_random = options.value("random_weights", false) && found.info().seed == seed;
  throw_if(!is_random || found.config() != capture.config(), OptionName("against_random"),
           "'{}' exists and is not a capture of this config with random weights of seed {}; rename "
           "it, or pass another --seed",
           path.string(), seed);
}

}  // namespace

fs::path random_capture(const fs::path& path, std::vector<std::string> sites,
                        const fs::path& checkpoint, const RunOptions& run,
                        const std::stop_token& stop) {
  const CaptureReader capture(path);
  check_whole_sequences(capture, "collapse");
  if (sites.empty()) sites = capture.sites();
  const fs::path output =
      path.parent_path() / fmt::format("{}.random-{}.h5", capture_stem(path), run.seed);
  if (!fs::exists(output)) {
    const int status = run_child_program(
        "lime-capture", arguments_of(capture, sites, checkpoint, output, run), stop);
    throw_if(
        status != kExitDone, OptionName("against_random"),
        "lime-capture ended with status {} (its message is above); capture the checkpoint with "
        "--random-weights yourself, and pass the file with --random",
        status);
  }
  check_found(output, capture, run.seed);
  return output;
}

}  // namespace lime
