// SPDX-License-Identifier: Apache-2.0
// Times the lookup of selected tokens in a capture.
//   lime-bench-selection [ROWS [TOKENS]]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "core/random.h"
#include "explorer/models/token_rows.h"

namespace lime::explorer {
namespace {

constexpr int kTokensPerSequence = 512;
constexpr int kRepeats = 21;

double medianMs(const std::function<void()>& work) {
  std::vector<double> milliseconds;
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    milliseconds.push_back(took.count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return milliseconds[milliseconds.size() / 2];
}

void timeSelection(std::int64_t num_rows, std::int64_t num_tokens) {
  auto table = std::make_shared<RowTable>();
  for (std::int64_t row = 0; row < num_rows; ++row) {
    table->sequence.push_back(static_cast<std::int32_t>(row / kTokensPerSequence));
    table->position.push_back(static_cast<std::int32_t>(row % kTokensPerSequence));
  }
  Random random(0);
  std::vector<std::int64_t> selected(static_cast<std::size_t>(num_tokens));
  for (std::int64_t& row : selected) {
    row = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(num_rows)));
  }
  std::unique_ptr<TokenRows> rows;
  const double made =
      medianMs([&] { rows = std::make_unique<TokenRows>("text", table, RowKind::kTokens); });
  TokenSelection tokens;
  const double from = medianMs([&] { tokens = rows->tokensAt(selected); });
  std::size_t found = 0;
  const double to = medianMs([&] { found = rows->find(tokens).rows.size(); });
  fmt::print(
      "{} rows, {} tokens: made ready in {:.2f} ms, tokens of rows {:.2f} ms, rows of tokens "
      "{:.2f} ms ({} found)\n",
      num_rows, tokens.places.size(), made, from, to, found);
}

}  // namespace
}  // namespace lime::explorer

int main(int argc, char** argv) {
  const std::int64_t rows = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::int64_t tokens = argc > 2 ? std::atoll(argv[2]) : 10'000;
  lime::explorer::timeSelection(rows, tokens);
  return 0;
}
