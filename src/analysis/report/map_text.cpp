// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/map_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "analysis/report/aligned_text.h"

namespace lime {
namespace {

using Eigen::Index;

constexpr std::array<const char*, 5> kBlocks = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
constexpr std::array<const char*, 5> kAscii = {" ", ".", "+", "*", "#"};
constexpr std::size_t kNumberWidth = 4;  // " 12" and a shade, or " +12"

std::string shade(double value, double largest, const TextStyle& style) {
  std::size_t level = 0;
  if (value > 0.0 && largest > 0.0) {
    level = static_cast<std::size_t>(std::clamp(std::ceil(value / largest * 4.0), 1.0, 4.0));
    // Values below a fiftieth of the largest are not shown.
    if (value < 0.02 * largest) level = 0;
  }
  return style.unicode ? kBlocks[level] : kAscii[level];
}

double largest_of(const MatrixD& map) {
  double largest = 0.0;
  for (Index i = 0; i < map.size(); ++i) {
    if (std::isfinite(map.data()[i])) largest = std::max(largest, map.data()[i]);
  }
  return largest;
}

/// Returns the sums of `group` neighbouring columns; NaN if none of them has a cell.
MatrixD grouped_columns(const MatrixD& map, Index group) {
  const Index columns = (map.cols() + group - 1) / group;
  MatrixD sums(map.rows(), columns);
  for (Index row = 0; row < map.rows(); ++row) {
    for (Index column = 0; column < columns; ++column) {
      double sum = NAN;
      for (Index i = column * group; i < std::min((column + 1) * group, map.cols()); ++i) {
        if (!std::isnan(map(row, i))) sum = (std::isnan(sum) ? 0.0 : sum) + map(row, i);
      }
      sums(row, column) = sum;
    }
  }
  return sums;
}

std::string number_line(const MatrixD& map, Index row, double largest, bool is_signed,
                        const TextStyle& style) {
  std::string line;
  for (Index column = 0; column < map.cols(); ++column) {
    const double value = map(row, column);
    if (std::isnan(value)) {
      line += std::string(kNumberWidth, ' ');
    } else if (is_signed) {
      const auto percent = static_cast<int>(std::lround(value * 100.0));
      line += percent == 0 ? "   0" : fmt::format("{:>+4}", percent);
    } else {
      line += fmt::format("{:>3}", std::lround(value * 100.0)) + shade(value, largest, style);
    }
  }
  return line;
}

std::string header_line(Index columns, std::size_t label_width, std::size_t cell_width,
                        bool is_signed) {
  std::string line(label_width, ' ');
  for (Index column = 0; column < columns; ++column) {
    const std::string number = fmt::format("{}", column);
    // Over the digits of the cells, which have a shade behind them.
    const std::size_t shift = is_signed ? 0 : 1;
    line += fmt::format("{:>{}}{}", number, cell_width - shift, std::string(shift, ' '));
  }
  return joined_lines({line});
}

}  // namespace

std::string shades(const VectorD& values, double largest, const TextStyle& style) {
  std::string text;
  for (const double value : values) text += shade(value, largest, style);
  return text;
}

std::string map_to_text(const MatrixD& map, bool is_signed, const TextStyle& style) {
  const std::size_t label_width = fmt::format("{}", std::max<Index>(map.rows() - 1, 0)).size() + 1;
  const auto width = static_cast<std::size_t>(std::max(style.width, 20));
  const auto columns = static_cast<std::size_t>(map.cols());
  const bool has_numbers = label_width + columns * kNumberWidth <= width;
  if (!has_numbers && is_signed) return "";

  std::string text;
  if (has_numbers) text = header_line(map.cols(), label_width, kNumberWidth, is_signed);
  const std::size_t room = width - label_width - 1;
  const auto group = static_cast<Index>((columns + room - 1) / room);
  const MatrixD shown = has_numbers ? map : grouped_columns(map, group);
  const double largest = largest_of(shown);
  const bool is_wide = static_cast<std::size_t>(shown.cols()) * 2 <= room;
  for (Index row = 0; row < map.rows(); ++row) {
    std::string line = fmt::format("{:>{}}", row, label_width - 1);
    if (has_numbers) {
      line += ' ' + number_line(shown, row, largest, is_signed, style);
    } else {
      line += ' ';
      for (Index column = 0; column < shown.cols(); ++column) {
        const std::string item = shade(shown(row, column), largest, style);
        line += is_wide ? item + item : item;
      }
    }
    text += joined_lines({line});
  }
  if (!has_numbers && group > 1) text += fmt::format("(each column: {} source layers)\n", group);
  return text;
}

}  // namespace lime
