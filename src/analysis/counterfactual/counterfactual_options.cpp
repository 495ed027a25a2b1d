// SPDX-License-Identifier: Apache-2.0
#include "analysis/counterfactual/counterfactual_options.h"

#include <algorithm>

#include "core/errors.h"
#include "metrics/entropy/matrix_entropy.h"

namespace lime {
namespace {

/// Every source in turn.
constexpr const char* kEveryCut = "cut";

}  // namespace

void CounterfactualAnalysisOptions::describe_inputs(OptionList& list) {
  list.add("capture", capture, "capture of a LIMe, with values of all layers");
}

void CounterfactualAnalysisOptions::describe(OptionList& list) {
  list.add("against", against,
           "capture of the same text by a plain transformer, to split the gap to it");
  list.add("label", label, "names of the capture and of the one given with --against")
      .takes_several = true;
  list.add("layer", layer, "layers whose routers are replaced: all, or a list, e.g. 0,3,8-15");
  list.add("site", site, "routed site: values or keys").choices = {"values", "keys"};
  list.group("Routers");
  list.add("router", router,
           "counterfactual routers: trained, identity, last-J, first-J, top-K, unsigned, permuted, "
           "random, cut-L, or cut for every source layer in turn; default: a selection of these");
  list.add("keep_norm", keep_norm, "rescale each target head to the norm of its trained weights");
  list.add("bare_weights", bare_weights,
           "select and normalise by the weights alone, ignoring the scale of the heads");
  list.add("draws", draws, "draws of each random router, averaged; 1 to 10000");
  list.group("Measurements");
  OptionField& presets = list.add("preset", preset, "entropy preset: lime-code or raw");
  presets.choices = {"lime-code", "raw"};
  presets.type = "lime-code|raw";
  list.add("alpha", alpha, "entropy orders, each > 0; inf is allowed");
  list.add("max_sequences", max_sequences, "use only the first N sequences");
  list.add("folds", folds, "cross-validation folds of the separability probe, >= 2");
  list.add("c", c, "inverse strength of the probe's L2 penalty, > 0");
  list.group("Interval");
  list.add("bootstrap", summary.resamples,
           "bootstrap resamples for the intervals, 100 to 10000000; 0: no intervals");
  list.add("confidence", summary.confidence, "confidence level of the intervals, in (0, 1)");
}

void CounterfactualAnalysisOptions::validate() const {
  if (site != "values" && site != "keys") {
    throw InvalidArgument("site: must be values or keys, got '{}'", site);
  }
  constexpr std::int64_t kMostDraws = 10000;
  if (draws < 1 || draws > kMostDraws) {
    throw InvalidArgument("draws: must be from 1 to {}, got {}", kMostDraws, draws);
  }
  if (preset != EntropyPreset::kLimeCode && preset != EntropyPreset::kRaw) {
    throw InvalidArgument("preset: must be lime-code or raw for routed values, got {}",
                          enum_name(preset));
  }
  if (alpha.empty()) throw InvalidArgument("alpha: expected at least one order, got none");
  for (const double order : alpha) check_entropy_order(order);
  if (max_sequences && *max_sequences < 1) {
    throw InvalidArgument("max_sequences: must be > 0, got {}", *max_sequences);
  }
  if (folds < 2) throw InvalidArgument("folds: must be >= 2, got {}", folds);
  if (!(c > 0.0)) throw InvalidArgument("c: must be > 0, got {}", c);
  summary.validate("bootstrap");
  routers(1);
}

std::vector<Counterfactual> CounterfactualAnalysisOptions::routers(std::int64_t num_layers) const {
  static const std::vector<std::string> kDefault = {"identity", "last-1", "last-2", "first-1",
                                                    "first-2",  "top-1",  "top-4",  "unsigned",
                                                    "permuted", "random", "cut-0"};
  std::vector<Counterfactual> result = {{CounterfactualKind::kTrained, 0}};
  const auto add = [&](const Counterfactual& counterfactual) {
    if (std::find(result.begin(), result.end(), counterfactual) == result.end()) {
      result.push_back(counterfactual);
    }
  };
  if (against) add({CounterfactualKind::kIdentity, 0});
  for (const std::string& name : router.empty() ? kDefault : router) {
    if (name != kEveryCut) {
      add(Counterfactual::parse(name));
      continue;
    }
    for (std::int64_t source = 0; source < num_layers; ++source) {
      add({CounterfactualKind::kCut, source});
    }
  }
  return result;
}

}  // namespace lime
