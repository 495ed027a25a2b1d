// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_axis.h"

#include <algorithm>
#include <numeric>

namespace lime {

std::vector<int> numbers_from(int first, int count) {
  std::vector<int> numbers(static_cast<std::size_t>(std::max(count, 0)));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::vector<AxisTick> number_ticks(const std::vector<int>& numbers) {
  constexpr int kMaxTicks = 10;
  const int step = round_step(static_cast<int>(numbers.size()), kMaxTicks);
  std::vector<AxisTick> ticks;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] % step != 0) continue;
    ticks.push_back({static_cast<double>(i), std::to_string(numbers[i])});
  }
  return ticks;
}

std::vector<AxisTick> layer_ticks(int count, int base) {
  return number_ticks(numbers_from(base, count));
}

int round_step(int count, int most) {
  int step = 1;
  // 1, 2, 5, 10, 20, 50, ...
  for (int i = 0; count > most * step; ++i) step = i % 3 == 1 ? step / 2 * 5 : 2 * step;
  return step;
}

}  // namespace lime
