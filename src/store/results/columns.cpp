// SPDX-License-Identifier: Apache-2.0
#include "store/results/columns.h"

#include <unordered_map>

namespace lime {

const std::vector<ColumnGroup>& column_groups() {
  using namespace col;
  static const std::vector<ColumnGroup> groups = {
      {"Identification", {kLabel, kSite, kLayer, kKind}},
      {"Summary of a sample",
       {kMean, kStd, kCiLow, kCiHigh, kN, kStderr, kQuantity, kMeasure, kOver, kCeiling, kRuns}},
      {"Entropy",
       {kAlpha, kPreset, kUnit, kTokens, kTokensMin, kDim, kCeilingMin, kLower, kUpper, kLeftOut}},
      {"Probes",
       {kMethod, kLabels, kSelectivity, kLogLoss, kTrainAccuracy, kRowAccuracy, kMajority, kC,
        kGradientNorm, kIterations, kConverged, kConfusion, kFoldAccuracies, kFoldLogLosses, kRows,
        kClasses}},
      {"Routers",
       {kWeighting, kHead, kEntropy, kEffectiveSources, kMeanDepth, kShareEmbedding, kShareFirstTwo,
        kSharePrevious, kShareOwn, kShareNegative, kCancellation, kDistanceOwn, kOthersRatio,
        kDistanceInitial, kRead, kSource, kSourceLayer, kSourceHead, kWeight}},
      {"Attention", {kHeads, kEven, kQuery, kKey, kRoutedHead, kShare, kBy}},
      {"Experts", {kExpert, kOtherExpert}},
      {"Residual streams", {kStream, kSourceStream}},
      {"Tokens",
       {kSequence, kPosition, kToken, kText, kNorm, kRelativeNorm, kNextCosine,
        kEntropyContribution, kLensProbability, kLensRank, kLensKl}},
      {"Counterfactual routers",
       {kRouter, kPart, kLayers, kDifference, kDifference.low, kDifference.high, kDeviation}},
      {"Minimal pairs",
       {kLevel, kName, kTask, kField, kLinguisticsTerm, kTasks, kPairs, kTies, kControl}},
      {"Benchmarks",
       {kRunStd, kClusters, kGoldShares, kPredictionShares, kBaselineOnly, kLabelOnly}},
      {"Cost",
       {kDecoder, kNumKeyValueHeads, kSequenceLength, kDtype, kParameters, kRouterParameters,
        kRouterShare, kMultiplyAccumulates, kPerToken, kLinear, kAttention, kMixing, kMixingShare,
        kElementwise, kParameterBytes, kCacheBytes, kCacheBytesPerToken}},
      {"Geometry", {kGroup,      kUndefined,     kDuplicates,     kOtherLabel, kOtherLayer,
                    kInfluence,  kInfluence.low, kInfluence.high, kAngle,      kAngle.low,
                    kAngle.high, kFitFirst,      kFitLast,        kR2,         kAlphaHead,
                    kAlphaTail,  kSpearman,      kPartial,        kScale,      kPermutationStd}},
      {"Similarity",
       {kCka, kCkaDebiased, kProcrustes, kCka.low, kCka.high, kCkaDebiased.low, kCkaDebiased.high,
        kProcrustes.low, kProcrustes.high, kMutualKnn, kMutualKnn.low, kMutualKnn.high, kImbalance,
        kImbalance.low, kImbalance.high}},
      {"t-SNE",
       {kPoints, kDistinct, kPerplexity, kKlDivergence, kTrustworthiness, kRecall, kEnd, kGradNorm,
        kRepulsion, kSearch, kLearningRate, kEarlyExaggeration, kSeed, kMoved}},
      {"Comparisons and means over layers",
       {kBaseline, kBaselineMean, kItems, kP, kPExact, kPHolm, kItemsCiLow, kItemsCiHigh,
        kPKruskal}},
      {"Interventions",
       {kEdit, kLoss.low, kLoss.high, kEffect, kEffect.low, kEffect.high, kAttribution,
        kAttribution.low, kAttribution.high, kAttributionError, kLogitDifference,
        kLogitDifference.low, kLogitDifference.high, kLogitEffect, kLogitEffect.low,
        kLogitEffect.high}},
      {"Collapse",
       {kVerdict,
        kSentence,
        kLastLayer,
        kSequences,
        kMassiveTokens,
        kMassiveShare,
        kMassiveShare.low,
        kMassiveShare.high,
        kMassiveShareCentred,
        kMassiveShareCentred.low,
        kMassiveShareCentred.high,
        kMassiveShareRest,
        kMassiveShareRest.low,
        kMassiveShareRest.high,
        kParticipationGain,
        kParticipationGain.low,
        kParticipationGain.high,
        kLargestRatio,
        kMassiveToken,
        kMassiveTokenCount,
        kMassiveText,
        kMassivePosition,
        kMassivePositionCount,
        kMassiveDimension,
        kMassiveDimensionCount,
        kMassiveValue,
        kOutlierDimensions,
        kDimensionShare,
        kDimensionShare.low,
        kDimensionShare.high,
        kDimensionShareCentred,
        kDimensionShareCentred.low,
        kDimensionShareCentred.high,
        kDimensionTokens,
        kCommonShare,
        kCommonShare.low,
        kCommonShare.high,
        kIntraclass,
        kIntraclass.low,
        kIntraclass.high,
        kRankOneResidual,
        kRankOneResidual.low,
        kRankOneResidual.high,
        kRankOneResidualRest,
        kRankOneResidualRest.low,
        kRankOneResidualRest.high,
        kEffectiveRank,
        kEffectiveRank.low,
        kEffectiveRank.high,
        kRankCeiling,
        kParticipation,
        kParticipationWithoutTokens,
        kParticipationWithoutDimensions,
        kParticipationRest,
        kSequenceEntropy,
        kSequenceEntropy.low,
        kSequenceEntropy.high,
        kSequenceEntropyWithout,
        kSequenceEntropyWithout.low,
        kSequenceEntropyWithout.high,
        kControlIntraclass,
        kControlRank}},
      {"Series", {kReference, kTurn, kStepLow, kStepHigh}},
      {"Training log", {kStep, kLoss, kFlops}}};
  return groups;
}

const Column* find_column(std::string_view name) {
  static const auto columns = [] {
    std::unordered_map<std::string_view, const Column*> by_name;
    for (const ColumnGroup& group : column_groups()) {
      for (const Column& column : group.columns) by_name.try_emplace(column.name, &column);
    }
    return by_name;
  }();
  const auto found = columns.find(name);
  return found == columns.end() ? nullptr : found->second;
}

}  // namespace lime
