// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/program/progress.h"

namespace lime {
namespace {

std::string_view preprocessing(EntropyPreset preset) {
  switch (preset) {
    case EntropyPreset::kLimeCode:
      return "dimensions standardised over all rows of the capture";
    case EntropyPreset::kRaw:
    case EntropyPreset::kSeqVcr:
      return "none";
    case EntropyPreset::kLayerByLayer:
      return "tokens centred, unit length, negative similarities set to 0";
    case EntropyPreset::kMatrixEntropy:
    case EntropyPreset::kDiffErank:
      return "tokens centred, unit length";
  }
  return "";
}

/// Returns the divisor of the values; empty if they are in nats.
std::string_view divisor(const EntropyOptions& options) {
  if (options.preset == EntropyPreset::kMatrixEntropy) return "ln dim";
  if (options.preset != EntropyPreset::kLayerByLayer) return "";
  switch (options.normalization) {
    case EntropyNormalization::kMaxEntropy:
      return "min(ln tokens, ln dim)";
    case EntropyNormalization::kLogN:
      return "ln tokens";
    case EntropyNormalization::kLogD:
      return "ln dim";
    case EntropyNormalization::kLogNLogD:
      return "(ln tokens * ln dim)";
    case EntropyNormalization::kRaw:
      return "";
  }
  return "";
}

std::string unit(const EntropyOptions& options) {
  if (options.preset == EntropyPreset::kDiffErank)
    return "exponential of the entropy: an effective rank";
  const std::string_view by = divisor(options);
  return by.empty() ? "nats" : fmt::format("divided by {}", by);
}

std::string what_is_measured(const EntropyOptions& options) {
  return fmt::format("matrix-based Renyi entropy of each sequence, preset {}, alpha {}, {}",
                     enum_name(options.preset), fmt::join(options.orders(), ", "), unit(options));
}

std::string what_cells_are(const EntropyAnalysisOptions& options) {
  std::string text = "cells: mean, standard deviation over the sequences";
  if (options.entropy.top_k) {
    return text + fmt::format(", [bounds of the mean from the {} leading eigenvalues]",
                              *options.entropy.top_k);
  }
  if (options.summary.resamples > 0) {
    text += fmt::format(", [{:g} % bootstrap interval of the mean]",
                        options.summary.confidence * 100.0);
  }
  return text;
}

/// Returns one number, or mean and minimum if the sequences differ.
std::string mean_and_min(const ResultRow& row, const Column& column, const Column& min_column,
                         int digits) {
  const double mean = row.number(column);
  const double min = row.number(min_column);
  const std::string text =
      fmt::format("{} {:.{}f}", column.name, mean, mean == min ? digits : std::max(digits, 1));
  return mean == min ? text : fmt::format("{} (min {:.{}f})", text, min, digits);
}

std::string describe_size(const ResultRow& row) {
  return fmt::format("dim {}, {}, {}", row.integer(col::kDim),
                     mean_and_min(row, col::kTokens, col::kTokensMin, 0),
                     mean_and_min(row, col::kCeiling, col::kCeilingMin, 3));
}

/// Returns "values (dim 32, tokens 64, ceiling 3.466)", with one entry per capture if they differ.
std::string block_heading(const std::vector<const ResultRow*>& rows, bool names_order) {
  std::vector<std::pair<std::string, std::string>> sizes;
  for (const ResultRow* row : rows) {
    std::pair<std::string, std::string> entry = {row->text(col::kLabel), describe_size(*row)};
    if (std::find(sizes.begin(), sizes.end(), entry) == sizes.end()) {
      sizes.push_back(std::move(entry));
    }
  }
  std::string text = rows.front()->text(col::kSite);
  if (names_order) {
    text += fmt::format(", alpha {}", rows.front()->number(col::kAlpha));
  }
  const auto same_size = [&](const auto& entry) { return entry.second == sizes.front().second; };
  if (std::all_of(sizes.begin(), sizes.end(), same_size)) {
    return fmt::format("{} ({})", text, sizes.front().second);
  }
  std::string list;
  for (const auto& [label, size] : sizes) {
    list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", label, size);
  }
  return fmt::format("{} ({})", text, list);
}

/// Returns a remark if a LIMe's `values` are compared with another decoder's, because the LIMe code
/// measures other values; else empty.
std::string remark_on_values(const std::vector<ChosenCapture>& captures,
                             const EntropyOptions& options) {
  if (options.preset != EntropyPreset::kLimeCode) return "";
  std::string routed;
  bool has_plain = false;
  for (const ChosenCapture& capture : captures) {
    const bool shows_values =
        std::any_of(capture.parts.begin(), capture.parts.end(),
                    [](const ChosenCapture::Part& part) { return part.site == "values"; });
    if (!shows_values) continue;
    if (reads_other_values(capture.reader)) {
      routed += (routed.empty() ? "'" : ", '") + capture.label + "'";
    } else {
      has_plain = true;
    }
  }
  if (routed.empty() || !has_plain) return "";
  return fmt::format(
      "values of {} are the output of W_V, not the values its attention reads; the LIMe code "
      "measures the latter, available with --site {}",
      routed, kPaperSite);
}

}  // namespace

void fill_entropy_report(Report& report, const std::vector<ChosenCapture>& captures,
                         const EntropyAnalysisOptions& options) {
  const bool several_orders = options.entropy.orders().size() > 1;
  if (several_orders) report.layout.block.emplace_back(col::kAlpha);
  report.layout.heading = [several_orders](const std::string&,
                                           const std::vector<const ResultRow*>& rows) {
    return block_heading(rows, several_orders);
  };
  if (options.entropy.top_k) {
    report.layout.low = col::kLower;
    report.layout.high = col::kUpper;
  } else if (options.summary.resamples == 0) {
    report.layout.low = {};
    report.layout.high = {};
  }
  report.notes.push_back(what_is_measured(options.entropy));
  report.notes.push_back(fmt::format("preprocessing: {}", preprocessing(options.entropy.preset)));
  for (const ChosenCapture& capture : captures) {
    report.notes.push_back(describe_sequences(capture, options.max_sequences));
  }
  report.legend = what_cells_are(options);
  if (std::string remark = remark_on_values(captures, options.entropy); !remark.empty()) {
    report.remarks.push_back(std::move(remark));
  }
  if (options.entropy.top_k && !report.results.rows.empty()) {
    double most = 0.0;
    double widest = 0.0;
    for (const ResultRow& row : report.results.rows) {
      most = std::max(most, row.number(col::kLeftOut));
      widest = std::max(widest, row.number(col::kUpper) - row.number(col::kLower));
    }
    report.notes.push_back(
        fmt::format("omitted: eigenvalues with at most {:.2g} % of the trace; the bounds differ by "
                    "at most {:.3g}",
                    most * 100.0, widest));
  }
}

}  // namespace lime
