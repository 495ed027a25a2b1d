// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention/attention_analysis.h"
#include "analysis/audit/audit_analysis.h"
#include "analysis/blimp/blimp_analysis.h"
#include "analysis/choices/choices_analysis.h"
#include "analysis/collapse/collapse_analysis.h"
#include "analysis/correlates/correlates_analysis.h"
#include "analysis/cost/cost_analysis.h"
#include "analysis/counterfactual/counterfactual_analysis.h"
#include "analysis/entropy/entropy_analysis.h"
#include "analysis/experts/experts_analysis.h"
#include "analysis/geometry/geometry_analysis.h"
#include "analysis/lens/lens_analysis.h"
#include "analysis/router/router_analysis.h"
#include "analysis/separability/separability_analysis.h"
#include "analysis/series/series_analysis.h"
#include "analysis/similarity/similarity_analysis.h"
#include "analysis/streams/streams_analysis.h"
#include "analysis/tokens/tokens_analysis.h"
#include "analysis/tsne/tsne_analysis.h"
#include "core/program/program.h"
#include "metric_commands.h"

namespace lime {
namespace {

void add_metrics(MetricCommands& commands) {
  commands.add(
      prepare_entropy,
      {.name = "entropy",
       .description =
           "Matrix-based Renyi entropy of the representations per layer.\n"
           "Near 0, all tokens of a sequence are collinear (representation collapse). At the "
           "ceiling, ln min(tokens, dim), they spread evenly over all dimensions.\n"
           "Site values is the output of W_V. The LIMe code instead measures the values after the "
           "router; use --site paper for these: routed_values of a LIMe, values of a LLaMA.",
       .progress_unit = "sequences",
       .examples =
           "lime-metrics entropy --layer all\n"
           "lime-metrics entropy llama.h5 lime.h5 --label LLaMA LIMe --site values,hidden\n"
           "lime-metrics entropy --layer 0,3,8-15 --alpha 0.5,1,2,inf --format csv\n"
           "lime-metrics entropy llama.h5 lime.h5 -o entropy.json -o entropy.csv -o entropy.tex\n"
           "lime-metrics entropy llama.h5 lime.h5 --site paper --compare first\n"
           "lime-metrics entropy llama.h5 lime.h5 --site paper --summary layers --format latex\n"
           "lime-metrics entropy untrained.h5 trained.h5 --preset diff-erank"});
  commands.add(
      prepare_collapse,
      {.name = "collapse",
       .description =
           "Why representations collapse, or do not: one sentence per range of layers.\n"
           "Tells apart massive tokens, outlier dimensions, a common direction, rank collapse, "
           "dimensional collapse, repetition of tokens, and the effect of the architecture. Each "
           "is measured alone and without the others. Guide: docs/collapse.md.",
       .progress_unit = "sequences",
       .examples = "lime-metrics collapse capture.h5 --checkpoint MODEL\n"
                   "lime-metrics collapse llama.h5 lime.h5 --label LLaMA LIMe -o collapse.json\n"
                   "lime-metrics collapse capture.h5 --random random.h5\n"
                   "lime-figure report collapse.json -o collapse.html",
       .has_samples = false});
  commands.add(
      prepare_separability,
      {.name = "separability",
       .description =
           "Accuracy of a linear classifier that separates words by their representations, layer "
           "by layer.\n"
           "At 1 the words are linearly separable; at the majority baseline (`majority`) nothing "
           "is decodable. Expects captures made with lime-capture --only ' is, are, was, were'.",
       .progress_unit = "layers",
       .examples =
           "lime-metrics separability words.h5\n"
           "lime-metrics separability llama.h5 lime.h5 --site values --method both\n"
           "lime-metrics separability words.h5 --group sequence --control shuffled,sequence\n"
           "lime-metrics separability words.h5 --c 0.01,0.1,1 -o separability.json"});
  commands.add(
      prepare_blimp,
      {.name = "blimp",
       .description =
           "Accuracy on minimal pairs per task: linear probes per layer, or zero-shot.\n"
           "Probes classify the sentences as good or bad from one layer (chance is 0.5). "
           "--zero-shot tests whether the model assigns the good sentence a higher likelihood.",
       .progress_unit = "tasks",
       .examples =
           "lime-metrics blimp blimp.h5\n"
           "lime-metrics blimp llama.h5 lime.h5 --task lime-paper --by task --format latex\n"
           "lime-metrics blimp blimp.h5 --site values --layer 8-15 --control -o probes.json\n"
           "lime-metrics blimp --zero-shot scored.h5 --by task --judgements judged.jsonl"});
  commands.add(
      prepare_choices,
      {.name = "choices",
       .description =
           "Accuracy on benchmarks from samples of lime-eval or lm-evaluation-harness.\n"
           "Prints standard errors over items, means over tasks, and exact tests between "
           "models on the same items.",
       .progress_unit = "tasks",
       .examples =
           "lime-metrics choices samples.jsonl\n"
           "lime-metrics choices llama.jsonl lime.jsonl --label LLaMA LIMe --compare first\n"
           "lime-metrics choices llama.jsonl lime.jsonl --preset corrected --format latex\n"
           "lime-metrics choices seed1.jsonl seed2.jsonl --label LIMe LIMe -o runs.json"});
  commands.add(
      prepare_tsne,
      {.name = "tsne",
       .description = "Embeds the representations in two dimensions with t-SNE.\n"
                      "Prints divergence and trustworthiness per layer; the coordinates are "
                      "written to NAME.embeddings.h5 (or .csv) next to the output.",
       .progress_unit = "iterations",
       .examples =
           "lime-metrics tsne words.h5 --layer 2,4,7,12,15 -o tsne.json\n"
           "lime-metrics tsne llama.h5 lime.h5 --class is,are,was,were --max-per-class 1668 "
           "-o tsne.json -o tsne.csv\n"
           "lime-metrics tsne numbers.h5 --class 1,2,3,4 --perplexity 15 -o near.json\n"
           "lime-metrics tsne words.h5 --align -o aligned.json\n"
           "lime-metrics tsne llama.h5 lime.h5 --compare first"});
  commands.add(
      prepare_geometry,
      {.name = "geometry",
       .description =
           "Geometry of the representations per layer: ranks, similarity, curvature, "
           "massive activations, intrinsic dimension, first token, power law, augmented views.\n"
           "Ranks: effective rank, RankMe, participation ratio, stable and numerical "
           "rank. Similarity: anisotropy, rank-one residual. Intrinsic dimension: "
           "TwoNN, maximum likelihood.",
       .progress_unit = "sequences",
       .examples = "lime-metrics geometry --layer all\n"
                   "lime-metrics geometry llama.h5 lime.h5 --site hidden --compare first\n"
                   "lime-metrics geometry --measure rank --ranks both --rankme stable-pretraining\n"
                   "lime-metrics geometry --measure dimension --neighbor-rows 20000 --k 10\n"
                   "lime-metrics geometry --measure first-token,rank --skip-tokens 1\n"
                   "lime-metrics geometry --measure power-law --jackknife 10\n"
                   "lime-metrics geometry views.h5 --measure views -o views.json"});
  commands.add(
      prepare_lens,
      {.name = "lens",
       .description = "Logit lens: the next-token distribution of every layer.\n"
                      "KL divergence from the final distribution, entropy, agreement of the most "
                      "probable token, loss and rank of the next token, from a capture with the "
                      "site logit_lens.",
       .progress_unit = "sequences",
       .examples =
           "lime-capture --checkpoint MODEL --text corpus.txt --sites logit_lens -o lens.h5\n"
           "lime-metrics lens lens.h5 -o lens.json\n"
           "lime-metrics lens hidden.h5 --tuned MODEL\n"
           "lime-metrics lens llama.h5 lime.h5 --compare first --skip-tokens 1"});
  commands.add(
      prepare_similarity,
      {.name = "similarity",
       .description = "Similarity of layers within one model or between two models, as heatmaps.\n"
                      "Linear CKA, biased and debiased, the orthogonal Procrustes distance, block "
                      "influence and angular distance. Two captures must contain the same tokens.",
       .progress_unit = "pairs of layers",
       .examples = "lime-metrics similarity --site hidden\n"
                   "lime-metrics similarity llama.h5 lime.h5 --maps between --site values\n"
                   "lime-metrics similarity --site hidden --measure change --skip-tokens 1\n"
                   "lime-metrics similarity --show procrustes --max-rows 8192 -o maps.json\n"
                   "lime-metrics similarity llama.h5 lime.h5 --jackknife 10 --compare first"});
  commands.add(
      prepare_tokens,
      {.name = "tokens",
       .description = "Statistics of each token of one sequence per layer.\n"
                      "Norm, cosine with the next token, and contribution to the sequence's "
                      "entropy: how much the entropy falls if the token is omitted.",
       .progress_unit = "layers",
       .examples = "lime-metrics tokens --sequence 3 --site hidden\n"
                   "lime-metrics tokens llama.h5 lime.h5 --label LLaMA LIMe --sequence 3 "
                   "--checkpoint data/aet-lime -o tokens.json\n"
                   "lime-figure tokens.json --measure next_cosine -o tokens.pdf"});
  commands.add(
      prepare_attention,
      {.name = "attention",
       .description =
           "Attention patterns per layer and head.\n"
           "Summaries over all sequences: entropy, "
           "distance, and the fraction of attention on the first, the previous and the query "
           "token. With --sequence: the whole pattern of one sequence; with --query also the "
           "buffered layers that a token reads through the routers.",
       .progress_unit = "sequences",
       .examples = "lime-metrics attention\n"
                   "lime-metrics attention llama.h5 lime.h5 --label LLaMA LIMe --compare first\n"
                   "lime-metrics attention lime.h5 --sequence 3 --layer 2 --head 0,1 "
                   "--checkpoint data/aet-lime -o attention.json\n"
                   "lime-figure attention.json -o attention.pdf"});
  commands.add(
      prepare_experts,
      {.name = "experts",
       .description =
           "Routers of mixtures of experts per layer: balance, entropy, committee, information.\n"
           "Load of the experts and its imbalance, entropy of the routing per token, overlap of "
           "consecutive tokens, experts that all documents or domains share, mutual information of "
           "expert and document, domain, class or token against permutations, and co-activation.",
       .progress_unit = "sequences",
       .examples =
           "lime-capture --checkpoint MODEL --text corpus.txt --sites mlp.hook_router_logits,"
           "mlp.hook_expert_weights,mlp.hook_expert_indices -o experts.h5\n"
           "lime-metrics experts experts.h5 -o experts.json\n"
           "lime-metrics experts experts.h5 --domains domains.txt --coactivation -o experts.json\n"
           "lime-metrics experts small.h5 large.h5 --compare first\n"
           "lime-metrics series step-*.h5 --metric experts -o collapse.json\n"
           "lime-figure experts.json -o experts.pdf"});
  commands.add(
      prepare_streams,
      {.name = "streams",
       .description =
           "Residual streams of Hyper-Connections per layer: energy, dominance, mixing.\n"
           "Effective number of streams by energy, the fraction of the largest one, their cosine, "
           "the distance of the mixing matrix from the identity and from uniform, and how many "
           "streams each part reads and writes.",
       .progress_unit = "sequences",
       .examples = "lime-capture --checkpoint MODEL --text corpus.txt --sites "
                   "hook_streams,hook_stream_weights -o streams.h5\n"
                   "lime-metrics streams streams.h5 -o streams.json\n"
                   "lime-metrics streams hc.h5 mhc.h5 --compare first\n"
                   "lime-metrics series step-*.h5 --metric streams -o collapse.json\n"
                   "lime-figure streams.json -o streams.pdf"});
  commands.add(
      prepare_router,
      {.name = "router",
       .description = "Router weights of a LIMe: heatmaps and statistics per layer and head.\n"
                      "|R| alone depends on the scale of the heads. With a capture of the "
                      "checkpoint, also prints the maps weighted by the scale of keys and values, "
                      "and the fraction that cancels out.",
       .progress_unit = "sequences",
       .examples = "lime-metrics router data/aet-lime\n"
                   "lime-metrics router data/aet-lime capture.h5 -o router.json -o router.csv\n"
                   "lime-metrics router run7/step-9000 --initial run7/step-0 --detail weights "
                   "--format json",
       .has_samples = false});
  commands.add(
      prepare_counterfactual,
      {.name = "counterfactual",
       .description =
           "Routed values under counterfactual routers, computed from one capture.\n"
           "Routing is linear, so the routed values under any router follow from the captured "
           "values of all layers, without running the model. With the capture of a plain "
           "transformer, splits the gap between the two models into projections and mixing.",
       .progress_unit = "sequences",
       .examples =
           "lime-metrics counterfactual lime.h5\n"
           "lime-metrics counterfactual lime.h5 --against llama.h5 --label LIMe LLaMA -o c.json\n"
           "lime-metrics counterfactual lime.h5 --router identity,cut --layer 8-15\n"
           "lime-metrics counterfactual lime.h5 --router random,permuted --draws 20 --alpha "
           "0.5,1,2"});
  commands.add(
      prepare_series,
      {.name = "series",
       .description =
           "Curves of measurements over training steps, drift of the layers, extrema and change "
           "points.\n"
           "Inputs are captures of several checkpoints, or JSON results of any metric. Steps are "
           "read from the names: step-1000.h5, llama-step-1000.h5, step-1000/capture.h5. Captures "
           "are measured with the default options of each --metric. Drift is the similarity of "
           "each layer to the same layer at the first, the previous and the last step.",
       .progress_unit = "items",
       .examples =
           "lime-metrics series step-*.h5\n"
           "lime-metrics series step-*.h5 --metric drift,geometry --site hidden -o series.json\n"
           "lime-metrics series llama-step-*.h5 lime-step-*.h5 --metric lens\n"
           "lime-metrics series a.h5 b.h5 c.h5 --steps 0,500,1000\n"
           "lime-metrics geometry step-*.h5 --measure dimension -o dimension.json\n"
           "lime-metrics series dimension.json -o series.json\n"
           "lime-figure series.json -o series.pdf",
       .has_samples = false});
  commands.add(
      prepare_correlates,
      {.name = "correlates",
       .description = "Rank correlation of measurements with scores of downstream tasks.\n"
                      "Coefficients are over the layers of each model, also controlled for depth, "
                      "or over models.",
       .progress_unit = "scores",
       .examples = "lime-metrics correlates entropy.json geometry.json --scores scores.csv",
       .has_samples = false});
  commands.add(
      prepare_audit,
      {.name = "audit",
       .description =
           "Which measurements are properties of the model, and which of its coordinates or of the "
           "text.\n"
           "Measures a checkpoint and copies of it that compute the same function with other "
           "weights (lime-capture gauge), or the same checkpoint on texts of other length and "
           "order. Prints the change of every measurement, in half-widths of its interval. Runs "
           "lime-capture. Guide: docs/invariance.md.",
       .progress_unit = "items",
       .examples = "lime-metrics audit data/lm-lime --text corpus.txt -o audit.json\n"
                   "lime-metrics audit MODEL --text corpus.txt --layer 0,10,20 --only ' the, of'\n"
                   "lime-metrics audit MODEL --text corpus.txt --transform value-scale "
                   "--metric entropy-raw,similarity\n"
                   "lime-metrics audit MODEL --text corpus.txt --over texts --seq-len 512\n"
                   "lime-figure audit.json -o audit.pdf",
       .has_samples = false});
  commands.add(
      prepare_cost,
      {.name = "cost",
       .description = "Parameters, operations and key-value cache size of decoders.\n"
                      "Operations are counted as in the LIMe paper's code: multiply-accumulates of "
                      "one forward pass over one sequence, including the logits.",
       .progress_unit = "decoders",
       .examples =
           "lime-metrics cost data/aet-llama data/aet-lime\n"
           "lime-metrics cost config.json --sequence-length 512,2048,8192 --dtype bfloat16\n"
           "lime-metrics cost base.json --decoder llama,lime,denseformer,hyper_connections "
           "--num-key-value-heads 8,32 --format latex",
       .has_samples = false});
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  lime::CommandLine line(
      "lime-metrics", "Computes metrics with confidence intervals from captures of lime-capture.");
  lime::MetricCommands commands(line);
  lime::add_metrics(commands);
  lime::add_rerun_command(line, commands);
  line.set_examples(
      "lime-metrics entropy --layer all\n"
      "lime-metrics entropy llama.h5 lime.h5 --compare first -o entropy.json\n"
      "lime-metrics rerun entropy.json");
  return lime::run_program(line, argc, argv);
}
