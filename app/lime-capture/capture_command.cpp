// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "commands.h"
#include "core/program/launcher.h"
#include "core/program/program.h"
#include "core/program/progress.h"
#include "core/utf8.h"

namespace lime {
namespace {

std::string quoted(const std::string& text) { return "'" + printable(text) + "'"; }

/// "1 '<s>', 403 'Once', ...".
std::string first_ids(const CapturePreview& preview) {
  std::string text;
  for (std::size_t i = 0; i < preview.first_ids.size(); ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : "  ", preview.first_ids[i]);
    if (i < preview.first_tokens.size()) text += " " + quoted(preview.first_tokens[i]);
  }
  return text;
}

/// Returns the unit that the beginning-of-sequence token is prepended to.
const char* unit_of_input(const CaptureOptions& options) {
  if (!options.text.empty()) return "document";
  if (!options.lines.empty()) return "line";
  return options.pairs.empty() ? "sequence" : "sentence";
}

void print_input(const CaptureOptions& options, const CapturePreview& preview) {
  fmt::print("Input     {} sequences, {} tokens", preview.num_sequences, preview.num_tokens);
  if (preview.dropped_tokens > 0) {
    fmt::print("; the last {} tokens are dropped, too few for a sequence", preview.dropped_tokens);
  }
  if (options.packing == Packing::kLimeCode) {
    fmt::print("; {} before and an end-of-sequence token after each document (--packing {})\n",
               quoted(preview.prepended), enum_name(options.packing));
  } else if (preview.prepended.empty()) {
    fmt::print("; nothing prepended (--bos {})\n", enum_name(options.bos));
  } else {
    fmt::print("; {} prepended to each {} (--bos {})\n", quoted(preview.prepended),
               unit_of_input(options), enum_name(options.bos));
  }
  fmt::print("First ids {}\n", first_ids(preview));
}

void print_scores(const CaptureOptions& options) {
  const std::optional<BlimpPreset> preset = options.pair_preset();
  fmt::print("Scores    log-likelihood of every {}{}\n", preset ? "sentence" : "sequence",
             preset ? fmt::format(" (--blimp-preset {})", enum_name(*preset)) : "");
}

void print_rows(const CaptureOptions& options, const CapturePreview& preview) {
  if (options.log_likelihood) print_scores(options);
  if (!options.keeps_activations()) return;
  fmt::print("Rows      {} ({}) in each of {} datasets, {} as {}{}", preview.num_rows,
             enum_name(options.rows), preview.num_datasets,
             human_bytes(static_cast<double>(preview.bytes)), enum_name(options.store),
             options.compress == Compression::kNone ? "" : " before compression");
  if (preview.free_bytes >= 0) {
    fmt::print("; {} of free disk space", human_bytes(static_cast<double>(preview.free_bytes)));
  }
  fmt::print("\n");
  for (const auto& entry : preview.classes) {
    fmt::print("          {} is token {}: {} rows\n", quoted(entry.text), entry.id, entry.rows);
  }
}

/// Prints the layers of each device if several devices split the model.
void print_stages(const CapturePreview& preview) {
  if (preview.stages.size() < 2) return;
  std::string text;
  for (const CapturePreview::Stage& stage : preview.stages) {
    text += fmt::format("{}{}: layers {} to {}, {}", text.empty() ? "" : "; ", stage.device,
                        stage.first_layer, stage.last_layer,
                        human_bytes(static_cast<double>(stage.weight_bytes)));
  }
  fmt::print("Devices   {} of weights\n", text);
}

void print_run(const CapturePreview& preview) {
  print_stages(preview);
  fmt::print(
      "Run       {} sequences per pass, stops after layer {}, {} of {} shards left, up to about {} "
      "of memory\n",
      preview.batch_size, preview.last_layer, preview.num_shards_left, preview.num_shards,
      human_bytes(static_cast<double>(preview.memory_bytes)));
  flush_output();
}

void warn_of_full_disk(const CaptureOptions& options, const CapturePreview& preview) {
  if (preview.free_bytes < 0 || preview.num_shards == 0) return;
  const double left =
      static_cast<double>(preview.bytes) * preview.num_shards_left / preview.num_shards;
  if (left <= static_cast<double>(preview.free_bytes)) return;
  const std::vector<std::string> warning = {
      fmt::format("needs {} {} more, but {} are free; use fewer --layers, --only, or --store "
                  "float16 to need less",
                  options.compress == Compression::kNone ? "about" : "up to", human_bytes(left),
                  human_bytes(static_cast<double>(preview.free_bytes)))};
  print_warnings(warning);
}

std::string bottleneck(const CaptureResult& result) {
  const double share = result.compute_waited_seconds / result.seconds;
  if (share > 0.05)
    return fmt::format("limited by the disk, model idle {:.0f} % of the time", 100.0 * share);
  return fmt::format("limited by the model, disk idle {:.0f} % of the time",
                     100.0 * result.writer_waited_seconds / result.seconds);
}

void print_result(const CaptureOptions& options, const CaptureResult& result) {
  if (result.num_tokens > 0) {
    fmt::print("Done      {} tokens in {}: {:.0f} tokens/s, {}/s {}; {}; peak memory {}\n",
               result.num_tokens, human_duration(result.seconds),
               static_cast<double>(result.num_tokens) / result.seconds,
               human_bytes(static_cast<double>(result.bytes_written) / result.seconds),
               options.compress == Compression::kNone ? "written" : "compressed and written",
               bottleneck(result), human_bytes(static_cast<double>(result.peak_memory_bytes)));
  }
  if (result.complete) {
    fmt::print("Wrote     {}\n", options.output.string());
  } else {
    fmt::print("Shards of other processes are missing; the process that finishes last writes {}\n",
               options.output.string());
  }
}

/// Applies the place of this process under srun, mpirun, torchrun or a job array.
/// @return true if it is the first of the processes that share one standard output.
bool join_processes(CaptureOptions& options, CaptureTuning& tuning) {
  const std::optional<LaunchPlace> place = launch_place();
  if (place) tuning.neighbour = place->local_rank;
  const bool is_first = !place || place->rank == 0;
  if (options.threads == 0) options.threads = threads_beside_neighbours();
  if (options.shard) return is_first;
  const std::optional<LaunchedShare> launched = launched_share();
  if (!launched) return is_first;
  options.shard = launched->share;
  if (options.quiet) return is_first;
  fmt::print("Share     {} of {} processes, from 0, detected from {}; --shard 0/1 captures all\n",
             launched->share.index, launched->share.count, launched->source);
  return is_first;
}

int capture(CaptureOptions options) {
  CaptureTuning tuning;
  const bool is_first = join_processes(options, tuning);
  ProgressLine loading({.label = "load", .unit = "bytes", .quiet = options.quiet});
  ProgressLine line({.label = "capture", .unit = "tokens", .quiet = options.quiet});
  const CaptureCallbacks callbacks{.on_load = loading.callback(),
                                   .on_start =
                                       [&](const CapturePreview& preview) {
                                         loading.finish();
                                         if (is_first) print_warnings(preview.warnings);
                                         warn_of_full_disk(options, preview);
                                         if (options.quiet || !is_first) return;
                                         print_input(options, preview);
                                         print_rows(options, preview);
                                         print_run(preview);
                                       },
                                   .on_progress = line.callback()};
  const CaptureResult result = run_capture(options, callbacks, interrupt_token(), tuning);
  line.finish();
  if (!options.quiet) print_result(options, result);
  return kExitDone;
}

}  // namespace

void set_up_capture(CommandLine& line) {
  const auto options = std::make_shared<CaptureOptions>();
  line.add_options(*options);
  line.on_run([options] { return capture(*options); });
}

}  // namespace lime
