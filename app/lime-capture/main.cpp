// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "core/errors.h"
#include "core/layer_selection.h"
#include "core/program/command_line.h"
#include "core/program/launcher.h"
#include "core/program/program.h"
#include "core/program/progress.h"
#include "core/program/terminal.h"
#include "core/utf8.h"
#include "gauge_command.h"
#include "measure/measure.h"
#include "store/capture_tools.h"
#include "store/capture_writer.h"
#include "store/file_names.h"
#include "sweep_command.h"

namespace lime {
namespace {

std::string quoted(const std::string& text) { return "'" + printable(text) + "'"; }

/// Returns the first ids and tokens of a preview or of a capture: "1 '<s>'  403 'Once'".
std::string first_ids(const auto& subject) {
  std::string text;
  for (std::size_t i = 0; i < subject.first_ids.size(); ++i) {
    text += fmt::format("{}{}", text.empty() ? "" : "  ", subject.first_ids[i]);
    if (i < subject.first_tokens.size()) text += " " + quoted(subject.first_tokens[i]);
  }
  return text;
}

std::string bytes_text(auto bytes) { return human_bytes(static_cast<double>(bytes)); }

/// Returns the unit that the beginning-of-sequence token is prepended to.
const char* unit_of_input(const CaptureOptions& options, const CapturePreview& preview) {
  if (preview.packing == Packing::kBosEach) return "sequence";
  if (!options.text.empty()) return "document";
  if (!options.lines.empty()) return "line";
  return options.pairs.empty() ? "sequence" : "sentence";
}

void print_input(const CaptureOptions& options, const CapturePreview& preview) {
  fmt::print("Input     {} sequences, {} tokens", preview.num_sequences, preview.num_tokens);
  if (preview.dropped_tokens > 0) {
    fmt::print("; the last {} tokens are dropped, too few for a sequence", preview.dropped_tokens);
  }
  if (preview.packing == Packing::kLimeCode) {
    fmt::print("; {} before and an end-of-sequence token after each document (--packing {})\n",
               quoted(preview.prepended), enum_name(*preview.packing));
  } else if (options.chat) {
    fmt::print("; each line written with the chat template (--chat)\n");
  } else if (preview.prepended.empty()) {
    fmt::print("; nothing prepended (--bos {})\n", enum_name(options.bos));
  } else {
    fmt::print("; {} prepended to each {} (--bos {}{})\n", quoted(preview.prepended),
               unit_of_input(options, preview), enum_name(options.bos),
               preview.packing ? fmt::format(" --packing {}", enum_name(*preview.packing)) : "");
  }
  fmt::print("First ids {}\n", first_ids(preview));
}

void print_rows(const CaptureOptions& options, const CapturePreview& preview) {
  if (options.log_likelihood) {
    const std::optional<BlimpPreset> preset = options.pair_preset();
    fmt::print("Scores    log-likelihood of {}every {}{}\n",
               options.score.is_all() ? "" : "the selected tokens of ",
               preset ? "sentence" : "sequence",
               preset ? fmt::format(" (--blimp-preset {})", enum_name(*preset)) : "");
  }
  if (!options.keeps_activations()) return;
  fmt::print("Rows      {} ({}) in each of {} datasets, {} as {}{}", preview.num_rows,
             enum_name(options.rows), preview.num_datasets, bytes_text(preview.bytes),
             enum_name(options.store),
             options.compress == Compression::kNone ? "" : " before compression");
  if (preview.free_bytes >= 0) {
    fmt::print("; {} of free disk space", bytes_text(preview.free_bytes));
  }
  fmt::print("\n");
  for (const auto& entry : preview.classes) {
    fmt::print("          {} is token {}: {} rows\n", quoted(entry.text), entry.id, entry.rows);
  }
}

void print_stages(const CapturePreview& preview) {
  if (preview.stages.size() < 2) return;
  std::string text;
  for (const CapturePreview::Stage& stage : preview.stages) {
    text += fmt::format("{}{}: layers {} to {}, {}", text.empty() ? "" : "; ", stage.device,
                        stage.first_layer, stage.last_layer, bytes_text(stage.weight_bytes));
  }
  fmt::print("Devices   {} of weights\n", text);
}

/// Prints what the logit lens costs, which is more than the forward pass for most models.
void print_lens(const CapturePreview& preview) {
  if (preview.lens_layers == 0) return;
  fmt::print(
      "Lens      logits of {} tokens in {} layers: about {:.2g} times the operations of the "
      "forward pass{}\n",
      preview.lens_tokens, preview.lens_layers, preview.lens_cost,
      preview.lens_cost > 1.0 ? "; --lens-tokens N computes a sample" : "");
}

void print_run(const CapturePreview& preview) {
  print_lens(preview);
  print_stages(preview);
  fmt::print(
      "Run       {} sequences per pass, stops after layer {}, {} of {} shards left, up to about {} "
      "of memory\n",
      preview.batch_size, preview.last_layer, preview.num_shards_left, preview.num_shards,
      bytes_text(preview.memory_bytes));
  flush_output();
}

void warn_of_full_disk(const CaptureOptions& options, const CapturePreview& preview) {
  if (preview.free_bytes < 0 || preview.num_shards == 0) return;
  const double left =
      static_cast<double>(preview.bytes) * preview.num_shards_left / preview.num_shards;
  if (left <= static_cast<double>(preview.free_bytes)) return;
  print_warnings(std::array{
      fmt::format("needs {} {} more, but {} are free; use fewer --layers, --only, or --store "
                  "float16 to need less",
                  options.compress == Compression::kNone ? "about" : "up to", human_bytes(left),
                  bytes_text(preview.free_bytes))});
}

std::string bottleneck(const CaptureResult& result) {
  const double share = result.compute_waited_seconds / result.seconds;
  if (share > 0.05)
    return fmt::format("limited by the disk, model idle {:.0f}% of the time", 100.0 * share);
  return fmt::format("limited by the model, disk idle {:.0f}% of the time",
                     100.0 * result.writer_waited_seconds / result.seconds);
}

void print_result(const CaptureOptions& options, const CaptureResult& result) {
  if (result.num_tokens > 0) {
    fmt::print("Done      {} tokens in {}: {:.0f} tokens/s, {}/s {}; {}; peak memory {}\n",
               result.num_tokens, human_duration(result.seconds),
               static_cast<double>(result.num_tokens) / result.seconds,
               human_bytes(static_cast<double>(result.bytes_written) / result.seconds),
               options.compress == Compression::kNone ? "written" : "compressed and written",
               bottleneck(result), bytes_text(result.peak_memory_bytes));
  }
  if (result.complete) {
    fmt::print("Wrote     {}\n", escaped(options.output.string()));
  } else {
    fmt::print("Shards of other processes are missing; the process that finishes last writes {}\n",
               escaped(options.output.string()));
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

void print_measured(const MeasureResult& result) {
  for (const Report& report : result.reports) {
    print_report({}, report);
    fmt::print("\n");
  }
  fmt::print("Done      {} tokens in {}: {:.0f} tokens/s{}; peak memory {}\n", result.num_tokens,
             human_duration(result.seconds),
             static_cast<double>(result.num_tokens) / result.seconds,
             result.repeated_tokens == 0
                 ? ""
                 : fmt::format(", of them {} in a second pass", result.repeated_tokens),
             bytes_text(result.peak_memory_bytes));
  for (const std::filesystem::path& output : result.outputs) {
    fmt::print("Wrote     {}\n", escaped(output.string()));
  }
  if (!result.sample.empty()) fmt::print("Wrote     {}\n", escaped(result.sample.string()));
}

int measure(const CaptureOptions& options, const MeasureOptions& measurements) {
  ProgressLine loading({.label = "load", .unit = "bytes", .quiet = options.quiet});
  ProgressLine line({.label = "measure", .unit = "tokens", .quiet = options.quiet});
  const CaptureCallbacks callbacks{
      .on_load = loading.callback(),
      .on_start =
          [&](const CapturePreview& preview) {
            loading.finish();
            print_warnings(preview.warnings);
            if (options.quiet) return;
            print_input(options, preview);
            print_lens(preview);
            print_stages(preview);
            fmt::print(
                "Measure   {} in {} datasets, {} sequences per pass, activations not stored\n",
                fmt::join(measurements.measure, ", "), preview.num_datasets, preview.batch_size);
            flush_output();
          },
      .on_progress = line.callback()};
  const MeasureResult result =
      run_measure(options, measurements, callbacks, interrupt_token(), CaptureTuning{});
  line.finish();
  if (!options.quiet) print_measured(result);
  return kExitDone;
}

void set_up_capture(CommandLine& line) {
  const auto options = std::make_shared<CaptureOptions>();
  const auto measurements = std::make_shared<MeasureOptions>();
  line.add_options(*options);
  line.add_options(*measurements);
  line.add_check([options, measurements] {
    if (measurements->is_requested()) check_measure_options(*options, *measurements);
  });
  line.on_run([options, measurements] {
    return measurements->is_requested() ? measure(*options, *measurements) : capture(*options);
  });
}

struct FileCommand {
  std::filesystem::path capture;
  bool quiet = false;

  void describe(OptionList& list) { list.add("quiet", quiet, "print errors only"); }
};

struct PackOptions {
  std::filesystem::path output;

  void describe(OptionList& list) {
    list.add("output", output, "the packed file; CAPTURE.packed.h5 if not given");
  }
};

/// Prints a field completely, since a command should be copyable.
void print_fact(const std::string& name, const std::string& value) {
  if (!value.empty()) fmt::print("{:<18}{}\n", escaped(name), escaped(value));
}

/// "values 0-15 (512), hidden 0-15 (2048)".
void print_activations(const CaptureSummary& summary) {
  std::vector<std::string> sites;
  std::map<std::string, std::vector<int>> layers;
  std::map<std::string, std::int64_t> dims;
  for (const ActivationInfo& info : summary.activations) {
    if (!layers.contains(info.site)) sites.push_back(info.site);
    layers[info.site].push_back(info.layer);
    dims[info.site] = info.dim;
  }
  for (const std::string& site : sites) {
    print_fact(site, fmt::format("layers {}, {} values per row", layers_to_string(layers[site]),
                                 dims[site]));
  }
}

/// "float16, deflated".
std::string numbers_of(const CaptureInfo& info) {
  const std::string type(enum_name(info.storage));
  return info.compression == Compression::kDeflate ? type + ", deflated" : type;
}

std::string files_of(const CaptureSummary& summary) {
  const std::size_t count = summary.shards.size();
  if (count == 0) return "one file";
  return fmt::format("{} shard{}", count, count == 1 ? "" : "s");
}

std::string option_text(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "none";
}

bool is_set(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

/// "2026-11-22T09:43:05Z by lime 0.1.0"; the part that is known, or empty.
std::string origin_of(const CaptureInfo& info) {
  if (info.tool.empty()) return info.created_utc;
  return info.created_utc.empty() ? "by " + info.tool : info.created_utc + " by " + info.tool;
}

/// Throws the remedy if the capture was started but not finished: its file does not exist yet.
void refuse_unfinished(const std::filesystem::path& capture) {
  const std::string unfinished = unfinished_run(capture);
  if (unfinished.empty()) return;
  throw IoError("'{}': does not exist yet; {}", capture.string(), unfinished);
}

int info(const FileCommand& command) {
  refuse_unfinished(command.capture);
  const CaptureSummary summary = summarize_capture(command.capture);
  const CaptureInfo& about = summary.info;
  print_fact("capture", command.capture.string());
  print_fact("complete", about.complete ? "yes" : "no; use --resume to continue");
  print_fact("rows", fmt::format("{} ({})", summary.num_rows, enum_name(about.rows)));
  print_fact("sequences", std::to_string(summary.num_sequences));
  print_activations(summary);
  print_fact("router", summary.router_layers.empty()
                           ? ""
                           : "layers " + layers_to_string(summary.router_layers));
  print_fact("classes", fmt::format("{}", fmt::join(about.class_names, ",")));
  print_fact("tasks", fmt::format("{}", fmt::join(about.task_names, ", ")));
  print_fact("scores", is_set(about.options, "log_likelihood")
                           ? "log-likelihood of every sequence, preset " +
                                 option_text(about.options, "blimp_preset")
                           : "");
  print_fact("on disk", fmt::format("{} as {}, {}", bytes_text(summary.bytes_on_disk),
                                    numbers_of(about), files_of(summary)));
  print_fact("computed in", about.compute_dtype);
  const bool is_known = about.options.contains("bos");
  print_fact("prepended", about.prepended.empty() && is_known ? "nothing" : about.prepended);
  // Sequences that keep their lengths are not packed.
  if (about.options.contains("packing") && !about.options.value("seq_len", Json()).is_null()) {
    print_fact("packing", option_text(about.options, "packing"));
  }
  print_fact("warning", missing_prefix(about, summary.num_sequences));
  print_fact("first ids", first_ids(about));
  if (is_set(about.options, "random_weights")) {
    print_fact("weights", fmt::format("random, seed {}", about.seed));
  }
  print_fact("checkpoint sha256", about.checkpoint_sha256);
  print_fact("tokenizer sha256", about.tokenizer_sha256);
  print_fact("input sha256", about.input_sha256);
  print_fact("created", origin_of(about));
  print_fact("command", about.command);
  return kExitDone;
}

int verify(const FileCommand& command) {
  refuse_unfinished(command.capture);
  ProgressLine line({.label = "verify", .unit = "bytes", .quiet = command.quiet});
  const std::vector<std::string> problems =
      verify_capture(command.capture, line.callback(), interrupt_token());
  line.finish();
  for (const std::string& problem : problems) print_line(stderr, "lime-capture: {}", problem);
  if (!problems.empty()) return kExitFailed;
  if (!command.quiet) fmt::print("'{}' is intact\n", escaped(command.capture.string()));
  return kExitDone;
}

int pack(const FileCommand& command, std::filesystem::path output) {
  refuse_unfinished(command.capture);
  if (output.empty()) {
    output = command.capture.parent_path() / (capture_stem(command.capture) + ".packed.h5");
  }
  ProgressLine line({.label = "pack", .unit = "bytes", .quiet = command.quiet});
  pack_capture(command.capture, output, line.callback(), interrupt_token());
  line.finish();
  if (!command.quiet) fmt::print("Wrote {}\n", escaped(output.string()));
  return kExitDone;
}

CommandLine& add_file_command(CommandLine& line, const std::string& name,
                              const std::string& description, FileCommand& command) {
  CommandLine& added = line.add_command(name, description);
  added.add_positional("capture", command.capture, "the capture file", true);
  added.add_options(command);
  return added;
}

void add_file_commands(CommandLine& line) {
  const auto command = std::make_shared<FileCommand>();
  const auto pack_options = std::make_shared<PackOptions>();
  add_file_command(line, "info", "Shows the contents and the provenance of a capture.", *command)
      .on_run([command] { return info(*command); });
  add_file_command(line, "verify", "Reads the whole capture and verifies every checksum.", *command)
      .on_run([command] { return verify(*command); });
  CommandLine& packing =
      add_file_command(line, "pack", "Packs a capture with shards into one plain file.", *command);
  packing.add_options(*pack_options);
  packing.set_examples("lime-capture pack capture.h5 -o one_file.h5");
  packing.on_run([command, pack_options] { return pack(*command, pack_options->output); });
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::CommandLine line(
      "lime-capture",
      "Runs a checkpoint on text and stores the activations of every layer in an HDF5 file.");
  lime::set_up_capture(line);
  lime::MetricCommands commands(line);
  lime::add_sweep_command(commands);
  lime::add_gauge_command(line);
  lime::add_file_commands(line);
  line.set_stray_remedy("pass text with --text");
  line.set_examples(
      "lime-capture --checkpoint models/llama --text book.txt -o llama.h5\n"
      "lime-capture --checkpoint models/lime --text a.txt b.txt --sites values,routed_values "
      "--layers 0,8-15 --seq-len 1024\n"
      "lime-capture --checkpoint models/llama --text book.txt --only ' is, are, was, were' -o "
      "separability.h5\n"
      "lime-capture --checkpoint models/aet --lines expressions.txt -o aet.h5\n"
      "lime-capture --checkpoint models/llama --pairs blimp/*.jsonl --rows mean -o blimp.h5\n"
      "lime-capture --checkpoint models/llama --pairs blimp/*.jsonl --log-likelihood -o "
      "scored.h5\n"
      "lime-capture --checkpoint models/llama --tokens ids.npy --store float16 --resume\n"
      "lime-capture --checkpoint models/llama --text book.txt --measure entropy,geometry -o "
      "results.json\n"
      "lime-capture info capture.h5");
  return lime::run_program(line, argc, argv);
}
