// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_analysis.h"

#include <algorithm>
#include <iterator>

#include "analysis/audit/audit_changes.h"
#include "analysis/audit/audit_measurements.h"
#include "analysis/audit/audit_report.h"

namespace lime {
namespace {

ResultRow undefined_row(const Error& error) {
  return {{col::kKind, "undefined"}, {col::kText, error.what()}};
}

/// Returns the rows of a unit as rows of the audit.
UnitResult audited(const AuditMeasurement& measurement, const ResultRow& key,
                   const std::function<UnitResult(const UnitContext&)>& measure,
                   const UnitContext& context) {
  UnitResult result;
  try {
    for (const ResultRow& row : measure(context).rows) {
      std::ranges::move(audited_rows(measurement, ResultRow(key).add(row)),
                        std::back_inserter(result.rows));
    }
  } catch (const InvalidArgument& error) {
    result.rows = {undefined_row(error)};
  } catch (const NumericalError& error) {
    result.rows = {undefined_row(error)};
  }
  return result;
}

/// Appends the units of one measurement of a variant.
void add_units(const AuditMeasurement& measurement, const AuditVariant& variant,
               const AuditOptions& options, const RunOptions& run, Analysis& analysis) {
  const std::string name(enum_name(measurement.metric));
  Analysis own;
  try {
    own = measurement.prepare(variant, options, run);
  } catch (const InvalidArgument& error) {
    Unit& unit = analysis.units.emplace_back();
    unit.key = {{col::kLabel, variant.name}, {col::kQuantity, name}};
    unit.where = variant.name;
    unit.measure = [row = undefined_row(error)](const UnitContext&) {
      return UnitResult{.rows = {row}, .samples = {}, .matrices = {}};
    };
    return;
  }
  for (Unit& unit : own.units) {
    const ResultRow key = unit.key;
    unit.key.set(col::kQuantity, name);
    unit.identity.clear();
    unit.measure = [measurement, key,
                    measure = std::move(unit.measure)](const UnitContext& context) {
      return audited(measurement, key, measure, context);
    };
    analysis.units.push_back(std::move(unit));
  }
}

void check_sequences(const AuditVariant& reference) {
  const CaptureReader capture(reference.capture);
  throw_if(capture.num_sequences() < kFewestAuditSequences, OptionName("max_sequences"),
           "at least {} sequences are needed for intervals, '{}' has {}; pass a longer text",
           kFewestAuditSequences, reference.capture.string(), capture.num_sequences());
}

void add_inputs(const AuditVariant& variant, Analysis& analysis) {
  for (const std::filesystem::path& file : {variant.capture, variant.words, variant.views}) {
    if (file.empty()) continue;
    const std::string label = file == variant.capture
                                  ? variant.name
                                  : fmt::format("{}, {}", variant.name, file.stem().string());
    analysis.inputs.push_back(capture_input(CaptureReader(file), label));
    // The results are of the text of the reference.
    if (analysis.inputs.size() > 1) analysis.inputs.back().text_sha256.clear();
  }
}

}  // namespace

Analysis prepare_audit(const AuditOptions& options, const RunOptions& run) {
  options.validate();
  const AuditVariants variants = make_variants(options, run);
  check_sequences(variants.all.front());
  Analysis analysis = analysis_of("audit", options);
  for (const AuditVariant& variant : variants.all) {
    add_inputs(variant, analysis);
    for (const AuditMeasurement& measurement : audit_measurements()) {
      const bool applies = !measurement.applies || measurement.applies(variants.all.front());
      if (!options.wants(measurement.metric) || !applies) continue;
      add_units(measurement, variant, options, run, analysis);
    }
  }
  throw_if(analysis.units.empty(), OptionName("metric"),
           "none of the measurements applies to this model; probes need --only, views --views");
  analysis.threads = threads_for(analysis.units, run);
  std::vector<ResultRow> keys;
  for (const Unit& unit : analysis.units) keys.push_back(unit.key);
  analysis.more_rows = [keys, over = options.over](std::span<const UnitResult> units) {
    std::vector<ResultRow> values;
    for (std::size_t i = 0; i < units.size(); ++i) {
      for (const ResultRow& row : units[i].rows) {
        if (row.text(col::kKind) != kAuditedValue) continue;
        values.push_back(ResultRow(keys[i]).add(row));
      }
    }
    std::vector<const ResultRow*> pointers;
    for (const ResultRow& value : values) pointers.push_back(&value);
    return change_rows(pointers, over);
  };
  analysis.present = [options, refused = variants.refused](Report& report, auto) {
    fill_audit_report(report, options, refused);
  };
  return analysis;
}

}  // namespace lime
