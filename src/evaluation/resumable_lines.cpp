// SPDX-License-Identifier: Apache-2.0
#include "evaluation/resumable_lines.h"

#include <fmt/format.h>

#include <string>

namespace lime {

namespace fs = std::filesystem;

ResumableLines::ResumableLines(const fs::path& output, bool resume)
    : lock_(output), file_(output), part_(output.string() + ".part") {
  throw_if(path_exists(part_) && !resume,
           "'{}': contains the finished part of an interrupted run; resume it with --resume, or "
           "remove the file",
           part_.string());
  if (resume && !path_exists(part_) && path_exists(output)) fs::copy_file(output, part_);
  in_.open(part_, std::ios::binary);
}

std::vector<Json> ResumableLines::next(std::size_t count) {
  std::vector<Json> lines;
  std::streamoff end = kept_;
  // A last line without its end was cut short.
  for (std::string text; lines.size() < count && std::getline(in_, text) && !in_.eof();) {
    const std::string where =
        fmt::format("'{}' line {}", part_.string(), number_ + lines.size() + 1);
    lines.push_back(parse_json(text, where));
    end = in_.tellg();
  }
  if (lines.size() < count) {
    in_.setstate(std::ios::failbit);
    return {};
  }
  kept_ = end;
  number_ += count;
  return lines;
}

void ResumableLines::add(std::span<const Json> lines) {
  if (!out_.is_open()) {
    if (path_exists(part_)) fs::resize_file(part_, static_cast<std::uintmax_t>(kept_));
    out_.open(part_, std::ios::binary | std::ios::app);
  }
  for (const Json& line : lines) {
    out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  }
  out_.flush();
  if (!out_) throw IoError("'{}': cannot be written", part_.string());
}

void ResumableLines::commit() {
  add({});
  fs::copy_file(part_, file_.temporary(), fs::copy_options::overwrite_existing);
  file_.commit();
  fs::remove(part_);
}

}  // namespace lime
