// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/chat/jinja_value.h"

namespace lime::jinja {

/// The variables of a template, of one pass through a loop, or of one call of a macro.
class Scope {
 public:
  explicit Scope(std::shared_ptr<const Scope> parent = nullptr) : parent_(std::move(parent)) {}

  void set(std::string_view name, Value value);
  /// Returns the variable of the innermost scope that has it; else an undefined value.
  Value find(std::string_view name) const;

 private:
  std::shared_ptr<const Scope> parent_;
  std::vector<std::pair<std::string, Value>> variables_;
};

/// What all frames of one rendering share.
struct Rendering {
  int line = 0;  ///< of the statement that runs
  int num_calls = 0;
  std::int64_t num_steps = 0;

  /// Counts a step, a long text as several. @throws FormatError  if there are more than a template
  /// of good will takes
  void step(std::size_t bytes = 0);
  /// Counts the making of a value, which it returns.
  Value made(Value value);
};

/// Where a statement runs.
struct Frame {
  std::shared_ptr<Scope> scope;
  std::string& output;
  Rendering& rendering;

  /// Appends to the output. @throws FormatError  if it becomes too long
  void write(std::string_view text) const;
};

/// Selects what follows a statement: the next one, or the end of the loop or of one pass of it.
enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

using Expression = std::function<Value(Frame&)>;
using Statement = std::function<Flow(Frame&)>;
using Block = std::vector<Statement>;

/// Runs statements until one leaves the loop around them.
Flow run(const Block& block, Frame& frame);

}  // namespace lime::jinja
