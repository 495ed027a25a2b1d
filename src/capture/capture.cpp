// SPDX-License-Identifier: Apache-2.0
#include "capture/capture.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <system_error>

#include "capture/activation_collector.h"
#include "capture/capture_passes.h"
#include "capture/capture_setup.h"
#include "capture/capture_sizes.h"
#include "capture/capture_steps.h"
#include "capture/loaded_model.h"
#include "capture/scores.h"
#include "capture/shard_writer_thread.h"
#include "core/files/atomic_file.h"
#include "core/files/output_lock.h"
#include "model/decoders/decoder.h"
#include "model/kernels/parallel_tiles.h"
#include "store/file_names.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Runs the model over the missing shards.
class MissingShardsRun {
 public:
  MissingShardsRun(const CaptureSetup& setup, const Decoder& decoder, CaptureWriter& writer)
      : setup_(setup),
        decoder_(decoder),
        steps_(CaptureSteps(setup, writer.missing_shards())),
        lens_(decoder, setup.input, setup.passes.points) {
    progress_.total = steps_.num_tokens();
    for (std::int64_t i = 0; i < setup.shards_at_once; ++i) {
      open_.push_back(std::make_unique<OpenShard>(setup, writer));
    }
  }

  /// @return false if it was stopped; the current shard is then dropped.
  bool run(const ProgressFn& on_progress, const std::stop_token& stop) {
    const at::NoGradGuard no_grad;
    const PassThreads threads;  // sleep when idle: the writer needs a CPU
    if (on_progress) on_progress(progress_);
    using Reader = SharedCaptureSteps::Reader;
    const auto next_batch = [this] {
      const std::shared_ptr<const CaptureStep> step = steps_.next(Reader::kPasses);
      if (step == nullptr) return at::Tensor();
      const std::vector<std::int64_t> sequences = step->sequences();
      const at::Tensor ids = batch_ids(setup_.input, sequences);
      if (setup_.passes.edits != nullptr) {
        setup_.passes.edits->begin_batch(sequences, step->lengths());
      }
      return ids;
    };
    const auto passes = make_passes(decoder_, setup_.passes, next_batch);
    while (const std::shared_ptr<const CaptureStep> step = steps_.next(Reader::kRun)) {
      if (stop.stop_requested()) {
        finish_writing();  // waiting complete shards are written; the current ones are dropped
        return false;
      }
      run_step(*step, *passes);
      if (on_progress) on_progress(progress_);
    }
    finish_writing();
    result_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    result_.num_tokens = progress_.done;
    for (const auto& shard : open_) {
      result_.compute_waited_seconds += shard->thread.compute_waited_seconds();
      result_.writer_waited_seconds +=
          shard->thread.writer_waited_seconds() / static_cast<double>(open_.size());
    }
    return true;
  }

  const CaptureResult& result() const { return result_; }

 private:
  /// State of a shard while it is written; the next one uses it again.
  struct OpenShard {
    OpenShard(const CaptureSetup& setup, CaptureWriter& writer)
        : thread(writer, setup.queue_bytes / static_cast<std::size_t>(setup.shards_at_once)),
          collector(setup.passes.points, setup.config,
                    {.rows = setup.plan.info.rows,
                     .keeps_all_tokens = setup.selection->keeps_all(),
                     .allow_nan = setup.allow_nan},
                    thread) {}

    ShardWriterThread thread;
    ActivationCollector collector;
    std::vector<SequenceScore> scores;  // of the window
  };

  OpenShard& open(const ShardBatch& part) { return *open_[part.place]; }

  void run_step(const CaptureStep& step, CapturePasses& passes) {
    for (const ShardBatch& part : step.parts) {
      if (part.is_missing) begin_part(part);
    }
    const ForwardResult result = passes.next([&](std::size_t point, const at::Tensor& activation) {
      if (lens_.is_lens(point)) return lens_.keep(point, activation);
      receive(step, point, activation, passes.keeps_activations());
    });
    lens_.finish(result.hidden, step.sequences(), [&](std::size_t point, const at::Tensor& rows) {
      receive(step, point, rows, false);
    });
    if (setup_.scores) score(step, result.hidden);
    progress_.done += step.num_tokens();
    for (const ShardBatch& part : step.parts) {
      if (part.is_missing) end_part(part);
    }
  }

  void begin_part(const ShardBatch& part) {
    OpenShard& shard = open(part);
    if (part.begins_shard) {
      const SequenceRange range = setup_.shards[static_cast<std::size_t>(part.shard)];
      const auto begin = setup_.input.sequences.begin() + range.first;
      shard.thread.begin(part.shard, range.first, {begin, begin + range.count});
    }
    if (part.begins_window) {
      const SequenceRange range = part.window->range;
      RowTable rows = setup_.selection->rows_of(range.first, range.count);
      result_.bytes_written += rows.size() * setup_.bytes_per_row;
      shard.collector.begin_window(*part.window, std::move(rows));
      shard.scores.assign(static_cast<std::size_t>(range.count), {});
    }
    shard.collector.begin_batch(part.batch);
  }

  /// Gives each shard the rows of its sequences.
  void receive(const CaptureStep& step, std::size_t point, const at::Tensor& activation,
               bool is_kept) {
    std::int64_t first = 0;
    for (const ShardBatch& part : step.parts) {
      const std::int64_t count = std::ssize(part.batch.sequences);
      if (part.is_missing) {
        open(part).collector.receive(point, activation.narrow(0, first, count), is_kept);
      }
      first += count;
    }
  }

  void end_part(const ShardBatch& part) {
    OpenShard& shard = open(part);
    if (part.ends_window) {
      shard.collector.end_window();
      if (setup_.scores) send_scores(*part.window, shard);
    }
    if (part.ends_shard) shard.thread.end(shard.collector.take_statistics());
  }

  void score(const CaptureStep& step, const at::Tensor& hidden) {
    const std::vector<SequenceScore> scores =
        score_sequences(decoder_, hidden, setup_.input, step.sequences());
    auto score = scores.begin();
    for (const ShardBatch& part : step.parts) {
      for (const std::int64_t sequence : part.batch.sequences) {
        const std::int64_t slot = sequence - part.window->range.first;
        if (part.is_missing) open(part).scores[static_cast<std::size_t>(slot)] = *score;
        ++score;
      }
    }
  }

  /// Sends the window's scores to the writer; sequences with the same ids get the same score, so
  /// that a pair of equal sentences is a tie.
  void send_scores(const CaptureWindow& window, OpenShard& shard) {
    std::vector<SequenceScore>& scores = shard.scores;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] = scores[static_cast<std::size_t>(window.duplicate_of[i] - window.range.first)];
      if (setup_.allow_nan || std::isfinite(scores[i].log_likelihood)) continue;
      throw NumericalError(
          "capture: log-likelihoods must be finite, sequence {} has {}; check the weights, use a "
          "wider --dtype, or pass --allow-nan",
          window.range.first + static_cast<std::int64_t>(i), scores[i].log_likelihood);
    }
    shard.thread.push([first = window.range.first, scores](ShardWriter& writer) {
      writer.set_scores(first, scores);
    });
  }

  void finish_writing() {
    for (const auto& shard : open_) shard->thread.finish();
  }

  const CaptureSetup& setup_;
  const Decoder& decoder_;
  SharedCaptureSteps steps_;
  const Clock::time_point start_ = Clock::now();  // before the writer, which waits from then on
  std::vector<std::unique_ptr<OpenShard>> open_;  // by ShardBatch::place
  LogitLens lens_;
  Progress progress_;
  CaptureResult result_;
};

/// Locks of a capture in progress. Names with other extensions may share the shard folder.
struct CaptureLocks {
  OutputLock file;
  OutputLock shards;
};

/// Rejects an output that exists, is not writable or is being written, before any long computation.
CaptureLocks claim_output(const CaptureOptions& options) {
  std::error_code error;
  throw_if(fs::is_directory(options.output, error),
           "capture: '{}' is a folder, expected a file; pass e.g. -o '{}'", options.output.string(),
           (options.output / "capture.h5").string());
  CaptureLocks locks{OutputLock(options.output, options.share()),
                     OutputLock(shard_folder_of(options.output), options.share(), options.output)};
  throw_if(!options.resumes() && fs::exists(options.output, error),
           "capture: '{}' already exists; use --resume to continue, remove it, or use another -o",
           options.output.string());
  const AtomicFile probe(options.output);
  return locks;
}

/// Ends an interrupted run: makes the finished shards readable.
[[noreturn]] void interrupted(const CaptureOptions& options, CaptureWriter& writer) {
  const std::size_t left = writer.missing_shards().size();
  const bool is_alone = options.share().is_whole();
  if (is_alone) writer.finish_partial();
  throw Interrupted(
      "capture: interrupted with {} of {} shards unfinished; finished ones are kept, the same "
      "command {}resumes",
      left, writer.plan().num_shards, is_alone ? "with --resume " : "");
}

CaptureResult write_capture(const CaptureOptions& options, const Checkpoint& checkpoint,
                            LoadedModel& model, const CaptureCallbacks& callbacks,
                            std::stop_token stop, const CaptureTuning& tuning) {
  if (options.log_likelihood) checkpoint.config().require_head("log_likelihood");
  const std::unique_ptr<const CaptureSetup> setup_owner =
      prepare_capture(options, checkpoint, tuning, model.place());
  const CaptureSetup& setup = *setup_owner;
  const Decoder& decoder = model.decoder(setup);
  CaptureWriter writer(options.output, setup.plan,
                       {.if_exists = options.resumes() ? IfExists::kResume : IfExists::kRefuse,
                        .process = options.share().index,
                        .num_processes = options.share().count,
                        .threads = setup.writer_threads});
  if (callbacks.on_start) {
    CapturePreview preview = preview_of(setup, checkpoint, decoder);
    preview.num_shards_left = static_cast<int>(writer.missing_shards().size());
    callbacks.on_start(preview);
  }
  CaptureResult result;
  try {
    MissingShardsRun run(setup, decoder, writer);
    const bool is_done = run.run(callbacks.on_progress, stop);
    result = run.result();
    result.complete = is_done;
  } catch (const c10::OutOfMemoryError&) {
    fail_out_of_memory(setup, decoder);
  }
  if (!result.complete) interrupted(options, writer);
  result.complete = writer.finish();
  result.peak_memory_bytes = peak_resident_memory();
  return result;
}

}  // namespace

CaptureResult run_capture(const CaptureOptions& options, const CaptureCallbacks& callbacks,
                          std::stop_token stop, const CaptureTuning& tuning) {
  options.validate();
  use_threads(options.threads);
  const CaptureLocks locks = claim_output(options);
  const Checkpoint checkpoint =
      Checkpoint::open(options.checkpoint, {.allow_nan = options.allow_nan});
  LoadedModel model(options, checkpoint, tuning, callbacks.on_load);
  return write_capture(options, checkpoint, model, callbacks, std::move(stop), tuning);
}

CaptureResult run_capture(const CaptureOptions& options, const Checkpoint& checkpoint,
                          LoadedModel& model, const CaptureCallbacks& callbacks,
                          std::stop_token stop, const CaptureTuning& tuning) {
  options.validate();
  const CaptureLocks locks = claim_output(options);
  return write_capture(options, checkpoint, model, callbacks, std::move(stop), tuning);
}

}  // namespace lime
