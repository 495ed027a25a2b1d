// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/capture_contents.h"

#include "analysis/engine/capture_set.h"
#include "store/capture_reader.h"

namespace lime::explorer {

std::vector<std::string> representationsOf(const CaptureReader& capture) {
  std::vector<std::string> sites = capture.sites();
  std::erase_if(sites, [](const std::string& site) { return !is_representation(site); });
  return sites;
}

bool hasWholeSequences(const CaptureReader& capture) {
  return capture.info().rows == RowKind::kTokens && capture.info().class_names.empty();
}

}  // namespace lime::explorer
