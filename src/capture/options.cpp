// SPDX-License-Identifier: Apache-2.0
#include "capture/options.h"

#include <algorithm>
#include <set>

#include "capture/sites.h"
#include "core/errors.h"
#include "core/thread_pool.h"
#include "core/threads.h"

namespace lime {

void CaptureOptions::describe(OptionList& list) {
  list.group("Input");
  list.add("checkpoint", checkpoint, "folder with config.json, weights and tokenizer");
  list.add("router_edit", router_edit,
           "JSON file that switches routes of LIMe off or scales them (docs/cli.md)");
  list.add("text", text, "text files in UTF-8, each one document");
  list.add("lines", lines, "text files in UTF-8, each line a sequence of its own");
  list.add("tokens", tokens,
           "token ids as .npy: 2-D, a sequence per row, or 1-D, cut to --seq-len");
  list.add("pairs", pairs, "minimal pairs as .jsonl in BLiMP's form, a sequence per sentence");
  list.add("bos", bos,
           "beginning-of-sequence token before each document, line or sentence; auto: as the "
           "tokenizer says");
  list.add("packing", packing,
           "how the documents of --text are put together: eos-between, an end-of-sequence token "
           "between two, or lime-code, as the LIMe code packs its data");
  list.add("seq_len", seq_len, "tokens per sequence; 2048 or what the model takes");
  list.add("max_sequences", max_sequences, "take the first so many sequences");
  list.group("What to keep");
  list.add("sites", sites,
           "values, routed_values, hidden, keys, or another hook of a layer, e.g. attn.hook_z, or "
           "attn.hook_pattern for what tokens attend to; values,hidden if not given");
  list.add("layers", layers, "all, or layers and ranges from 0, e.g. 0,3,8-15");
  list.add("rows", rows, "a row per token, or one per sequence: the mean or the last token");
  list.add("only", only,
           "keep the rows of these tokens only, spaces included, e.g. ' is, are, was, were'");
  list.add("max_per_class", max_per_class, "rows per token of --only, the first in the text");
  list.add("log_likelihood", log_likelihood,
           "keep the summed log-probability of every sequence; alone, it keeps no activations");
  list.add("blimp_preset", blimp_preset,
           "how sentences of --pairs are encoded: lm-eval, with a space before, or blimp-paper, "
           "without; lm-eval with --log-likelihood");
  list.group("Output");
  list.add("output", output, "the capture file; shards lie beside it until packed");
  list.add("store", store, "number type on disk");
  list.add("compress", compress,
           "deflate: fewer bytes of the same numbers on disk, for more work of the processors");
  list.add("resume", resume, "go on after the last finished shard");
  list.add(
      "shard", shard,
      "this process is the I-th (from 0) of N that write one capture; srun, mpirun, torchrun and "
      "job arrays say so themselves. 0/1: all of it");
  list.group("Run");
  list.add("batch_size", batch_size,
           "sequences per forward pass, 1 to 65536; 8, or as many as make up 4096 tokens; auto: as "
           "many as the "
           "device's memory takes");
  list.add(
      "device", device,
      "auto, cpu, cuda, cuda:I, or several that share the layers: cuda:0,cuda:1 (cpu,cpu tries "
      "a plan without GPUs)");
  list.add("dtype", dtype, "arithmetic of the forward pass");
  list.add("allow_nan", allow_nan, "run although weights or activations are not finite");
  list.add("memory_limit", memory_limit,
           "most memory of the process, e.g. 8GB: takes a smaller batch where needed, and refuses "
           "what cannot fit");
  list.add("threads", threads,
           "threads of the forward pass, and of --compress, up to 1024; 0: one per processor");
  list.add("seed", seed, "stored with the capture; nothing in it is random so far");
  list.add("quiet", quiet, "print errors only");
}

void CaptureOptions::validate() const {
  if (checkpoint.empty()) {
    throw InvalidArgument("checkpoint: a folder must be given with --checkpoint");
  }
  const int inputs =
      int(!text.empty()) + int(!lines.empty()) + int(!tokens.empty()) + int(!pairs.empty());
  if (inputs != 1) {
    throw InvalidArgument(
        "input: exactly one of --text, --lines, --tokens and --pairs must be given, got {}",
        inputs);
  }
  const auto at_least_one = [](const char* name, std::int64_t value) {
    if (value < 1) throw InvalidArgument("{}: must be >= 1, got {}", name, value);
  };
  if (seq_len) at_least_one("seq_len", *seq_len);
  if (seq_len && keeps_lengths()) {
    throw InvalidArgument("seq_len: --{} are not packed; leave --seq-len out",
                          pairs.empty() ? "lines" : "pairs");
  }
  if (packing != Packing::kEosBetween) {
    if (text.empty()) {
      throw InvalidArgument("packing: applies to --text only; leave --packing out");
    }
    if (bos != BosPolicy::kAuto) {
      throw InvalidArgument(
          "bos: must be auto with --packing {}, which sets the tokens around a document itself, "
          "got {}",
          enum_name(packing), enum_name(bos));
    }
  }
  if (max_sequences) at_least_one("max_sequences", *max_sequences);
  if (max_sequences && !pairs.empty()) {
    if (*max_sequences < 2) throw InvalidArgument("max_sequences: a pair has 2 sequences, got 1");
  }
  constexpr std::int64_t kLargestBatch = 65536;
  if (batch_size && !batch_size->is_automatic &&
      (batch_size->sequences < 1 || batch_size->sequences > kLargestBatch)) {
    throw InvalidArgument("batch_size: must be from 1 to {}, got {}", kLargestBatch,
                          batch_size->sequences);
  }
  if (batch_size && batch_size->is_automatic && !share().is_whole()) {
    throw InvalidArgument(
        "batch_size: auto goes by the memory of one process, and processes that share a capture "
        "must choose alike; give a number");
  }
  at_least_one("max_per_class", max_per_class);
  check_threads(threads);
  find_sites(chosen_sites());
  if (blimp_preset && pairs.empty()) {
    throw InvalidArgument("blimp_preset: is about --pairs; leave --blimp-preset out");
  }
  if (pair_preset() && bos != BosPolicy::kAuto) {
    throw InvalidArgument(
        "bos: must be auto with --log-likelihood of --pairs, because the token before a sentence "
        "is part of the preset, got {}",
        enum_name(bos));
  }
  if (!only.empty() && rows != RowKind::kTokens) {
    throw InvalidArgument("only: chooses tokens, but --rows {} makes one row per sequence",
                          enum_name(rows));
  }
  const std::set<std::string> distinct(only.begin(), only.end());
  if (distinct.size() != only.size()) {
    throw InvalidArgument("only: every token must be given once");
  }
  if (output.empty() || !output.has_filename()) {
    throw InvalidArgument("output: must name a file, got '{}'", output.string());
  }
}

int CaptureOptions::compress_threads() const {
  constexpr int kMost = 16;
  return std::min(kMost, threads > 0 ? threads : available_threads());
}

bool CaptureOptions::keeps_activations() const {
  return !log_likelihood || !sites.empty() || !layers.is_all() || rows != RowKind::kTokens ||
         !only.empty();
}

std::vector<std::string> CaptureOptions::chosen_sites() const {
  return sites.empty() ? std::vector<std::string>{"values", "hidden"} : sites;
}

std::optional<BlimpPreset> CaptureOptions::pair_preset() const {
  if (blimp_preset || pairs.empty() || !log_likelihood) return blimp_preset;
  return BlimpPreset::kLmEval;
}

Json content_options(const CaptureOptions& options) {
  Json content = options_to_json(options);
  for (const char* const name : {"checkpoint", "text", "lines", "tokens", "pairs", "output",
                                 "resume", "shard", "memory_limit", "threads", "quiet"}) {
    content.erase(name);
  }
  // Omitted so that captures started before this option existed can be resumed.
  if (options.compress == Compression::kNone) content.erase("compress");
  if (options.packing == Packing::kEosBetween) content.erase("packing");
  content.erase("router_edit");
  // The content of the file, not its path.
  if (!options.router_edit.empty()) content["router_edit"] = read_json_file(options.router_edit);
  return content;
}

}  // namespace lime
