// SPDX-License-Identifier: Apache-2.0
#include "train/training_run.h"

#include <cmath>

#include "core/files/atomic_file.h"
#include "core/files/output_lock.h"
#include "core/program/program.h"
#include "train/run_files.h"
#include "train/text/tokenizer_files.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kStateFile = "training_state.safetensors";
constexpr const char* kOptionsFile = "training_options.json";
constexpr const char* kLogFile = "training_log.jsonl";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// State of one run: the steps of run_training().
class Run {
 public:
  Run(const TrainingJob& job, const ProgressFn& on_progress, std::stop_token stop)
      : job_(job),
        options_(job.setup.run),
        group_(job.setup.group),
        on_progress_(on_progress),
        stop_(std::move(stop)),
        description_(job.description),
        trainer_(job.decoder, job.data, job.setup.training, job.setup.compute, group_),
        state_path_(options_.output / kStateFile) {
    description_["model"] = model_config_to_json(job.decoder.config());
    description_["training"] = options_to_json(job.setup.training);
    // As it comes back from a file: names of files need not be UTF-8.
    description_ = parse_json(dump_json(description_), "options");
  }

  TrainingOutcome run() {
    if (writes()) {
      make_folder(options_.output);
      lock_.emplace(state_path_);
    }
    restore();
    if (writes()) write_descriptions();
    if (group_ != nullptr) agree_on_start();
    train();
    save();
    evaluate();
    write_log({{"event", "end"}, {"time", utc_timestamp()}, {"seconds", outcome_.seconds}});
    return outcome_;
  }

 private:
  /// Returns true in the one process that writes files.
  bool writes() const { return group_ == nullptr || group_->rank() == 0; }

  void write_log(const Json& line) {
    if (log_) log_->write(line);
  }

  /// Makes all processes start at the same step with the same weights.
  void agree_on_start() {
    const auto steps = static_cast<double>(trainer_.steps_done());
    throw_if(group_->sum(steps) != steps * group_->size(),
             "training: all processes must read the same '{}', got step {} in process {}",
             options_.output.string(), trainer_.steps_done(), group_->rank());
    std::vector<at::Tensor> weights;
    for (const NamedTensor& parameter : job_.decoder.parameters()) {
      weights.push_back(parameter.tensor);
    }
    group_->broadcast(weights);
  }

  /// Returns true in all processes if one was asked to stop.
  bool is_stopped() const {
    const bool here = stop_.stop_requested();
    if (group_ == nullptr) return here;
    try {
      return group_->sum(here ? 1.0 : 0.0) > 0.0;
    } catch (const Interrupted&) {
      return true;  // the others have exited; the local state can be kept
    }
  }

  /// Checks that the output is empty or a resumable run. A run writes its state before its model,
  /// so a model without a state is not from a run, or from one that cannot be resumed.
  void require_resumable_or_empty(bool has_state) const {
    throw_if(
        has_state && !options_.resume,
        "training: '{}' must not contain a model yet; add --resume to continue it or use another "
        "folder",
        options_.output.string());
    const bool has_model = fs::exists(options_.output / "config.json") ||
                           fs::exists(options_.output / "model.safetensors");
    throw_if(has_model && !has_state,
             "training: '{0}' contains a model but no {1} to resume from; use another folder, or "
             "start from this model with --from '{0}'",
             options_.output.string(), kStateFile);
  }

  void restore() {
    const bool has_state = fs::exists(state_path_);
    require_resumable_or_empty(has_state);
    if (!has_state) {
      if (!writes()) return;
      log_ = TrainLog::create(options_.output / kLogFile);
      log_->write({{"event", "start"},
                   {"time", utc_timestamp()},
                   {"tool", tool_version()},
                   {"command", program_command()},
                   {"parameters", parameter_count()},
                   {"total_steps", trainer_.total_steps()},
                   {"run", description_}});
      return;
    }
    const Json stored = read_training_run(state_path_);
    const auto difference = first_difference(stored, description_);
    if (difference) {
      const auto text = [](const std::optional<Json>& value) {
        return value ? value->dump() : "nothing";
      };
      throw InvalidArgument(
          "training: the run in '{}' has {} = {}, got {}; resume with the options that it was "
          "started with (training_options.json) or use another folder",
          options_.output.string(), difference->path, text(difference->before),
          text(difference->now));
    }
    restore_training_state(state_path_, trainer_);
    outcome_.resumed_from = saved_step_ = trainer_.steps_done();
    has_saved_ = true;
    if (!writes()) return;
    log_ = TrainLog::resume(options_.output / kLogFile, saved_step_);
    log_->write({{"event", "resume"},
                 {"time", utc_timestamp()},
                 {"command", program_command()},
                 {"step", saved_step_}});
  }

  void write_descriptions() {
    for (const auto& [name, content] :
         files_for_transformers(job_.files, job_.decoder.config().family)) {
      write_file_atomically(options_.output / name, content);
    }
    write_file_atomically(options_.output / kOptionsFile, description_.dump(2) + "\n");
  }

  void train() {
    const std::int64_t total = trainer_.total_steps();
    if (lacks_validation(outcome_.resumed_from)) validate();
    while (trainer_.steps_done() < total) {
      const Clock::time_point start = Clock::now();
      const StepRecord record = step();
      outcome_.seconds += seconds_since(start);
      targets_ += record.num_targets;
      tokens_ += record.num_tokens;
      if (record.step % options_.log_every == 0 || record.step == total) log(record);
      report(record);
      if (is_stopped() && record.step < total) interrupt();
      if (record.step % options_.save_every == 0 && record.step < total) save();
      if (is_validated(record.step)) validate();
    }
    outcome_.steps = trainer_.steps_done();
  }

  bool is_validated(std::int64_t step) const {
    return job_.validation != nullptr &&
           (step % options_.validate_every == 0 || step == trainer_.total_steps());
  }

  StepRecord step() {
    try {
      return trainer_.step();
    } catch (const Interrupted&) {
      interrupt();  // the others have exited; the weights are those of the last full step
    } catch (const NumericalError& error) {
      fail(error);
    }
  }

  [[noreturn]] void fail(const NumericalError& error) {
    write_log({{"event", "failed"},
               {"time", utc_timestamp()},
               {"after_step", trainer_.steps_done()},
               {"error", error.what()}});
    const std::string kept = has_saved_ ? fmt::format("'{}' contains the state of step {}",
                                                      options_.output.string(), saved_step_)
                                        : std::string("no state was saved");
    throw NumericalError("{}; {}", error.what(), kept);
  }

  double rate(std::int64_t count) const {
    return std::round(static_cast<double>(count) / outcome_.seconds);
  }

  void log(const StepRecord& record) {
    write_log({{"event", "step"},
               {"step", record.step},
               {"epoch", record.epoch},
               {"loss", record.loss},
               {"perplexity", std::exp(record.loss)},
               {"learning_rate", record.learning_rate},
               {"gradient_norm", record.gradient_norm},
               {"targets", record.num_targets},
               {"targets_per_second", rate(targets_)},
               {"tokens_per_second", rate(tokens_)},
               {"seconds", std::round(outcome_.seconds * 1e3) / 1e3}});
  }

  void report(const StepRecord& record) const {
    if (!on_progress_) return;
    on_progress_({.done = record.step - outcome_.resumed_from,
                  .total = trainer_.total_steps() - outcome_.resumed_from,
                  .note = fmt::format(
                      "step {}: loss {:.4f}, perplexity {:.3f}, learning rate {:.2e}, gradient "
                      "norm {:.2f}, {} tokens/s",
                      record.step, record.loss, std::exp(record.loss), record.learning_rate,
                      record.gradient_norm, human_count(rate(tokens_)))});
  }

  /// Returns true if the interrupted run stopped before a due validation: its state is saved first.
  /// The same in all processes.
  bool lacks_validation(std::int64_t step) const {
    if (step == 0 || !is_validated(step)) return false;
    const bool here = writes() && !log_->holds("validation", step);
    return group_ == nullptr ? here : group_->sum(here ? 1.0 : 0.0) > 0.0;
  }

  /// Runs in the writing process; the others wait for its answer to a stop request.
  void validate() {
    try {
      if (writes()) measure_validation_loss();
    } catch (const Interrupted&) {
      // Left to the resumed run.
    }
    if (is_stopped()) interrupt();
  }

  void measure_validation_loss() {
    outcome_.validation_loss = mean_loss(job_.decoder, *job_.validation, stop_);
    write_log({{"event", "validation"},
               {"step", trainer_.steps_done()},
               {"loss", *outcome_.validation_loss},
               {"perplexity", std::exp(*outcome_.validation_loss)}});
  }

  /// Runs in all processes. They have the same numbers, so all fail together if these cannot be
  /// saved.
  void save() {
    try {
      require_finite_state(trainer_);
    } catch (const NumericalError& error) {
      fail(error);
    }
    if (writes()) {
      write_training_state(state_path_, trainer_, description_);
      write_model();
    }
    saved_step_ = trainer_.steps_done();
    has_saved_ = true;
    write_log({{"event", "save"}, {"time", utc_timestamp()}, {"step", saved_step_}});
  }

  void write_model() {
    const std::vector<NamedTensor> weights = rounded_weights();
    ModelConfig config = job_.decoder.config();
    config.torch_dtype = enum_name(options_.save_dtype);
    write_checkpoint(options_.output, config, tensor_views(weights));
  }

  std::vector<NamedTensor> rounded_weights() const {
    try {
      return tensors_as(job_.decoder.parameters(), options_.save_dtype);
    } catch (const NumericalError& error) {
      throw NumericalError(OptionName("save_dtype"),
                           "{}; '{}' contains the state, use another --save-dtype and add --resume",
                           error.what(), options_.output.string());
    }
  }

  [[noreturn]] void interrupt() {
    save();
    write_log({{"event", "interrupted"}, {"time", utc_timestamp()}, {"step", saved_step_}});
    throw Interrupted(
        "training: stopped after step {} of {}, '{}' contains the state; use --resume to continue",
        saved_step_, trainer_.total_steps(), options_.output.string());
  }

  void evaluate() {
    if (!job_.evaluate || !writes()) return;
    try {
      outcome_.evaluation = job_.evaluate(on_progress_, stop_);
    } catch (const Interrupted&) {
      throw Interrupted(
          "training: done, but stopped while evaluating the model in '{}'; evaluate it with "
          "--resume",
          options_.output.string());
    }
    write_log({{"event", "evaluation"},
               {"step", trainer_.steps_done()},
               {"result", outcome_.evaluation}});
  }

  std::int64_t parameter_count() const {
    std::int64_t count = 0;
    for (const NamedTensor& parameter : job_.decoder.parameters())
      count += parameter.tensor.numel();
    return count;
  }

  const TrainingJob& job_;
  const TrainingRunOptions& options_;
  ProcessGroup* const group_;
  const ProgressFn& on_progress_;
  std::stop_token stop_;
  Json description_;
  Trainer trainer_;
  fs::path state_path_;
  std::optional<OutputLock> lock_;  // only in the process that writes
  std::optional<TrainLog> log_;
  TrainingOutcome outcome_;
  std::int64_t saved_step_ = 0;
  bool has_saved_ = false;
  std::int64_t targets_ = 0;
  std::int64_t tokens_ = 0;
};

}  // namespace

void TrainingRunOptions::describe(OptionList& list) {
  list.group("Output");
  list.add("output", output, "folder of the trained model, created if its parent exists");
  list.add("resume", resume, "resume the run in the folder; start a new one if there is none");
  list.add("save_every", save_every, "steps between saved states, >= 1");
  list.add("log_every", log_every, "steps between log lines, >= 1");
  list.add("validate_every", validate_every,
           "steps between evaluations of the loss on held-out data, >= 1");
  list.add("save_dtype", save_dtype,
           "data type of model.safetensors; with --resume, also converts a finished run");
}

void TrainingRunOptions::validate() const {
  if (output.empty())
    throw InvalidArgument(OptionName("output"), "must name a folder, got none; add -o DIR");
  check_option(save_every >= 1, "save_every", ">= 1", save_every);
  check_option(log_every >= 1, "log_every", ">= 1", log_every);
  check_option(validate_every >= 1, "validate_every", ">= 1", validate_every);
}

TrainingOutcome run_training(const TrainingJob& job, const ProgressFn& on_progress,
                             std::stop_token stop) {
  job.setup.run.validate();
  return Run(job, on_progress, std::move(stop)).run();
}

void TrainingSetup::validate() const {
  run.validate();
  training.validate();
  compute.validate();
}

Decoder TrainingSetup::first_decoder(std::int64_t vocab_size, std::int64_t bos_token_id,
                                     std::int64_t eos_token_id) const {
  const DecoderOptions options = compute.decoder_options();
  if (from.empty()) return {model.config(vocab_size, bos_token_id, eos_token_id), seed, options};
  const Checkpoint checkpoint = Checkpoint::open(from);
  checkpoint.config().require_head("from");
  throw_if(checkpoint.config().vocab_size < vocab_size, OptionName("from"),
           "the vocabulary of '{}' must contain the {} tokens of the data, got {} tokens; train "
           "with its own tokenizer",
           from.string(), vocab_size, checkpoint.config().vocab_size);
  const ModelConfig config = model.routed(checkpoint.config());
  if (config == checkpoint.config()) return load_decoder(checkpoint, options);
  Decoder decoder(config, seed, options);
  load_blocks(checkpoint, decoder);
  return decoder;
}

void TrainingSetup::check_length(const ModelConfig& config, std::int64_t tokens,
                                 const std::string& what) const {
  const bool is_new = from.empty();
  const std::int64_t most = is_new ? config.max_position_embeddings : config.max_length();
  if (tokens <= most) return;
  throw_if(is_new, OptionName("max_position_embeddings"),
           "must be at least the {} tokens of {}, got {}", tokens, what, most);
  throw InvalidArgument(OptionName("from"),
                        "'{}' has {} learned positions, fewer than the {} tokens of {}; use "
                        "shorter sequences or a model with rotary positions",
                        from.string(), most, tokens, what);
}

void TrainingSetup::warn_of_long(const ModelConfig& config,
                                 std::span<const std::int64_t> lengths) const {
  const std::int64_t context = config.max_position_embeddings;
  const auto count =
      std::ranges::count_if(lengths, [&](std::int64_t tokens) { return tokens > context; });
  if (count == 0 || !warn) return;
  warn(
      fmt::format("{} of {} training sequences are longer than max_position_embeddings = {} of "
                  "'{}', up to {} tokens; its positions are defined there, and its config.json "
                  "stays as it is",
                  count, lengths.size(), context, from.string(), std::ranges::max(lengths)));
}

Json TrainingSetup::describe(const char* task, Json data) const {
  return {{"task", task},
          {"data", std::move(data)},
          {"from", from.empty() ? std::string() : Checkpoint::open(from).sha256()},
          {"seed", seed}};
}

}  // namespace lime
