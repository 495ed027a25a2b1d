// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/audit/audit_options.h"
#include "core/table_cell.h"
#include "store/results/columns.h"

namespace lime {

/// What a change says of a measure; texts of the column `verdict`.
namespace audit_verdict {
inline constexpr std::string_view kByProof = "invariant by proof";
inline constexpr std::string_view kInFact = "invariant in fact";
inline constexpr std::string_view kCoordinates = "matter of coordinates";
inline constexpr std::string_view kContradiction = "contradicts the proof";
inline constexpr std::string_view kConstant = "does not depend on the text";
inline constexpr std::string_view kWithin = "within the interval";
inline constexpr std::string_view kText = "depends on the text";
}  // namespace audit_verdict

/// Compares every variant with the reference, the label of the first value. Returns a row per
/// variant and measure of a site: its largest change over layers and heads, the place of that
/// change with both values, and the verdict. A measure without a value in one of both has an
/// infinite `relative_change`.
/// @param values  rows of kind kAuditedValue, with label and quantity
std::vector<ResultRow> change_rows(std::span<const ResultRow* const> values, AuditOver over);

/// Returns true if `row` of change_rows() is a measure that did not move.
inline bool is_still(const ResultRow& row) {
  const std::string& verdict = row.text(col::kVerdict);
  return verdict == audit_verdict::kByProof || verdict == audit_verdict::kInFact ||
         verdict == audit_verdict::kConstant;
}

/// Returns the cell of the table: `=` by proof, `~` in fact, else the change in half-widths, or in
/// percent without an interval, with a `!` if it is against the proof.
TableCell change_cell(const ResultRow& row);

}  // namespace lime
