// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/separability_options.h"

#include <algorithm>

#include "core/errors.h"

namespace lime {

void SeparabilityOptions::describe(OptionList& list) {
  captures.describe(list);
  list.add("words", words, "use only these of the captured words, e.g. ' is, are'");
  list.add("max_per_class", max_per_class, "use only the first N rows of each word");
  list.group("Probe");
  list.add("method", method,
           "to the optimum; one epoch of Adam as the paper's code does it; or both");
  probe.describe(list);
  list.group("Folds and controls");
  list.add("folds", folds, "number of cross-validation folds, >= 2");
  list.add("random_state", random_state, "NumPy random_state of the folds, as in scikit-learn");
  list.add("group", group, "keep the rows of a sequence in the same fold");
  list.add("control", control,
           "control tasks to fit as well: shuffled labels, random labels per token or per "
           "sequence, or random features");
}

void SeparabilityOptions::validate() const {
  captures.validate();
  probe.validate();
  if (folds < 2) throw InvalidArgument("folds: must be >= 2, got {}", folds);
  if (max_per_class && *max_per_class < 1) {
    throw InvalidArgument("max_per_class: must be > 0, got {}", *max_per_class);
  }
  if (random_state >= std::uint64_t{1} << 32) {
    throw InvalidArgument("random_state: must be < 2^32, got {}", random_state);
  }
  for (auto named = control.begin(); named != control.end(); ++named) {
    if (std::find(control.begin(), named, *named) == named) continue;
    throw InvalidArgument("control: '{}' is named twice", enum_name(*named));
  }
}

}  // namespace lime
