// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lime {

/// Limits the work that the stages of a tokenizer.json may spend on one text. Stages may write
/// 256 bytes for each byte of the text and 1 MiB more; patterns may take 10,000 steps for each byte
/// and 10^8 more. Ordinary tokenizers need far less; a malicious file can neither run for hours nor
/// exhaust the memory. For one thread.
class WorkBudget {
 public:
  explicit WorkBudget(std::size_t text_bytes);

 private:
  friend class StageWork;
  std::size_t text_bytes_;
  std::uint64_t bytes_left_;
  std::uint64_t steps_left_;
};

/// Work of one stage on a text. Keeps references to both arguments.
class StageWork {
 public:
  /// @param stage  the place in the file, for errors.
  StageWork(WorkBudget& budget, std::string_view stage) : budget_(budget), stage_(stage) {}

  std::string_view stage() const { return stage_; }
  /// Call before the bytes are written. @throws InvalidArgument  that names the stage.
  void take_bytes(std::uint64_t count) const;
  /// Counts steps of a pattern. @throws InvalidArgument  that names the stage.
  void take_steps(std::uint64_t count) const;

 private:
  WorkBudget& budget_;
  std::string_view stage_;
};

/// Replaces each `from`, which must not be empty, by `to` in `text`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        const StageWork& work);

/// @throws FormatError  if a part of a tokenizer has more than 100 stages.
void check_num_stages(std::size_t count, std::string_view where);

}  // namespace lime
