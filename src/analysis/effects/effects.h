// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "metrics/summary.h"

// What removing a component causes, beside the mass that a router gives to it.

namespace lime {

/// Results of `lime-capture sweep` on the components of one model.
class SweepEffects {
 public:
  /// @param over   the components, for messages: "experts"
  /// @param parts  their names in the column `part`
  /// @throws IoError, FormatError, InvalidArgument  if these are no results of such a sweep
  SweepEffects(const std::filesystem::path& path, std::string over,
               const std::vector<std::string>& parts);

  /// @param name  of the file that was given. @throws InvalidArgument  if the models differ
  void check_model(const std::string& checkpoint_sha256, const std::string& name) const;
  /// Returns a warning if the sweep was on another text; empty if it is the same or unknown.
  std::string warning_on_text(const std::string& text_sha256) const;

  const std::string& over() const { return over_; }
  bool has_part(const std::string& part) const;
  /// Returns the row of `part` whose cells include those of `key`; null if there is none.
  const ResultRow* find(const std::string& part, const ResultRow& key) const;
  AnalysisInput input() const;

 private:
  std::filesystem::path path_;
  std::string over_;
  Results results_;
};

/// A component, and the mass that it receives.
struct ComponentMass {
  ResultRow key;  ///< layer, and read and source, expert or stream
  double mass = 0.0;
};

/// Returns a row of kind `effect` per component that the sweep has, with mass and effect, and of
/// kind `agreement` their rank correlation with its bootstrap interval: over all components,
/// resampled, and `within layers`, the mean over layers of at least three components, of which the
/// layers are resampled if there are at least five. Equal masses within each read of a layer have
/// no correlation. Streams also get the effect that each prevents alone.
/// @param base  first cells of each row: label, weighting
/// @throws InvalidArgument  if the sweep has none of the components.
std::vector<ResultRow> effect_rows(const SweepEffects& effects, const std::string& part,
                                   const ResultRow& base,
                                   const std::vector<ComponentMass>& components,
                                   const SummaryOptions& options);

/// Adds the tables of these rows, and says whether mass may be read as importance.
/// @param mass  what it is: "load", "routing weight", "energy"
void add_effect_sections(Report& report, const std::string& mass);

}  // namespace lime
