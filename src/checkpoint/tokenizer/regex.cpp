// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "checkpoint/tokenizer/oniguruma.h"
#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Enough for megabytes of one word; deeper matches fall back to PCRE2's interpreter.
constexpr std::size_t kJitStackStart = 32 * 1024;
constexpr std::size_t kJitStackMaximum = 4 * 1024 * 1024;

/// Places that one call tries, and steps from each place that are not counted: for ordinary
/// patterns and texts enough, and few for one that takes as many everywhere.
constexpr std::size_t kStartsPerCall = 64;
constexpr std::uint32_t kFreeSteps = 1000;
/// Bytes beyond the places of a call that it sees, and that are not counted.
constexpr std::size_t kFreeBytes = 512;
/// Bytes that a pattern passes over in the time of one step.
constexpr std::size_t kBytesPerStep = 4;
/// Limit of the interpreter's memory in KiB.
constexpr std::uint32_t kHeapLimit = 512 * 1024;

template <auto kFree> struct Freed {
  template <typename T> void operator()(T* pointer) const { kFree(pointer); }
};
using CodePointer = std::unique_ptr<pcre2_code, Freed<pcre2_code_free>>;
using MatchDataPointer = std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>>;
using ContextPointer = std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>>;
using CompilePointer = std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>>;
using StackPointer = std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>>;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

/// Returns the characters of `text` that end within its first `size` bytes.
std::string_view start_of(std::string_view text, std::size_t size) {
  if (size >= text.size()) return text;
  while (size > 0 && is_continuation(text[size])) --size;
  return text.substr(0, size);
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct Regex::Code {
  CodePointer code;
  bool compiled_to_machine_code = false;
};

Regex::Regex(std::string_view pattern) {
  const std::string translated = pcre2_from_oniguruma(pattern);
  const CompilePointer context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  const auto compiled = std::make_shared<Code>();
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Ruby's ^ and $ always mean lines.
  compiled->code.reset(
      pcre2_compile(units(translated), translated.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_USE_OFFSET_LIMIT, &error,
                    &offset, context.get()));
  throw_if<FormatError>(!compiled->code, "pattern '{}': must be a regular expression, {}",
                        printable(pattern, 200), message_of(error));
#if !defined(LIME_INTERPRETED_PATTERNS)  // for memcheck, which reports what such machine code does
  compiled->compiled_to_machine_code =
      pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD) == 0;
#endif
  code_ = compiled;
}

struct RegexMatcher::Scratch {
  const Regex::Code* regex = nullptr;
  MatchDataPointer match_data;
  ContextPointer context;
  StackPointer stack;
};

RegexMatcher::RegexMatcher(const Regex& regex) : scratch_(std::make_unique<Scratch>()) {
  scratch_->regex = regex.code_.get();
  scratch_->match_data.reset(
      pcre2_match_data_create_from_pattern(regex.code_->code.get(), nullptr));
  scratch_->context.reset(pcre2_match_context_create(nullptr));
  pcre2_set_heap_limit(scratch_->context.get(), kHeapLimit);
  scratch_->stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackMaximum, nullptr));
  pcre2_jit_stack_assign(scratch_->context.get(), nullptr, scratch_->stack.get());
}

RegexMatcher::~RegexMatcher() = default;
RegexMatcher::RegexMatcher(RegexMatcher&&) noexcept = default;
RegexMatcher& RegexMatcher::operator=(RegexMatcher&&) noexcept = default;

int RegexMatcher::run(std::string_view text, std::size_t offset, bool ends_early) {
  const std::uint32_t options = ends_early ? PCRE2_PARTIAL_HARD : 0;
  const pcre2_code* code = scratch_->regex->code.get();
  pcre2_match_data* data = scratch_->match_data.get();
  pcre2_match_context* context = scratch_->context.get();
  if (scratch_->regex->compiled_to_machine_code) {
    const int result =
        pcre2_jit_match(code, units(text), text.size(), offset, options, data, context);
    if (result != PCRE2_ERROR_JIT_STACKLIMIT) return result;
  }
  return pcre2_match(code, units(text), text.size(), offset,
                     options | PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, data, context);
}

// PCRE2 counts neither the steps from each possible start of a match nor the bytes that it skips. A
// call therefore tries few starts with a low limit of steps, on a text that ends soon after them.
// If either is too little, the starts are tried one by one with growing limits, which are paid for.
std::optional<RegexMatcher::Match> RegexMatcher::find(std::string_view text, std::size_t offset,
                                                      const StageWork& work) {
  pcre2_match_context* context = scratch_->context.get();
  std::uint32_t steps = kFreeSteps;
  std::size_t bytes = kFreeBytes;
  std::size_t one_by_one_until = 0;
  while (true) {
    const bool one_by_one = offset < one_by_one_until;
    const std::size_t last_start = one_by_one ? offset : offset + kStartsPerCall;
    const std::string_view seen = start_of(text, last_start + bytes);
    pcre2_set_offset_limit(context, std::min(last_start, seen.size()));
    pcre2_set_match_limit(context, steps);
    if (one_by_one) work.take_steps(steps + bytes / kBytesPerStep);
    const int result = run(seen, offset, seen.size() < text.size());
    if (result >= 0) {
      const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(scratch_->match_data.get());
      return Match{.begin = ends[0], .end = ends[1], .group = result - 1};
    }
    if (result == PCRE2_ERROR_NOMATCH) {
      if (last_start >= text.size()) return std::nullopt;
      offset = character_end(text, last_start);
      const bool is_within = offset < one_by_one_until;
      steps = is_within ? std::max(kFreeSteps, steps / 2) : kFreeSteps;
      bytes = is_within ? std::max(kFreeBytes, bytes / 2) : kFreeBytes;
    } else if (result != PCRE2_ERROR_MATCHLIMIT && result != PCRE2_ERROR_PARTIAL) {
      throw InvalidArgument("{}: the pattern must match in bounded memory, got '{}' at byte {}",
                            work.stage(), message_of(result), offset);
    } else if (one_by_one) {
      if (result == PCRE2_ERROR_PARTIAL) bytes *= 4;
      if (result == PCRE2_ERROR_MATCHLIMIT) steps *= 2;
    } else {
      work.take_steps(result == PCRE2_ERROR_PARTIAL ? kFreeSteps : kStartsPerCall * kFreeSteps);
      one_by_one_until = last_start + 1;
    }
  }
}

}  // namespace lime
