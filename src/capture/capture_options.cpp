// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_options.h"

#include <algorithm>
#include <set>

#include "capture/sites.h"
#include "core/threads/thread_pool.h"
#include "core/threads/threads.h"
#include "core/utf8.h"

namespace lime {
namespace {

void at_least_one(const char* name, std::int64_t value) {
  check_option(value >= 1, name, ">= 1", value);
}

}  // namespace

void describe_edits(OptionList& list, std::vector<std::string>& edit) {
  OptionField& field =
      list.add("edit", edit,
               "replaces activations, e.g. 'zero attn.hook_z layers=3 heads=0'; or a JSON file of "
               "edits or of scaled routes (docs/interventions.md)");
  field.splits_commas = false;
  field.role = OptionRole::kInput;
}

void ScoreSelection::describe(OptionList& list) {
  list.add("score_after", after,
           "score only the tokens after the first occurrence of this text in their sequence, e.g. "
           "'='");
  list.add("score_words", words, "score only these tokens, spaces included, as in --only");
  list.add("score_positions", positions,
           "score only the tokens at these positions of their sequence, from 0, e.g. 8-15; the "
           "prepended ones count");
}

void CaptureOptions::describe_input(OptionList& list) {
  list.group("Input");
  list.add("checkpoint", checkpoint, "checkpoint: Hugging Face folder or GGUF file").role =
      OptionRole::kInput;
  describe_edits(list, edit);
  list.add("text", text, "UTF-8 text files, one document each").role = OptionRole::kInput;
  list.add("lines", lines, "UTF-8 text files, one sequence per line").role = OptionRole::kInput;
  list.add("chat", chat,
           "each line of --lines is a message of the user, written with the checkpoint's chat "
           "template up to the beginning of the answer; in .jsonl files an object with a list "
           "\"messages\" of objects with \"role\" and \"content\"");
  list.add("views", views,
           "UTF-8 text files, a text per line, its augmented views separated by tabs, one sequence "
           "per view")
      .role = OptionRole::kInput;
  list.add(
          "tokens", tokens,
          "token ids as .npy: 2-D, one sequence per row, or 1-D, split by --seq-len; or a capture, "
          "whose sequences are used")
      .role = OptionRole::kInput;
  list.add("pairs", pairs, "minimal pairs as .jsonl in BLiMP format, one sequence per sentence")
      .role = OptionRole::kInput;
  list.add(
      "bos", bos,
      "beginning-of-sequence token before each packed sequence, line or sentence; auto: as the "
      "tokenizer specifies");
  list.add("packing", packing,
           "packing of the documents of --text: bos-each, BOS at the start of every sequence, "
           "eos-between, BOS before documents only, or lime-code, as in the LIMe code; bos-each if "
           "--bos prepends a token, else eos-between");
  list.add("seq_len", seq_len, "tokens per sequence; 2048 or the model's maximum if smaller");
  list.add("max_sequences", max_sequences, "use only the first N sequences");
  score.describe(list);
}

void CaptureOptions::describe(OptionList& list) {
  describe_input(list);
  list.add("random_weights", random_weights,
           "draw the weights with --seed, as a training run starts, and do not read those of the "
           "checkpoint: shows what is due to the architecture");
  list.group("Stored data");
  list.add("sites", sites,
           "values, routed_values, hidden, keys, logit_lens, or another hook of a layer, e.g. "
           "attn.hook_z, attn.hook_profile or attn.hook_pattern; values,hidden if not given");
  list.add("layers", layers, "all, or layers and ranges from 0, e.g. 0,3,8-15");
  list.add("lens_tokens", lens_tokens,
           "tokens of each sequence for which logit_lens is computed, drawn with --seed; default: "
           "all");
  list.add("rows", rows, "one row per token, or one per sequence: the mean or the last token");
  list.add("only", only,
           "store only the rows of these tokens, spaces included, e.g. ' is, are, was, were'");
  list.add("max_per_class", max_per_class,
           "maximum rows per token of --only, the first in the text");
  list.add(
      "log_likelihood", log_likelihood,
      "store the summed log-probability of every sequence; used alone, no activations are stored");
  list.add("blimp_preset", blimp_preset,
           "encoding of the sentences of --pairs: lm-eval, with a leading space, or blimp-paper, "
           "without; lm-eval with --log-likelihood");
  list.group("Output");
  list.add("output", output, "the capture file; its shards are stored next to it until packed")
      .role = OptionRole::kOutput;
  list.add("store", store, "data type on disk");
  list.add("compress", compress,
           "deflate: lossless compression, less disk space for more CPU time");
  list.add("resume", resume, "resume after the last finished shard").role = OptionRole::kExecution;
  list.add("shard", shard,
           "this process is the I-th (from 0) of N that write one capture; detected under srun, "
           "mpirun, torchrun and job arrays. 0/1: all of it")
      .role = OptionRole::kExecution;
  list.group("Run");
  list.add("batch_size", batch_size,
           "sequences per forward pass, 1 to 65536; 8, or as many as make up 4096 tokens; auto: as "
           "many as fit in the device's memory");
  list.add("device", device,
           "auto, cpu, cuda, cuda:I, or several that split the layers: cuda:0,cuda:1 (cpu,cpu "
           "tests a plan without GPUs)");
  list.add("dtype", dtype, "data type of the forward pass");
  list.add("allow_nan", allow_nan, "run even if weights or activations are not finite");
  list.add("memory_limit", memory_limit,
           "maximum memory of the process, e.g. 8GB: reduces the batch if needed, and fails if "
           "nothing fits")
      .role = OptionRole::kExecution;
  list.add("threads", threads,
           "threads of the forward pass and of --compress, up to 1024; 0: one per CPU")
      .role = OptionRole::kExecution;
  list.add("seed", seed,
           "stored with the capture; seed of --random-weights and --lens-tokens, and of all random "
           "numbers of --measure");
  list.add("quiet", quiet, "print errors only").role = OptionRole::kExecution;
}

void CaptureOptions::validate_input() const {
  throw_if(checkpoint.empty(), OptionName("checkpoint"),
           "a folder must be given with --checkpoint");
  const int inputs = int(!text.empty()) + int(!lines.empty()) + int(!views.empty()) +
                     int(!tokens.empty()) + int(!pairs.empty());
  throw_if(inputs != 1,
           "input: exactly one of --text, --lines, --views, --tokens and --pairs must be given, "
           "got {}",
           inputs);
  throw_if(chat && lines.empty(), OptionName("chat"), "applies to --lines only; omit --chat");
  throw_if(chat && bos != BosPolicy::kAuto, OptionName("bos"),
           "must be auto with --chat, whose template writes the tokens before a text, got {}",
           enum_name(bos));
  if (seq_len) at_least_one("seq_len", *seq_len);
  throw_if(seq_len && keeps_lengths(), OptionName("seq_len"),
           "cuts packed text, but --{} are not packed; omit it",
           !lines.empty()   ? "lines"
           : !views.empty() ? "views"
                            : "pairs");
  if (packing == Packing::kLimeCode) {
    throw_if(text.empty(), OptionName("packing"),
             "lime-code applies to --text only; omit --packing");
    throw_if(bos != BosPolicy::kAuto, OptionName("bos"),
             "must be auto with --packing {}, which sets the tokens around a document itself, "
             "got {}",
             enum_name(*packing), enum_name(bos));
  }
  if (packing == Packing::kBosEach) {
    throw_if(keeps_lengths(), OptionName("packing"),
             "bos-each applies to --text and --tokens only, because other sequences are "
             "not packed; omit --packing");
    throw_if(bos == BosPolicy::kNever, OptionName("bos"),
             "must be auto or always with --packing bos-each, got never; omit one of them");
  }
  if (max_sequences) at_least_one("max_sequences", *max_sequences);
  if (max_sequences && !pairs.empty()) {
    if (*max_sequences < 2)
      throw InvalidArgument(OptionName("max_sequences"), "a pair has 2 sequences, got 1");
  }
  throw_if(!score.is_all() && !pairs.empty(),
           "score: sentences of --pairs are scored whole; omit --score-after, --score-words and "
           "--score-positions");
}

void CaptureOptions::validate() const {
  validate_input();
  constexpr std::int64_t kLargestBatch = 65536;
  if (batch_size && !batch_size->is_automatic &&
      (batch_size->sequences < 1 || batch_size->sequences > kLargestBatch)) {
    throw InvalidArgument(OptionName("batch_size"), "must be from 1 to {}, got {}", kLargestBatch,
                          batch_size->sequences);
  }
  throw_if(batch_size && batch_size->is_automatic && !share().is_whole(), OptionName("batch_size"),
           "auto depends on the memory of one process, but processes that share a capture "
           "must use the same batch size; pass a number");
  at_least_one("max_per_class", max_per_class);
  if (lens_tokens) at_least_one("lens_tokens", *lens_tokens);
  throw_if(!score.is_all() && !log_likelihood,
           "score: --score-after, --score-words and --score-positions select tokens of "
           "--log-likelihood; pass it too");
  check_threads(threads);
  throw_if(first_invalid_utf8(output.filename().string()).has_value(), OptionName("output"),
           "the name of a capture must be UTF-8, because the file names its shards, got "
           "'{}'",
           output.filename().string());
  find_sites(selected_sites());
  throw_if(blimp_preset && pairs.empty(), OptionName("blimp_preset"),
           "applies to --pairs only; omit --blimp-preset");
  throw_if(pair_preset() && bos != BosPolicy::kAuto, OptionName("bos"),
           "must be auto with --log-likelihood of --pairs, because the token before a sentence "
           "is part of the preset, got {}",
           enum_name(bos));
  throw_if(!only.empty() && rows != RowKind::kTokens, OptionName("only"),
           "selects tokens, but --rows {} makes one row per sequence", enum_name(rows));
  const std::set<std::string> distinct(only.begin(), only.end());
  throw_if(distinct.size() != only.size(), OptionName("only"),
           "every token must be given only once");
  throw_if(output.empty() || !output.has_filename(), OptionName("output"),
           "must name a file, got '{}'", output.string());
}

int CaptureOptions::writer_threads() const {
  constexpr int kMax = 16;
  const int all = std::min(kMax, threads > 0 ? threads : available_threads());
  return compress == Compression::kNone ? std::max(1, all / 2) : all;
}

bool CaptureOptions::keeps_activations() const {
  return !log_likelihood || !sites.empty() || !layers.is_all() || rows != RowKind::kTokens ||
         !only.empty();
}

std::vector<std::string> CaptureOptions::selected_sites() const {
  return sites.empty() ? std::vector<std::string>{"values", "hidden"} : sites;
}

}  // namespace lime
