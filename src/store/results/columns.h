// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "store/results/result_row.h"

namespace lime {

// Columns of all results, each declared once. docs/results_format.md lists them from here.
namespace col {

using Text = TextColumn;
using Integer = IntegerColumn;
using Number = NumberColumn;
using Boolean = BooleanColumn;
using Numbers = NumbersColumn;
using Matrix = MatrixColumn;
using Measured = MeasuredColumn;

// Identification of a row.
inline constexpr Text kLabel{"label", "input, as in `inputs`"};
inline constexpr Text kSite{"site", "hook point of the activations"};
inline constexpr Integer kLayer{"layer", "layer, from 0; null or absent for means over layers"};
inline constexpr Text kKind{"kind", "type of the row; absent if a metric has one only"};

// Summary of a sample: one value per sequence, fold, task, block or query.
inline constexpr Number kMean{"mean", "mean over the items"};
inline constexpr Number kStd{"std", "standard deviation over the items, ddof 0"};
inline constexpr Number kCiLow{"ci_low", "lower end of the interval of the mean"};
inline constexpr Number kCiHigh{"ci_high", "upper end of the interval of the mean"};
inline constexpr Integer kN{"n", "number of items"};
inline constexpr Number kStderr{"stderr", "standard error of the mean"};
inline constexpr Text kQuantity{"quantity", "what was measured"};
inline constexpr Text kMeasure{"measure", "name of the measure"};
inline constexpr Text kOver{"over", "items that the mean is over"};
inline constexpr Number kCeiling{"ceiling", "largest possible mean"};

// Entropy.
inline constexpr Number kAlpha{"alpha", "order of the entropy"};
inline constexpr Text kPreset{"preset", "definition of the entropy, or encoding of sentences"};
inline constexpr Text kUnit{"unit", "nats, ratio or rank"};
inline constexpr Number kTokens{"tokens", "mean tokens per sequence; training: targets so far"};
inline constexpr Integer kTokensMin{"tokens_min", "smallest number of tokens of a sequence"};
inline constexpr Integer kDim{"dim", "dimensions of a row"};
inline constexpr Number kCeilingMin{"ceiling_min", "smallest `ceiling` of a sequence"};
inline constexpr Number kLower{"lower", "lower bound of the mean from the leading eigenvalues"};
inline constexpr Number kUpper{"upper", "upper bound of the mean from the leading eigenvalues"};
inline constexpr Number kLeftOut{"left_out", "trace outside the leading eigenvalues", "fraction"};

// Probes.
inline constexpr Text kMethod{"method", "`converged` or `lime-code`"};
inline constexpr Text kLabels{"labels", "`words`, or the name of the control"};
inline constexpr Number kSelectivity{"selectivity", "controls: accuracy on `words` minus this one",
                                     "fraction"};
inline constexpr Number kLogLoss{"log_loss", "mean -ln p(class) of the test rows", "nats"};
inline constexpr Number kTrainAccuracy{"train_accuracy", "accuracy on the training rows",
                                       "fraction"};
inline constexpr Number kRowAccuracy{
    "row_accuracy", "`lime-code`: accuracy, every test row counted once", "fraction"};
inline constexpr Number kMajority{"majority", "accuracy of always predicting the majority class",
                                  "fraction"};
inline constexpr Number kC{"c", "inverse strength of the penalty, mean over the folds"};
inline constexpr Number kGradientNorm{"gradient_norm",
                                      "largest remaining gradient element, of the worst fold"};
inline constexpr Number kIterations{"iterations",
                                    "iterations of the optimiser; probes: mean over folds"};
inline constexpr Boolean kConverged{"converged", "whether all fits reached the tolerance"};
inline constexpr Matrix kConfusion{
    "confusion", "test rows per true class (outer array) and predicted class", "rows"};
inline constexpr Numbers kFoldAccuracies{"fold_accuracies", "accuracy of each fold", "fraction"};
inline constexpr Numbers kFoldLogLosses{"fold_log_losses", "log loss of each fold", "nats"};
inline constexpr Integer kRows{"rows", "classified rows"};
inline constexpr Integer kClasses{"classes", "number of classes"};

// Routers.
inline constexpr Text kWeighting{
    "weighting", "scale of the weights: `none` (\\|R\\|), `keys`, `values`, or a difference"};
inline constexpr Integer kHead{"head", "target or attention head, from 0"};
inline constexpr Number kEntropy{"entropy", "entropy of the normalised weights of a target head",
                                 "nats"};
inline constexpr Number kEffectiveSources{"effective_sources", "exponential of `entropy`"};
inline constexpr Number kMeanDepth{"mean_depth", "mean number of layers back", "layers"};
inline constexpr Number kShareEmbedding{"share_embedding", "weight on layer 0", "fraction"};
inline constexpr Number kShareFirstTwo{"share_first_two", "weight on layers 0 and 1", "fraction"};
inline constexpr Number kSharePrevious{"share_previous", "weight on the previous layer",
                                       "fraction"};
inline constexpr Number kShareOwn{"share_own", "weight on the layer itself", "fraction"};
inline constexpr Number kShareNegative{"share_negative", "weight with a negative sign", "fraction"};
inline constexpr Number kCancellation{"cancellation", "contributions that cancel out", "fraction"};
inline constexpr Number kDistanceOwn{"distance_own",
                                     "relative distance of the own block from the identity"};
inline constexpr Number kOthersRatio{"others_ratio",
                                     "magnitude of other weights relative to initialisation"};
inline constexpr Number kDistanceInitial{"distance_initial",
                                         "relative distance from the initial router"};
inline constexpr Text kRead{"read",
                            "what reads: `attn`, `mlp`, `q`, `k`, `v`, `final`, or `kv` for keys "
                            "and values"};
inline constexpr Integer kSource{
    "source",
    "0: embedding, 1 + 2 l and 2 + 2 l: attention and MLP of layer l; of keys and values: layer"};
inline constexpr Integer kSourceLayer{"source_layer", "buffered layer"};
inline constexpr Integer kSourceHead{"source_head", "buffered head"};
inline constexpr Number kWeight{"weight", "router or attention weight"};

// Attention.
inline constexpr Integer kHeads{"heads", "number of heads that the mean is over"};
inline constexpr Number kEven{"even",
                              "value of uniform attention or balanced routing, or mean of the "
                              "permutations"};
inline constexpr Integer kQuery{"query", "position of the query"};
inline constexpr Integer kKey{"key", "position of the key"};
inline constexpr Integer kRoutedHead{"routed_head", "key-value head of the attention head"};
inline constexpr Number kShare{"share",
                               "part of the gap, of the attention to a layer and key, or of the "
                               "selections of experts",
                               "fraction"};
inline constexpr Text kBy{"by", "weights of the fractions: `values` or `scales`"};

// Experts.
inline constexpr Integer kExpert{"expert", "expert of a router, from 0"};
inline constexpr Numbers kExperts{"experts", "selected experts, by descending logits"};
inline constexpr Integer kOtherExpert{"other_expert",
                                      "expert that the same token selected, from 0"};

// Residual streams.
inline constexpr Integer kStream{"stream", "residual stream of Hyper-Connections, from 0"};
inline constexpr Integer kSourceStream{"source_stream", "stream that it is mixed from, from 0"};

// Tokens.
inline constexpr Integer kSequence{"sequence", "index of the sequence"};
inline constexpr Integer kPosition{"position", "position of the token in its sequence"};
inline constexpr Integer kToken{"token", "token id"};
inline constexpr Text kText{"text", "text of the token; audit: why a measurement is undefined"};
inline constexpr Number kNorm{"norm", "Euclidean norm of the token's row"};
inline constexpr Number kRelativeNorm{"relative_norm",
                                      "norm / median norm of the sequence in the layer; far above "
                                      "1: massive activations (Sun et al. 2024)"};
inline constexpr Number kNextCosine{"next_cosine",
                                    "cosine with the next token's row; null at the last token"};
inline constexpr Number kEntropyContribution{
    "entropy_contribution",
    "decrease of the sequence's entropy without the token; below 0: it dominates the others",
    "nats"};
inline constexpr Number kLensProbability{
    "lens_probability", "logit lens: probability of the next token after the layer", "fraction"};
inline constexpr Number kLensRank{"lens_rank", "logit lens: rank of the next token, from 1"};
inline constexpr Number kLensKl{"lens_kl", "logit lens: KL divergence from the final distribution",
                                "nats"};

// Counterfactual routers.
inline constexpr Text kRouter{"router", "name of the router"};
inline constexpr Text kPart{"part",
                            "in place of `router`: `gap`, `projections`, `mixing`; interventions: "
                            "`original`, or what is edited"};
inline constexpr Integer kLayers{"layers", "number of layers that the mean is over"};
inline constexpr Measured kDifference{"difference", "difference_low", "difference_high",
                                      "this mean minus the reference, paired"};
inline constexpr Number kDeviation{
    "deviation", "largest error of the reproduced values, relative to the largest"};

// Minimal pairs.
inline constexpr Text kLevel{"level", "`task`, `linguistics_term`, `field` or `all`"};
inline constexpr Text kName{"name", "name of the task or group"};
inline constexpr Text kTask{"task", "task"};
inline constexpr Text kField{"field", "field of linguistics"};
inline constexpr Text kLinguisticsTerm{"linguistics_term", "phenomenon"};
inline constexpr Integer kTasks{"tasks", "tasks in the row"};
inline constexpr Integer kPairs{"pairs", "pairs in the row"};
inline constexpr Integer kTies{"ties", "pairs with equal likelihoods"};
inline constexpr Number kControl{"control", "accuracy on random labels", "fraction"};

// Benchmarks.
inline constexpr Integer kRuns{"runs", "training runs of the model or of the comparison"};
inline constexpr Number kRunStd{"run_std", "standard deviation over the runs, ddof 1"};
inline constexpr Integer kClusters{"clusters", "independent groups of items behind `stderr`"};
inline constexpr Numbers kGoldShares{"gold_shares", "how often each choice is correct", "fraction"};
inline constexpr Numbers kPredictionShares{"prediction_shares", "how often each choice is selected",
                                           "fraction"};
inline constexpr Integer kBaselineOnly{"baseline_only",
                                       "items that only the baseline answers correctly"};
inline constexpr Integer kLabelOnly{"label_only", "items that only this model answers correctly"};

// Cost.
inline constexpr Text kDecoder{"decoder", "decoder type"};
inline constexpr Integer kNumKeyValueHeads{"num_key_value_heads", "key-value heads"};
inline constexpr Integer kSequenceLength{"sequence_length", "length of the sequence", "tokens"};
inline constexpr Text kDtype{"dtype", "number type of weights and cache"};
inline constexpr Integer kParameters{"parameters",
                                     "trainable scalars; a tied embedding counts once"};
inline constexpr Integer kRouterParameters{"router_parameters",
                                           "parameters that mix layers or streams"};
inline constexpr Number kRouterShare{"router_share", "`router_parameters` of `parameters`",
                                     "fraction"};
inline constexpr Number kMultiplyAccumulates{"multiply_accumulates",
                                             "one forward pass over the sequence", "MACs"};
inline constexpr Number kPerToken{"per_token", "the same per token", "MACs"};
inline constexpr Number kLinear{"linear", "projections and output layer", "MACs"};
inline constexpr Number kAttention{"attention", "dot products and softmax", "MACs"};
inline constexpr Number kMixing{"mixing", "routers and similar", "MACs"};
inline constexpr Number kMixingShare{"mixing_share", "`mixing` of `multiply_accumulates`",
                                     "fraction"};
inline constexpr Number kElementwise{"elementwise",
                                     "norms, rotary embedding, SwiGLU, residual sums", "MACs"};
inline constexpr Integer kParameterBytes{"parameter_bytes", "memory of the weights", "bytes"};
inline constexpr Integer kCacheBytes{"cache_bytes", "keys and values after the sequence", "bytes"};
inline constexpr Number kCacheBytesPerToken{"cache_bytes_per_token", "the same per token", "bytes"};

// Geometry and similarity.
inline constexpr Text kGroup{"group", "group of the measure"};
inline constexpr Integer kUndefined{"undefined", "items without a value, which `mean` omits"};
inline constexpr Integer kDuplicates{"duplicates", "rows dropped as duplicates", "rows"};
inline constexpr Number kSpearman{"spearman", "rank correlation of the measurement with the score"};
inline constexpr Number kPartial{"partial", "rank correlation controlled for depth"};
inline constexpr Integer kScale{"scale",
                                "GRIDE: the nearer of the two neighbours, the other is twice"};
inline constexpr Measured kMutualKnn{"mutual_knn", "mutual_knn_low", "mutual_knn_high",
                                     "fraction of common nearest neighbours", "fraction"};
inline constexpr Measured kImbalance{"imbalance", "imbalance_low", "imbalance_high",
                                     "information imbalance from `layer` to `other_layer`"};
inline constexpr Number kPermutationStd{"permutation_std",
                                        "DiME: standard deviation over random permutations"};
inline constexpr Integer kFitFirst{"fit_first", "first eigenvalue of the power law, from 1"};
inline constexpr Integer kFitLast{"fit_last", "last eigenvalue of the power law"};
inline constexpr Number kR2{"r2", "fraction of the variance that the power law explains",
                            "fraction"};
inline constexpr Number kAlphaHead{"alpha_head", "`mean` from the first half of the range"};
inline constexpr Number kAlphaTail{"alpha_tail", "`mean` from the second half of the range"};
inline constexpr Text kOtherLabel{"other_label", "second input"};
inline constexpr Integer kOtherLayer{"other_layer", "layer of the second input"};
inline constexpr Measured kCka{"cka", "cka_low", "cka_high", "linear CKA"};
inline constexpr Measured kCkaDebiased{"cka_debiased", "cka_debiased_low", "cka_debiased_high",
                                       "linear CKA with the unbiased estimate of HSIC"};
inline constexpr Measured kProcrustes{"procrustes", "procrustes_low", "procrustes_high",
                                      "squared distance after the best rotation"};
inline constexpr Measured kInfluence{"influence", "influence_low", "influence_high",
                                     "block influence: 1 - mean cosine of both rows"};
inline constexpr Measured kAngle{"angle", "angle_low", "angle_high",
                                 "mean angle between both rows over 180 degrees"};

// t-SNE.
inline constexpr Integer kPoints{"points", "embedded rows"};
inline constexpr Integer kDistinct{"distinct", "distinct rows among them"};
inline constexpr Number kPerplexity{"perplexity", "effective number of neighbours"};
inline constexpr Number kKlDivergence{"kl_divergence",
                                      "KL(P \\|\\| Q) of the embedding over all pairs", "nats"};
inline constexpr Number kTrustworthiness{"trustworthiness",
                                         "trustworthiness of the nearest points"};
inline constexpr Number kRecall{"recall", "true neighbours that the search found", "fraction"};
inline constexpr Text kEnd{"end", "reason of the stop"};
inline constexpr Number kGradNorm{"grad_norm", "last gradient norm"};
inline constexpr Text kRepulsion{"repulsion", "algorithm of the repulsive forces"};
inline constexpr Text kSearch{"search", "algorithm of the neighbour search"};
inline constexpr Number kLearningRate{"learning_rate", "step size"};
inline constexpr Number kEarlyExaggeration{"early_exaggeration",
                                           "factor of the attraction in the first phase"};
inline constexpr Integer kSeed{"seed", "seed of the embedding"};
inline constexpr Number kMoved{
    "moved", "with `--align`: mean displacement, relative to the embedding's radius"};

// Comparisons and means over layers.
inline constexpr Text kBaseline{"baseline", "capture that is subtracted"};
inline constexpr Number kBaselineMean{"baseline_mean", "its mean"};
inline constexpr Text kItems{"items", "`sequences`, `folds`, `pairs`, `points` or `blocks`"};
inline constexpr Number kP{"p",
                           "two-sided p-value of the sign-flip test, of runs: of permutations; "
                           "experts: one-sided, of permuted groups"};
inline constexpr Number kPKruskal{"p_kruskal", "p-value of the Kruskal-Wallis test of all models"};
inline constexpr Boolean kPExact{"p_exact", "whether all sign flips or permutations were counted"};
inline constexpr Number kPHolm{"p_holm", "`p` after Holm's correction over the layers"};
inline constexpr Number kItemsCiLow{
    "items_ci_low",
    "lower end of the interval over items, layers fixed; of runs: over "
    "runs and items"};
inline constexpr Number kItemsCiHigh{
    "items_ci_high",
    "upper end of the interval over items, layers fixed; of runs: over "
    "runs and items"};

// Interventions.
inline constexpr Text kEdit{"edit", "edits, as given"};
inline constexpr Measured kEffect{"effect", "effect_low", "effect_high",
                                  "`loss` minus that of the original model, paired", "nats"};
inline constexpr Measured kAttribution{"attribution", "attribution_low", "attribution_high",
                                       "first-order estimate of `effect`: change times gradient",
                                       "nats"};
inline constexpr Number kAttributionError{"attribution_error", "`attribution` minus `effect`",
                                          "nats"};
inline constexpr Integer kLaterLayer{"later_layer", "layer whose output changes"};
inline constexpr Measured kChange{
    "change", "change_low", "change_high",
    "change of what `later_layer` writes to the residual stream, relative to its norm, mean over "
    "tokens"};
inline constexpr Number kMass{"mass", "routing weight, load or energy of a component", "fraction"};
inline constexpr Measured kAgreement{"agreement", "agreement_low", "agreement_high",
                                     "rank correlation of `mass` with `effect`"};
inline constexpr Number kRescued{
    "rescued", "effect of the ablation of all streams that one stream alone prevents", "fraction"};
inline constexpr Measured kLogitDifference{
    "logit_difference", "logit_difference_low", "logit_difference_high",
    "logit of the next token minus the largest other one, mean over tokens"};
inline constexpr Measured kLogitEffect{"logit_effect", "logit_effect_low", "logit_effect_high",
                                       "`logit_difference` minus that of the original model"};

// Collapse.
inline constexpr Text kVerdict{
    "verdict", "causes that are present, or `none`; audit: what the changes say of the measure"};
inline constexpr Boolean kCertain{"certain",
                                  "whether a cause in `verdict` is certain, not only undecided"};
inline constexpr Text kSentence{"sentence", "kind `range`: what is in these layers"};
inline constexpr Integer kLastLayer{"last_layer", "kind `range`: last layer; `layer` is the first"};
inline constexpr Integer kSequences{"sequences", "number of sequences"};
inline constexpr Integer kMassiveTokens{"massive_tokens", "number of massive tokens"};
inline constexpr Measured kMassiveShare{"massive_share", "massive_share_low", "massive_share_high",
                                        "trace of massive tokens", "fraction"};
inline constexpr Measured kMassiveShareCentred{
    "massive_share_centred", "massive_share_centred_low", "massive_share_centred_high",
    "the same after subtracting the mean of the others", "fraction"};
inline constexpr Measured kMassiveShareRest{
    "massive_share_rest", "massive_share_rest_low", "massive_share_rest_high",
    "the larger of both without outlier dimensions", "fraction"};
inline constexpr Measured kParticipationGain{
    "participation_gain", "participation_gain_low", "participation_gain_high",
    "participation ratio without massive tokens over that with them"};
inline constexpr Number kLargestRatio{"largest_ratio", "largest norm over the median norm"};
inline constexpr Integer kMassiveToken{"massive_token", "most frequent id of massive tokens"};
inline constexpr Integer kMassiveTokenCount{"massive_token_count", "massive tokens with this id"};
inline constexpr Text kMassiveText{"massive_text", "text of `massive_token`, if known"};
inline constexpr Integer kMassivePosition{"massive_position",
                                          "most frequent position of massive tokens"};
inline constexpr Integer kMassivePositionCount{"massive_position_count",
                                               "massive tokens at this position"};
inline constexpr Integer kMassiveDimension{"massive_dimension",
                                           "most frequent dimension of their largest magnitude"};
inline constexpr Integer kMassiveDimensionCount{"massive_dimension_count",
                                                "massive tokens with this dimension"};
inline constexpr Number kMassiveValue{"massive_value", "largest magnitude in this dimension"};
inline constexpr Numbers kOutlierDimensions{"outlier_dimensions",
                                            "outlier dimensions, the largest share first"};
inline constexpr Measured kDimensionShare{
    "dimension_share", "dimension_share_low", "dimension_share_high",
    "trace of the other tokens in outlier dimensions", "fraction"};
inline constexpr Measured kDimensionShareCentred{
    "dimension_share_centred", "dimension_share_centred_low", "dimension_share_centred_high",
    "the same of the variance", "fraction"};
inline constexpr Number kDimensionTokens{
    "dimension_tokens", "tokens with more than half of their squared norm in them", "fraction"};
inline constexpr Measured kCommonShare{"common_share", "common_share_low", "common_share_high",
                                       "trace of the rest in its mean vector", "fraction"};
inline constexpr Measured kIntraclass{
    "intraclass", "intraclass_low", "intraclass_high",
    "intraclass correlation of tokens in their sequence: variance of the rest between sequences",
    "fraction"};
inline constexpr Measured kRankOneResidual{
    "rank_one_residual", "rank_one_residual_low", "rank_one_residual_high",
    "distance of a sequence to equal tokens, \\|X - 1 m^T\\|_F / \\|X\\|_F"};
inline constexpr Measured kRankOneResidualRest{
    "rank_one_residual_rest", "rank_one_residual_rest_low", "rank_one_residual_rest_high",
    "the same of the rest"};
inline constexpr Measured kEffectiveRank{
    "effective_rank", "effective_rank_low", "effective_rank_high",
    "exponential of the entropy of the eigenvalues of the rest within sequences"};
inline constexpr Number kRankCeiling{"rank_ceiling", "largest possible `effective_rank`"};
inline constexpr Number kParticipation{"participation", "participation ratio of all rows"};
inline constexpr Number kParticipationWithoutTokens{"participation_without_tokens",
                                                    "the same without massive tokens"};
inline constexpr Number kParticipationWithoutDimensions{"participation_without_dimensions",
                                                        "the same without outlier dimensions"};
inline constexpr Number kParticipationRest{"participation_rest", "the same without both"};
inline constexpr Measured kSequenceEntropy{
    "sequence_entropy", "sequence_entropy_low", "sequence_entropy_high",
    "entropy of order 1/2 of a sequence, preset raw", "nats"};
inline constexpr Measured kSequenceEntropyWithout{
    "sequence_entropy_without", "sequence_entropy_without_low", "sequence_entropy_without_high",
    "the same without massive tokens", "nats"};
inline constexpr Number kControlIntraclass{
    "control_intraclass", "`intraclass` of random vectors, one per token id", "fraction"};
inline constexpr Number kControlRank{"control_rank",
                                     "`effective_rank` of random vectors, one per token id"};

// Series over training steps.
inline constexpr Text kReference{"reference",
                                 "drift: step compared with, `first`, `previous` or `last`"};
inline constexpr Text kTurn{"turn", "`maximum`, `minimum` or `bend`"};
inline constexpr Number kStepLow{"step_low", "last step before the turn that clearly differs"};
inline constexpr Number kStepHigh{"step_high", "first step after the turn that clearly differs"};

// Audit.
inline constexpr Text kPer{"per", "what each value is of, `head`, `stream`, `load` or `group`"};
inline constexpr Number kHalfWidths{"half_widths",
                                    "largest change over layers and heads, divided by half of the "
                                    "width of the interval"};
inline constexpr Number kRelativeChange{
    "relative_change", "largest change over layers and heads, relative to `baseline_mean`"};
inline constexpr Text kProof{"proof", "why the measure cannot change; absent without a proof"};

// Training log, as figures read it.
inline constexpr Number kStep{"step", "optimiser step"};
inline constexpr Measured kLoss{"loss", "loss_low", "loss_high", "loss per token", "nats"};
inline constexpr Number kFlops{"flops", "6 N tokens"};

}  // namespace col

/// Columns that belong together, under a title.
struct ColumnGroup {
  std::string_view title;
  std::vector<Column> columns;
};

const std::vector<ColumnGroup>& column_groups();

/// Returns the declared column called `name`; null if there is none.
const Column* find_column(std::string_view name);

}  // namespace lime
