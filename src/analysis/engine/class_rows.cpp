// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/class_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "core/errors.h"
#include "core/program/suggest.h"
#include "core/random.h"
#include "core/utf8.h"

namespace lime {
namespace {

std::string without_spaces(const std::string& name) {
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return name;
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

/// The class that `wanted` names, to the letter or but for the spaces around it.
std::int16_t find_class(const std::vector<std::string>& names, const std::string& wanted,
                        const std::string& path) {
  const auto exact = std::find(names.begin(), names.end(), wanted);
  if (exact != names.end()) return static_cast<std::int16_t>(exact - names.begin());
  std::vector<std::int16_t> similar;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (without_spaces(names[i]) == without_spaces(wanted)) {
      similar.push_back(static_cast<std::int16_t>(i));
    }
  }
  if (similar.size() == 1) return similar.front();
  if (names.empty()) {
    throw InvalidArgument(
        "class: '{}' has no classes, got '{}'; capture again with --only, or omit --class", path,
        printable(wanted));
  }
  throw InvalidArgument("class: unknown class in '{}' (its classes: '{}'), got '{}'", path,
                        printable(fmt::format("{}", fmt::join(names, "', '"))), printable(wanted));
}

/// The class of every row, and the names of the classes.
ClassRows all_rows(const CaptureReader& capture) {
  ClassRows rows;
  rows.row.resize(static_cast<std::size_t>(capture.num_rows()));
  std::iota(rows.row.begin(), rows.row.end(), 0);
  rows.class_id.assign(rows.row.size(), -1);
  const CaptureInfo& info = capture.info();
  if (!info.class_names.empty()) {
    rows.class_names = info.class_names;
    rows.class_id = capture.rows().class_id;
  } else if (info.rows != RowKind::kTokens) {
    const std::vector<Sequence>& sequences = capture.sequences();
    const bool labelled = std::any_of(sequences.begin(), sequences.end(),
                                      [](const Sequence& s) { return s.label >= 0; });
    if (!labelled) return rows;
    rows.class_names = {"bad", "good"};
    for (std::size_t i = 0; i < rows.row.size(); ++i) {
      const auto sequence = static_cast<std::size_t>(capture.rows().sequence[i]);
      rows.class_id[i] = sequences[sequence].label;
    }
  }
  return rows;
}

void keep_classes(ClassRows& rows, const CaptureReader& capture,
                  const std::vector<std::string>& wanted) {
  if (wanted.empty()) return;
  const std::string path = capture.path().string();
  std::vector<bool> chosen(rows.class_names.size(), false);
  for (const std::string& name : wanted) {
    const std::int16_t id = find_class(rows.class_names, name, path);
    if (rows.count(id) == 0) {
      throw InvalidArgument("class: '{}' contains no rows of class '{}'", path, printable(name));
    }
    chosen[static_cast<std::size_t>(id)] = true;
  }
  keep_rows(rows, [&](std::size_t i) {
    return rows.class_id[i] >= 0 && chosen[static_cast<std::size_t>(rows.class_id[i])];
  });
}

void keep_first_of_each(ClassRows& rows, std::int64_t most) {
  std::vector<std::int64_t> seen(rows.class_names.size() + 1, 0);
  keep_rows(rows, [&](std::size_t i) {
    return seen[static_cast<std::size_t>(rows.class_id[i] + 1)]++ < most;
  });
}

void keep_sample(ClassRows& rows, std::int64_t most, std::uint64_t seed) {
  std::vector<std::int64_t> order(rows.row.size());
  std::iota(order.begin(), order.end(), 0);
  Random random(seed);
  random.shuffle(std::span(order));
  std::vector<bool> chosen(rows.row.size(), false);
  for (std::int64_t i = 0; i < most; ++i) {
    chosen[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  }
  keep_rows(rows, [&](std::size_t i) { return chosen[i]; });
}

}  // namespace

void ClassRowsOptions::validate() const {
  if (max_per_class && *max_per_class < 1) {
    throw InvalidArgument("max_per_class: must be > 0, got {}", *max_per_class);
  }
  if (max_rows && *max_rows < 1) throw InvalidArgument("max_rows: must be > 0, got {}", *max_rows);
}

std::int64_t ClassRows::count(std::int16_t id) const {
  return std::count(class_id.begin(), class_id.end(), id);
}

ClassRows choose_class_rows(const CaptureReader& capture, const ClassRowsOptions& options) {
  options.validate();
  ClassRows rows = all_rows(capture);
  keep_classes(rows, capture, options.classes);
  if (options.max_per_class) keep_first_of_each(rows, *options.max_per_class);
  rows.available = rows.size();
  if (options.max_rows && rows.size() > *options.max_rows) {
    keep_sample(rows, *options.max_rows, options.seed);
  }
  return rows;
}

MatrixF read_class_rows(const CaptureReader& capture, const std::string& site, int layer,
                        const ClassRows& rows) {
  if (rows.size() == capture.num_rows()) return capture.read_all(site, layer);
  MatrixF chosen(rows.size(), capture.dim(site, layer));
  std::size_t next = 0;
  for (std::int64_t first = 0; first < capture.num_rows() && next < rows.row.size();
       first += kClassReadRows) {
    const std::int64_t last = std::min(first + kClassReadRows, capture.num_rows());
    if (rows.row[next] >= last) continue;
    const MatrixF block = capture.read_rows(site, layer, first, last - first);
    for (; next < rows.row.size() && rows.row[next] < last; ++next) {
      chosen.row(static_cast<Eigen::Index>(next)) = block.row(rows.row[next] - first);
    }
  }
  return chosen;
}

}  // namespace lime
