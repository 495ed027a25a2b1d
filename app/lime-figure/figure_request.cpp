// SPDX-License-Identifier: Apache-2.0
#include "figure_request.h"

#include "core/errors.h"

namespace lime {

void FigureRequest::describe(OptionList& options) {
  figure.describe(options);
  style.describe(options);
}

void FigureRequest::validate() const {
  throw_if(results.empty(), OptionName("results"),
           "expected results files of lime-metrics, or output folders of lime-metrics or "
           "lime-train, got none");
  figure.validate();
  style.validate();
}

void check_kind_is_unset(const FigureOptions& options, const char* command) {
  if (options.kind.empty()) return;
  throw InvalidArgument(OptionName("kind"),
                        "the command {} draws every kind, got '{}'; omit --kind", command,
                        options.kind);
}

}  // namespace lime
