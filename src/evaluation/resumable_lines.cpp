// SPDX-License-Identifier: Apache-2.0
#include "evaluation/resumable_lines.h"

#include "core/errors.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Starts a part with the lines of a finished file.
void reopen(const fs::path& output, const fs::path& part) {
  std::vector<std::string> lines;
  for_each_line(output, [&](std::string_view line, std::int64_t) {
    lines.emplace_back(line);
    return true;
  });
  CheckedLinesWriter(part).append(lines);
}

}  // namespace

ResumableLines::ResumableLines(const fs::path& output, bool resume)
    : lock_(output), file_(output), part_(output.string() + ".part") {
  throw_if(path_exists(part_) && !resume,
           "'{}': contains the finished part of an interrupted run; resume it with --resume, or "
           "remove the file",
           part_.string());
  if (resume && !path_exists(part_) && path_exists(output)) reopen(output, part_);
  if (!path_exists(part_)) return;
  earlier_ = std::make_unique<MappedFile>(part_);
  read_checked_lines(part_, earlier_->text(),
                     [&](std::string_view text, const std::string& where, std::size_t end) {
                       lines_.push_back({text, where, end});
                     });
}

std::vector<Json> ResumableLines::next(std::size_t count) {
  if (lines_.size() - returned_ < count) {
    lines_.resize(returned_);
    return {};
  }
  std::vector<Json> lines;
  for (const Line& line : std::span(lines_).subspan(returned_, count)) {
    lines.push_back(parse_json(line.text, line.where));
  }
  returned_ += count;
  return lines;
}

CheckedLinesWriter& ResumableLines::writer() {
  if (!writer_) {
    const std::size_t kept = returned_ == 0 ? 0 : lines_[returned_ - 1].end;
    lines_.resize(returned_);
    earlier_.reset();
    writer_ = std::make_unique<CheckedLinesWriter>(part_);
    writer_->cut(kept);
  }
  return *writer_;
}

void ResumableLines::add(std::span<const Json> lines) {
  std::vector<std::string> texts;
  for (const Json& line : lines) texts.push_back(dump_json(line));
  writer().append(texts);
}

void ResumableLines::commit() {
  writer();
  const MappedFile part(part_);
  std::size_t read = 0;
  write_content(file_, [&](std::ostream& out) {
    read_checked_lines(part_, part.text(),
                       [&](std::string_view text, const std::string&, std::size_t end) {
                         out << text << '\n';
                         read = end;
                       });
  });
  throw_if<FormatError>(read != part.size(), "'{}': is damaged at byte {}; resume with --resume",
                        part_.string(), read);
  file_.commit();
  std::error_code ignored;
  fs::remove(part_, ignored);
}

}  // namespace lime
