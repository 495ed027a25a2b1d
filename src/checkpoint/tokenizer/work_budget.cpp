// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/work_budget.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/errors.h"

namespace lime {
namespace {

/// Unicode's longest decompositions write 11 bytes for each, and a stage may follow on another.
constexpr std::uint64_t kBytesPerByte = 256;
constexpr std::uint64_t kBytesOfShortText = 1 << 20;
/// `\s+$` takes n^2 / 2 steps on n spaces inside a line.
constexpr std::uint64_t kStepsPerByte = 10'000;
constexpr std::uint64_t kStepsOfShortText = 100'000'000;
constexpr std::size_t kMaxStages = 100;

}  // namespace

WorkBudget::WorkBudget(std::size_t text_bytes)
    : text_bytes_(text_bytes),
      bytes_left_(kBytesOfShortText + kBytesPerByte * text_bytes),
      steps_left_(kStepsOfShortText + kStepsPerByte * text_bytes) {}

void StageWork::take_bytes(std::uint64_t count) const {
  throw_if(count > budget_.bytes_left_,
           "{}: a text of {} bytes must not grow to more than {} bytes; the tokenizer file is "
           "malicious or broken",
           stage_, budget_.text_bytes_, kBytesOfShortText + kBytesPerByte * budget_.text_bytes_);
  budget_.bytes_left_ -= count;
}

void StageWork::take_steps(std::uint64_t count) const {
  throw_if(
      count > budget_.steps_left_,
      "{}: the pattern must match in at most {} steps on a text of {} bytes; the tokenizer file "
      "is malicious or broken, or the text is unusual",
      stage_, kStepsOfShortText + kStepsPerByte * budget_.text_bytes_, budget_.text_bytes_);
  budget_.steps_left_ -= count;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        const StageWork& work) {
  work.take_bytes(text.size());
  std::string result;
  result.reserve(text.size());
  std::size_t at = 0;
  for (std::size_t found = text.find(from); found != std::string_view::npos;
       found = text.find(from, at)) {
    work.take_bytes(to.size());
    result += text.substr(at, found - at);
    result += to;
    at = found + from.size();
  }
  return result += text.substr(at);
}

void check_num_stages(std::size_t count, std::string_view where) {
  if (count <= kMaxStages) return;
  throw FormatError("{}: must have at most {} stages, got more", where, kMaxStages);
}

}  // namespace lime
