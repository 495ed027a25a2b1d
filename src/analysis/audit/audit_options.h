// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/audit/audit_metric.h"
#include "core/layer_selection.h"
#include "core/options.h"

namespace lime {

/// What an audit changes: the coordinates of the weights, or the text.
enum class AuditOver { kCoordinates, kTexts };

constexpr auto names_of(AuditOver) {
  using enum AuditOver;
  return enum_table<AuditOver>({{kCoordinates, "coordinates"}, {kTexts, "texts"}});
}

/// A jackknife needs as many sequences.
inline constexpr std::int64_t kFewestAuditSequences = 5;

struct AuditOptions {
  std::filesystem::path checkpoint;
  AuditOver over = AuditOver::kCoordinates;
  std::vector<std::filesystem::path> text;
  std::filesystem::path tokens;
  std::int64_t seq_len = 64;       ///< of the reference, >= 8
  std::int64_t max_sequences = 8;  ///< >= 5, the fewest of a jackknife
  LayerSelection layer;
  std::vector<std::string> site;       ///< empty: those of default_audit_sites()
  std::vector<AuditMetric> metric;     ///< empty: all
  std::vector<std::string> transform;  ///< empty: all that are exact
  double strength = 0.5;
  std::vector<std::int64_t> lengths;  ///< empty: 64 to 2048, as far as the model allows
  std::vector<std::string> only;      ///< words of the probes; empty: no probes
  std::int64_t probe_sequences = 64;
  std::filesystem::path views;  ///< empty: no measures of views
  std::int64_t lens_tokens = 8;
  std::filesystem::path folder = "audit";

  bool wants(AuditMetric candidate) const;
  void describe_inputs(OptionList& list);
  void describe(OptionList& list);
  void validate() const;
};

}  // namespace lime
