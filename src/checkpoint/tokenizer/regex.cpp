// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <utility>

#include "checkpoint/tokenizer/oniguruma_pattern.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Enough for the tokenizers' patterns on megabytes of one word; deeper ones fall back to PCRE2's
/// interpreter, which keeps its state on the heap.
constexpr std::size_t kJitStackStart = 32 * 1024;
constexpr std::size_t kJitStackMaximum = 4 * 1024 * 1024;

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
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

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct Regex::Code {
  CodePointer code;
  bool compiled_to_machine_code = false;
};

Regex::Regex(std::string_view pattern) : code_(std::make_unique<Code>()) {
  const std::string translated = pcre2_from_oniguruma(pattern);
  const CompilePointer context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Ruby's ^ and $ always mean lines.
  code_->code.reset(pcre2_compile(units(translated), translated.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset,
                                  context.get()));
  if (!code_->code) {
    throw FormatError("pattern '{}': must be a regular expression, {}", printable(pattern, 200),
                      message_of(error));
  }
#if !defined(LIME_INTERPRETED_PATTERNS)  // for memcheck, which reports what such machine code does
  code_->compiled_to_machine_code = pcre2_jit_compile(code_->code.get(), PCRE2_JIT_COMPLETE) == 0;
#endif
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

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
  scratch_->stack.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackMaximum, nullptr));
  pcre2_jit_stack_assign(scratch_->context.get(), nullptr, scratch_->stack.get());
}

RegexMatcher::~RegexMatcher() = default;
RegexMatcher::RegexMatcher(RegexMatcher&&) noexcept = default;
RegexMatcher& RegexMatcher::operator=(RegexMatcher&&) noexcept = default;

std::optional<RegexMatcher::Match> RegexMatcher::find(std::string_view text, std::size_t offset) {
  const pcre2_code* code = scratch_->regex->code.get();
  pcre2_match_data* data = scratch_->match_data.get();
  pcre2_match_context* context = scratch_->context.get();
  int result = PCRE2_ERROR_JIT_STACKLIMIT;
  if (scratch_->regex->compiled_to_machine_code) {
    result = pcre2_jit_match(code, units(text), text.size(), offset, 0, data, context);
  }
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
    result = pcre2_match(code, units(text), text.size(), offset, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                         data, context);
  }
  if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
  if (result < 0) {
    throw InvalidArgument("tokenizer: the pattern must match in bounded time, got '{}' at byte {}",
                          message_of(result), offset);
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data);
  return Match{.begin = ends[0], .end = ends[1]};
}

}  // namespace lime
