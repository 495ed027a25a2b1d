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

std::int64_t tokens_of(const CaptureInput& input, SequenceRange range) {
  return input.offsets[static_cast<std::size_t>(range.first + range.count)] -
         input.offsets[static_cast<std::size_t>(range.first)];
}

/// Runs the model over the missing shards.
class MissingShardsRun {
 public:
  MissingShardsRun(const CaptureSetup& setup, const Decoder& decoder, CaptureWriter& writer)
      : setup_(setup),
        decoder_(decoder),
        shards_(writer.missing_shards()),
        thread_(writer, setup.queue_bytes),
        collector_(setup.passes.points, setup.config,
                   {.rows = setup.plan.info.rows,
                    .keeps_all_tokens = setup.selection->keeps_all(),
                    .allow_nan = setup.allow_nan},
                   thread_),
        lens_(decoder, setup.input, setup.passes.points) {
    for (const int shard : shards_) progress_.total += tokens_of(setup.input, range_of(shard));
  }

  /// @return false if it was stopped; the current shard is then dropped.
  bool run(const ProgressFn& on_progress, const std::stop_token& stop) {
    const at::NoGradGuard no_grad;
    const PassThreads threads;  // sleep when idle: the writer needs a CPU
    if (on_progress) on_progress(progress_);
    using Reader = SharedCaptureSteps::Reader;
    SharedCaptureSteps steps(CaptureSteps(setup_, shards_));
    const auto next_batch = [this, &steps] {
      const std::shared_ptr<const CaptureStep> step = steps.next(Reader::kPasses);
      if (step == nullptr) return at::Tensor();
      const at::Tensor ids = batch_ids(setup_.input, step->batch.sequences);
      if (setup_.passes.edits != nullptr) {
        setup_.passes.edits->begin_batch(step->batch.sequences, step->batch.lengths);
      }
      return ids;
    };
    const auto passes = make_passes(decoder_, setup_.passes, next_batch);
    while (const std::shared_ptr<const CaptureStep> step = steps.next(Reader::kRun)) {
      if (stop.stop_requested()) {
        thread_.finish();  // waiting complete shards are written; the current one is dropped
        return false;
      }
      run_step(*step, *passes);
      if (on_progress) on_progress(progress_);
    }
    thread_.finish();
    result_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    result_.num_tokens = progress_.done;
    result_.compute_waited_seconds = thread_.compute_waited_seconds();
    result_.writer_waited_seconds = thread_.writer_waited_seconds();
    return true;
  }

  const CaptureResult& result() const { return result_; }

 private:
  SequenceRange range_of(int shard) const { return setup_.shards[static_cast<std::size_t>(shard)]; }

  void run_step(const CaptureStep& step, CapturePasses& passes) {
    if (step.begins_shard) begin_shard(step.shard);
    if (step.begins_window) begin_window(*step.window);
    collector_.begin_batch(step.batch);
    const ForwardResult result = passes.next([&](std::size_t point, const at::Tensor& activation) {
      if (lens_.is_lens(point)) return lens_.keep(point, activation);
      collector_.receive(point, activation, passes.keeps_activations());
    });
    lens_.finish(result.hidden, step.batch.sequences,
                 [this](std::size_t point, const at::Tensor& rows) {
                   collector_.receive(point, rows, false);
                 });
    if (setup_.scores) score(step, result.hidden);
    progress_.done += step.batch.num_tokens();
    if (step.ends_window) {
      collector_.end_window();
      if (setup_.scores) send_scores(*step.window);
    }
    if (step.ends_shard) thread_.end(collector_.take_statistics());
  }

  void begin_shard(int shard) {
    const SequenceRange range = range_of(shard);
    const auto begin = setup_.input.sequences.begin() + range.first;
    thread_.begin(shard, range.first, {begin, begin + range.count});
  }

  void begin_window(const CaptureWindow& window) {
    RowTable rows = setup_.selection->rows_of(window.range.first, window.range.count);
    result_.bytes_written += rows.size() * setup_.bytes_per_row;
    collector_.begin_window(window, std::move(rows));
    scores_.assign(static_cast<std::size_t>(window.range.count), {});
  }

  void score(const CaptureStep& step, const at::Tensor& hidden) {
    const std::vector<std::int64_t>& sequences = step.batch.sequences;
    const std::vector<SequenceScore> scores =
        score_sequences(decoder_, hidden, setup_.input, sequences);
    for (std::size_t s = 0; s < scores.size(); ++s) {
      const std::int64_t slot = sequences[s] - step.window->range.first;
      scores_[static_cast<std::size_t>(slot)] = scores[s];
    }
  }

  /// Sends the window's scores to the writer; sequences with the same ids get the same score, so
  /// that a pair of equal sentences is a tie.
  void send_scores(const CaptureWindow& window) {
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      scores_[i] = scores_[static_cast<std::size_t>(window.duplicate_of[i] - window.range.first)];
      if (setup_.allow_nan || std::isfinite(scores_[i].log_likelihood)) continue;
      throw NumericalError(
          "capture: log-likelihoods must be finite, sequence {} has {}; check the weights, use a "
          "wider --dtype, or pass --allow-nan",
          window.range.first + static_cast<std::int64_t>(i), scores_[i].log_likelihood);
    }
    thread_.push([first = window.range.first, scores = scores_](ShardWriter& shard) {
      shard.set_scores(first, scores);
    });
  }

  const CaptureSetup& setup_;
  const Decoder& decoder_;
  const std::vector<int> shards_;
  const Clock::time_point start_ = Clock::now();  // before the writer, which waits from then on
  ShardWriterThread thread_;
  ActivationCollector collector_;
  LogitLens lens_;
  std::vector<SequenceScore> scores_;  // of the window
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
                        .threads = options.writer_threads()});
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
