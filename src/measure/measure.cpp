// SPDX-License-Identifier: Apache-2.0
#include "measure/measure.h"

#include <c10/util/Exception.h>

#include <cstdlib>
#include <system_error>

#include "analysis/engine/capture_rows.h"
#include "analysis/engine/capture_set.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/report/results_output.h"
#include "capture/capture_setup.h"
#include "capture/loaded_model.h"
#include "core/memory.h"
#include "core/program/suggest.h"
#include "core/threads/thread_pool.h"
#include "measure/measure_passes.h"
#include "measure/measurement.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Measurements = std::vector<std::unique_ptr<Measurement>>;

/// Fraction of the free memory that kept activations may use without --memory-limit.
constexpr double kKeptFraction = 0.8;
/// With less, threads would have no layers to measure in parallel.
constexpr std::int64_t kFewestWaitingBytes = std::int64_t{32} << 20;

Measurements measurements_of(const MeasureOptions& measure, std::uint64_t seed) {
  Measurements measurements;
  for (const MeasureRequest& request : parse_measurements(measure.measure)) {
    measurements.push_back(make_measurement(request, seed));
  }
  return measurements;
}

/// Returns the capture of the sites that the measurements read.
CaptureOptions capture_of(const CaptureOptions& options, const Measurements& measurements) {
  CaptureOptions capture = options;
  std::vector<std::string> own;
  bool reads_representations = false;
  for (const auto& measurement : measurements) {
    if (measurement->own_site().empty()) {
      reads_representations = true;
    } else {
      own.emplace_back(measurement->own_site());
    }
  }
  capture.sites.clear();
  if (reads_representations) {
    capture.sites = options.selected_sites();
    for (const CaptureSite& site : find_sites(capture.sites)) {
      throw_if(!is_representation(site.name), OptionName("sites"),
               "'{}' is not a representation, but entropy and geometry need one; omit it",
               site.name);
    }
  } else {
    throw_if(!options.sites.empty(), OptionName("sites"),
             "the measurements read sites of their own ({}); omit --sites", join_words(own));
  }
  capture.sites.insert(capture.sites.end(), own.begin(), own.end());
  return capture;
}

MeasuredSequences sequences_of(const CaptureSetup& setup, const Checkpoint& checkpoint,
                               std::uint64_t seed, const std::string& device) {
  MeasuredSequences sequences;
  sequences.device = device;
  sequences.model = checkpoint_label(checkpoint.path());
  sequences.num_attention_heads = setup.config.num_attention_heads;
  sequences.seed = seed;
  for (std::int64_t s = 0; s < setup.input.num_sequences(); ++s) {
    sequences.lengths.push_back(setup.input.length(s));
  }
  return sequences;
}

/// Returns the points with the meters of the measurements that read them.
std::vector<MeteredPoint> metered_points(const CaptureSetup& setup,
                                         const Measurements& measurements,
                                         const std::vector<MeasuredSequences>& sequences) {
  std::vector<MeteredPoint> points;
  for (const CapturePoint& point : setup.passes.points) {
    if (!point.activation) continue;  // statistics of keys and values
    MeteredPoint& metered = points.emplace_back();
    metered.point = point;
    for (std::size_t m = 0; m < measurements.size(); ++m) {
      const Measurement& measurement = *measurements[m];
      const std::string_view own = measurement.own_site();
      if (own.empty() ? !is_representation(point.site) : own != point.site) continue;
      metered.entries.push_back({.measurement = m,
                                 .meter = measurement.meter(sequences[m], point.dim),
                                 .sequences = &sequences[m],
                                 .skip = measurement.skipped_tokens(),
                                 .needs_statistics = measurement.needs_statistics()});
    }
  }
  return points;
}

/// Memory that the meters need.
struct MeterBytes {
  std::int64_t total = 0;  ///< of all meters, and of the threads that use them
  bool all_wait = true;    ///< all activations are kept until statistics are known
};

int num_threads(const CaptureOptions& options) {
  return options.threads > 0 ? options.threads : available_threads();
}

MeterBytes bytes_of(const Measurements& measurements, const std::vector<MeteredPoint>& points,
                    const std::vector<MeasuredSequences>& sequences, int threads) {
  MeterBytes bytes;
  std::int64_t per_thread = 0;
  for (const MeteredPoint& point : points) {
    bytes.all_wait = bytes.all_wait && point.needs_statistics();
    for (const MeteredPoint::Entry& entry : point.entries) {
      const Measurement& measurement = *measurements[entry.measurement];
      const MeasuredSequences& used = sequences[entry.measurement];
      bytes.total += measurement.bytes(used, point.point.dim);
      per_thread = std::max(per_thread, measurement.thread_bytes(used, point.point.dim));
    }
  }
  bytes.total += threads * per_thread;
  return bytes;
}

/// Plans the memory beyond the passes, which have no queue for the disk: activations wait to be
/// measured in its place.
/// @throws InvalidArgument  if it does not suffice for the meters.
MeasureLimits limits_of(const CaptureOptions& options, const MeasureOptions& measure,
                        const CaptureSetup& setup, const MeterBytes& meters, bool on_device) {
  const auto queue = static_cast<std::int64_t>(setup.queue_bytes);
  const std::int64_t passes = setup.preview.memory_bytes - queue;
  const std::int64_t limit =
      options.memory_limit
          ? options.memory_limit->bytes
          : resident_memory() +
                static_cast<std::int64_t>(kKeptFraction * static_cast<double>(available_memory()));
  const std::int64_t left = limit - passes - meters.total;
  throw_if(options.memory_limit && left < std::min(queue, kFewestWaitingBytes),
           OptionName("memory_limit"),
           "{} is too little for the passes and {} of the measurements; pass "
           "--memory-limit {}MiB or more, use fewer --threads, or measure fewer --layers",
           options.memory_limit->to_string(), human_bytes(static_cast<double>(meters.total)),
           ((passes + meters.total + kFewestWaitingBytes) >> 20) + 1);
  MeasureLimits limits{
      .threads = options.threads,
      .waiting_bytes = std::clamp(left, kFewestWaitingBytes, std::max(queue, kFewestWaitingBytes)),
      .on_device = on_device,
      .allow_nan = options.allow_nan};
  if (!on_device) {
    // In the second pass nothing is kept any more.
    limits.kept_bytes =
        std::max<std::int64_t>(0, left - (meters.all_wait ? 0 : limits.waiting_bytes));
  }
  if (measure.activation_memory) limits.kept_bytes = measure.activation_memory->bytes;
  return limits;
}

/// Returns the units of one measurement, which finish its meters.
std::vector<Unit> units_of(std::vector<MeteredPoint>& points, std::size_t measurement,
                           const Measurement& subject, const MeasuredSequences& sequences) {
  const std::string label = subject.label(sequences);
  std::vector<Unit> units;
  for (MeteredPoint& point : points) {
    for (MeteredPoint::Entry& entry : point.entries) {
      if (entry.measurement != measurement) continue;
      Unit& unit = units.emplace_back();
      unit.key = {{col::kLabel, label},
                  {col::kSite, point.point.site},
                  {col::kLayer, point.point.point.layer}};
      unit.where = fmt::format("site '{}', layer {}", point.point.site, point.point.point.layer);
      unit.bytes = subject.finish_bytes(sequences, point.point.dim);
      unit.measure = [meter = entry.meter.get()](const UnitContext& context) {
        return meter->finish(context);
      };
    }
  }
  return units;
}

AnalysisInput input_of(const Checkpoint& checkpoint, const CaptureInput& input,
                       const std::string& label) {
  AnalysisInput model;
  model.path = checkpoint.path().string();
  model.label = label;
  model.sha256 = checkpoint.sha256();
  model.text_sha256 = input.sha256();
  return model;
}

/// The output files of the measurements, opened before the passes.
struct MeasureOutputs {
  std::vector<fs::path> paths;
  std::vector<OutputFiles> files;

  /// @throws IoError, InvalidArgument  also if the file of the stored sequences exists.
  MeasureOutputs(const fs::path& output, const MeasureOptions& measure) {
    std::error_code ignored;
    throw_if(measure.store_sequences && fs::exists(sample_path(output), ignored),
             OptionName("store_sequences"), "'{}' already exists; remove it, or use another -o",
             sample_path(output).string());
    const std::vector<MeasureRequest> requests = parse_measurements(measure.measure);
    for (const MeasureRequest& request : requests) {
      paths.push_back(results_path(output, request.metric, requests.size()));
      OutputOptions options;
      options.output = {paths.back()};
      files.emplace_back(options, std::vector<fs::path>{});
    }
  }
};

void store_sample(const CaptureOptions& options, const MeasureOptions& measure,
                  const Checkpoint& checkpoint, LoadedModel& model, const std::stop_token& stop,
                  const CaptureTuning& tuning, MeasureResult& result) {
  if (!measure.store_sequences) return;
  CaptureOptions sample = options;
  sample.output = sample_path(options.output);
  sample.max_sequences =
      std::min(*measure.store_sequences, options.max_sequences.value_or(*measure.store_sequences));
  run_capture(sample, checkpoint, model, {}, stop, tuning);
  result.sample = sample.output;
}

}  // namespace

void check_measure_options(const CaptureOptions& options, const MeasureOptions& measure) {
  measure.validate();
  check_capture_options(options, measure);
  capture_of(options, measurements_of(measure, options.seed));
}

MeasureResult run_measure(const CaptureOptions& options, const MeasureOptions& measure,
                          const CaptureCallbacks& callbacks, std::stop_token stop,
                          const CaptureTuning& tuning) {
  options.validate();
  check_measure_options(options, measure);
  use_threads(options.threads);
  const Measurements measurements = measurements_of(measure, options.seed);
  MeasureOutputs outputs(options.output, measure);
  const CaptureOptions capture = capture_of(options, measurements);
  const Checkpoint checkpoint =
      Checkpoint::open(options.checkpoint, {.allow_nan = options.allow_nan});
  LoadedModel model(capture, checkpoint, tuning, callbacks.on_load);
  const bool on_device =
      !model.devices().front().is_cpu() || std::getenv("LIME_GPU_STAND_IN") != nullptr;
  for (const auto& measurement : measurements) {
    throw_if(on_device && !measurement->needs_cpu().empty(), OptionName("measure"), "{}",
             measurement->needs_cpu());
  }
  CaptureTuning unwritten = tuning;
  unwritten.shards_at_once = 1;
  const std::unique_ptr<const CaptureSetup> setup =
      prepare_capture(capture, checkpoint, unwritten, model.place());
  const MeasuredSequences sequences =
      sequences_of(*setup, checkpoint, options.seed, devices_text(model.devices()));
  std::vector<MeasuredSequences> used;
  for (const auto& measurement : measurements) {
    measurement->check(used.emplace_back(sequences_for(*measurement, sequences)));
  }
  MeasureResult result;
  const Decoder& decoder = model.decoder(*setup);
  if (callbacks.on_start) callbacks.on_start(preview_of(*setup, checkpoint, decoder));
  store_sample(capture, measure, checkpoint, model, stop, tuning, result);

  std::vector<MeteredPoint> points = metered_points(*setup, measurements, used);
  const MeterBytes meters = bytes_of(measurements, points, used, num_threads(options));
  const MeasureLimits limits = limits_of(options, measure, *setup, meters, on_device);
  const Clock::time_point start = Clock::now();
  try {
    MeasurePasses passes(*setup, decoder, points, limits);
    if (!passes.run(callbacks.on_progress, stop)) {
      throw Interrupted("measure: interrupted; nothing was written, run the command again");
    }
    result.num_tokens = passes.num_tokens();
    result.repeated_tokens = passes.repeated_tokens();
  } catch (const c10::OutOfMemoryError&) {
    throw InvalidArgument(
        OptionName("device"),
        "'{}' has too little memory for passes of {} sequences of up to {} tokens and "
        "their measurements; use a smaller --batch-size{}",
        sequences.device, setup->batch_size, setup->input.longest(),
        measure.activation_memory ? " or --activation-memory" : "");
  }
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();

  const RunOptions run{.threads = options.threads, .seed = options.seed};
  for (std::size_t m = 0; m < measurements.size(); ++m) {
    Analysis analysis = measurements[m]->analysis(used[m]);
    if (used[m].num_short > 0) {
      analysis.notes.push_back(note_of_short(measurements[m]->label(sequences), used[m].num_short));
    }
    analysis.units = units_of(points, m, *measurements[m], used[m]);
    analysis.inputs = {input_of(checkpoint, setup->input, measurements[m]->label(sequences))};
    analysis.threads = threads_for(analysis.units, run);
    if (on_device) analysis.device = sequences.device;
    Report report = run_analysis(analysis, run, {}, stop);
    Json& provenance = report.results.provenance;
    provenance["capture"] = setup->plan.info.options;
    provenance["dtype"] = enum_name(options.dtype);
    provenance["tokens"] = sequences.num_tokens();
    provenance["repeated_tokens"] = result.repeated_tokens;
    provenance["seconds"]["passes"] = result.seconds;
    outputs.files[m].write(report);
    result.reports.push_back(std::move(report));
  }
  result.outputs = outputs.paths;
  result.peak_memory_bytes = peak_resident_memory();
  return result;
}

}  // namespace lime
