// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_options.h"

#include <algorithm>

namespace lime {
namespace {

constexpr std::int64_t kShortest = 8;
constexpr std::int64_t kLongest = 1 << 20;

}  // namespace

bool AuditOptions::wants(AuditMetric candidate) const {
  return metric.empty() || std::ranges::find(metric, candidate) != metric.end();
}

void AuditOptions::describe_inputs(OptionList& list) {
  list.add("checkpoint", checkpoint, "checkpoint folder or GGUF file");
}

void AuditOptions::describe(OptionList& list) {
  list.add("over", over,
           "what changes: coordinates of the weights (lime-capture gauge), or texts: length, order "
           "and repetition of the tokens");
  list.add(
      "metric", metric,
      "measurements; default: all that apply to the model (probes need --only, views --views)");
  list.add("layer", layer, "layers, counted from 0: all, or a list, e.g. 0,3,8-15");
  list.add("site", site,
           "sites, as in lime-capture; default: values, routed values, keys, hidden states, and "
           "inputs and outputs of the output projections");
  list.group("Input");
  list.add("text", text, "UTF-8 text files").takes_several = true;
  list.add("tokens", tokens, "token ids as .npy, or a capture, instead of --text");
  list.add("seq_len", seq_len, "tokens per sequence, of texts those of the reference, >= 8");
  list.add("max_sequences", max_sequences, "number of sequences, >= 5");
  list.add("only", only,
           "words that probes separate, spaces included, as in lime-capture, e.g. ' the, of, and'");
  list.add("probe_sequences", probe_sequences, "number of sequences that --only searches, >= 5");
  list.add("views", views, "file of augmented views, as in lime-capture");
  list.add("lens_tokens", lens_tokens, "tokens of each sequence for the logit lens, >= 2");
  list.group("Changes");
  list.add("transform", transform,
           "transforms of lime-capture gauge; default: all that are exact for the model");
  list.add("strength", strength, "strength of the transforms, > 0 and at most 5");
  list.add("lengths", lengths,
           "with --over texts: tokens per sequence; default: 64,128,256,512,1024,2048, as far as "
           "the model allows");
  list.group("Output");
  list.add("folder", folder,
           "folder of the captures, which an interrupted or repeated audit uses again")
      .role = OptionRole::kOutput;
}

void AuditOptions::validate() const {
  throw_if(text.empty() == tokens.empty(), OptionName("text"),
           "expected text files, or token ids with --tokens");
  check_option(seq_len >= kShortest && seq_len <= kLongest, "seq_len",
               fmt::format("{} to {}", kShortest, kLongest), seq_len);
  check_option(max_sequences >= kFewestAuditSequences && max_sequences <= kLongest, "max_sequences",
               fmt::format("{} to {}", kFewestAuditSequences, kLongest), max_sequences);
  check_option(probe_sequences >= kFewestAuditSequences && probe_sequences <= kLongest,
               "probe_sequences", fmt::format("{} to {}", kFewestAuditSequences, kLongest),
               probe_sequences);
  check_option(lens_tokens >= 2 && lens_tokens <= kLongest, "lens_tokens",
               fmt::format("2 to {}", kLongest), lens_tokens);
  check_option(strength > 0.0 && strength <= 5.0, "strength", "> 0 and at most 5", strength);
  for (const std::int64_t length : lengths) {
    check_option(length >= kShortest && length <= kLongest, "lengths",
                 fmt::format("{} to {}", kShortest, kLongest), length);
  }
  const bool is_texts = over == AuditOver::kTexts;
  throw_if(!is_texts && !lengths.empty(), OptionName("lengths"),
           "applies to --over texts only; omit it");
  throw_if(is_texts && !transform.empty(), OptionName("transform"),
           "applies to --over coordinates only; omit it");
  throw_if(is_texts && !(only.empty() && views.empty()),
           OptionName(only.empty() ? "views" : "only"),
           "applies to --over coordinates only, since probes and views have texts of their own; "
           "omit it");
}

}  // namespace lime
