// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Contents of the shorthands, as written inside brackets. `\w` is Alphabetic, marks, decimal
/// digits and connectors, and the Latin-1 numbers that Oniguruma keeps from its oldest tables.
constexpr std::string_view kSpace = R"(\p{White_Space})";
constexpr std::string_view kNotSpace = R"(\P{White_Space})";
constexpr std::string_view kWord =
    R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
constexpr std::string_view kHexDigit = "0-9a-fA-F";

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kLongCategories = {{
    {"Letter", "L"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Punctuation", "P"},
    {"Symbol", "S"},
    {"Separator", "Z"},
    {"Other", "C"},
    {"Decimal_Number", "Nd"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kPosixClasses = {{
    {"[:space:]", kSpace},
    {"[:alpha:]", R"(\p{Alphabetic})"},
    {"[:digit:]", R"(\p{Nd})"},
    {"[:punct:]", R"(\p{P}\p{S})"},
    {"[:word:]", kWord},
}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_character(c);
      } else if (c == '[') {
        open_class();
      } else if (c == '(' && pattern_.substr(at_, 2) == "(?") {
        check_group();
        copy(2);
      } else if (c == '{') {
        interval();
      } else {
        copy(1);
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw FormatError("pattern '{}': {} at byte {} is not supported", printable(pattern_, 200),
                      what, at_);
  }

  void copy(std::size_t count) {
    result_ += pattern_.substr(at_, count);
    at_ += count;
  }

  void put(std::string_view text, std::size_t consumed) {
    result_ += text;
    at_ += consumed;
  }

  void put_set(std::string_view set, std::size_t consumed) {
    if (in_class_) return put(set, consumed);
    put("[" + std::string(set) + "]", consumed);
  }

  void put_negated_set(std::string_view set, std::size_t consumed) {
    if (in_class_) refuse("a negated shorthand inside brackets");
    put("[^" + std::string(set) + "]", consumed);
  }

  void escape() {
    if (at_ + 1 >= pattern_.size()) refuse("a lone backslash");
    const char c = pattern_[at_ + 1];
    switch (c) {
      case 's': return put(kSpace, 2);
      case 'S': return put(kNotSpace, 2);
      case 'w': return put_set(kWord, 2);
      case 'W': return put_negated_set(kWord, 2);
      case 'h': return put_set(kHexDigit, 2);
      case 'H': return put_negated_set(kHexDigit, 2);
      case 'v': return put(R"(\x0b)", 2);
      case 'b': return put(in_class_ ? std::string(R"(\x08)") : word_boundary(true), 2);
      case 'B':
        if (in_class_) refuse("\\B inside brackets");
        return put(word_boundary(false), 2);
      case 'x': return code_point();
      case 'u': return unicode_escape();
      case 'p':
      case 'P': return property();
      default: break;
    }
    constexpr std::string_view kSame = "dDrntfae0";
    constexpr std::string_view kSameOutside = "AzZRX";
    const bool shared = kSame.find(c) != std::string_view::npos ||
                        (!in_class_ && kSameOutside.find(c) != std::string_view::npos);
    if ((is_letter(c) || is_digit(c)) && !shared) refuse(std::string("\\") + c);
    copy(2);
  }

  void unicode_escape() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    if (digits.size() < 4) refuse("a short \\u");
    put("\\x{" + std::string(digits) + "}", 6);
  }

  /// `\x41` and `\x{1F600}`, which hold a brace that is no interval.
  void code_point() {
    if (pattern_.substr(at_ + 2, 1) != "{") return copy(2);
    const std::size_t end = std::min(pattern_.find('}', at_), pattern_.size());
    const std::string_view digits = pattern_.substr(at_ + 3, end - at_ - 3);
    const bool is_hex =
        digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (end == pattern_.size() || digits.empty() || !is_hex) refuse("\\x{ without a number");
    copy(end + 1 - at_);
  }

  /// PCRE2's own `\b` has another `\w`.
  static std::string word_boundary(bool changes) {
    const std::string word = "[" + std::string(kWord) + "]";
    const std::string_view after_word = changes ? "(?!" : "(?=";
    const std::string_view after_other = changes ? "(?=" : "(?!";
    return fmt::format("(?:(?<={0}){1}{0})|(?<!{0}){2}{0}))", word, after_word, after_other);
  }

  /// `\p{Name}`: categories are the same; any other name is a script without its extensions.
  void property() {
    if (at_ + 2 >= pattern_.size() || pattern_[at_ + 2] != '{') return copy(2);
    const std::size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) refuse("an open property");
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    const bool negated = !name.empty() && name.front() == '^';
    if (negated) name.remove_prefix(1);
    for (const auto& [full, brief] : kLongCategories) {
      if (name == full) name = brief;
    }
    std::string written = "\\" + std::string(1, pattern_[at_ + 1]) + "{" + (negated ? "^" : "");
    if (name.size() > 2 && name != "White_Space" && name != "Alphabetic") written += "sc:";
    put(written + std::string(name) + "}", end + 1 - at_);
  }

  void open_class() {
    in_class_ = true;
    copy(1);
    if (pattern_.substr(at_, 1) == "^") copy(1);
    if (pattern_.substr(at_, 1) == "]") put("\\]", 1);
  }

  void class_character(char c) {
    if (c == ']') in_class_ = false;
    if (c == '[') return posix_class();
    if (pattern_.substr(at_, 2) == "&&") refuse("an intersection of classes");
    copy(1);
  }

  void posix_class() {
    for (const auto& [name, set] : kPosixClasses) {
      if (pattern_.substr(at_, name.size()) == name) return put(set, name.size());
    }
    refuse("a class inside brackets");
  }

  void check_group() const {
    constexpr std::string_view kKnown = ":=!>i<-#";
    if (at_ + 2 >= pattern_.size() || kKnown.find(pattern_[at_ + 2]) == std::string_view::npos) {
      refuse("a group of this kind");
    }
    const std::string_view group = pattern_.substr(at_ + 2);
    const std::string_view flags = group.substr(0, group.find_first_of(":)"));
    if (group.front() == 'i' || group.front() == '-') {
      if (flags.find_first_not_of("i-") != std::string_view::npos) refuse("a flag other than i");
    }
  }

  /// `{n,m}` is the same, but a `+` after it repeats here and is possessive there.
  void interval() {
    const std::size_t end = pattern_.find('}', at_);
    const bool counts = end != std::string_view::npos &&
                        pattern_.substr(at_ + 1, end - at_ - 1).find_first_not_of("0123456789,") ==
                            std::string_view::npos;
    if (!counts) return put("\\{", 1);
    if (pattern_.substr(end + 1, 1) == "+") refuse("{n,m}+");
    // {,n} means {0,n} in Ruby and is literal text in PCRE2 10.42.
    if (pattern_[at_ + 1] == ',') return put("{0", 1);
    copy(end + 1 - at_);
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string result_;
};

}  // namespace

std::string pcre2_from_oniguruma(std::string_view pattern) { return Translator(pattern).run(); }

std::string quote_pattern(std::string_view text) {
  std::string result;
  for (const char c : text) {
    constexpr std::string_view kSpecial = R"(\^$.[]|()?*+{}-#)";
    if (kSpecial.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

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
