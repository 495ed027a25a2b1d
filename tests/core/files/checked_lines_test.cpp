// SPDX-License-Identifier: Apache-2.0
#include "core/files/checked_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

class CheckedLinesTest : public ::testing::Test {
 protected:
  std::vector<std::string> read(const std::string& content) const {
    std::vector<std::string> texts;
    read_checked_lines("a.part", content,
                       [&](std::string_view text, const std::string&, std::size_t end) {
                         texts.emplace_back(text);
                         EXPECT_EQ(content[end - 1], '\n');
                       });
    return texts;
  }

  testing::TemporaryFolder folder_;
  const std::vector<std::string> texts_ = {"{\"a\":1.5}", "", "tab\there"};
};

TEST_F(CheckedLinesTest, GivesBackWhatWasAppended) {
  {
    CheckedLinesWriter writer(folder_ / "a.part");
    writer.append(std::span(texts_).first(2));
    writer.append(std::span(texts_).last(1));
  }
  const std::string content = testing::read_text(folder_ / "a.part");
  EXPECT_EQ(read(content), texts_);
  // The first digits of `printf '{"a":1.5}' | sha256sum`: a stored format.
  EXPECT_TRUE(content.starts_with("{\"a\":1.5}\t3b1cb40b22933d83\n")) << content;
  CheckedLinesWriter writer(folder_ / "a.part");
  writer.cut(content.find('\n') + 1);
  writer.append(std::span(texts_).last(1));
  EXPECT_EQ(read(testing::read_text(folder_ / "a.part")),
            (std::vector<std::string>{texts_[0], texts_[2]}));
}

TEST_F(CheckedLinesTest, RefusesEveryChangedByteButThoseOfTheLastLine) {
  CheckedLinesWriter(folder_ / "a.part").append(texts_);
  const std::string content = testing::read_text(folder_ / "a.part");
  const std::size_t last = content.rfind('\n', content.size() - 2) + 1;
  for (std::size_t i = 0; i < content.size(); ++i) {
    std::string damaged = content;
    damaged[i] ^= 1;
    if (i + 1 >= last) {  // the line break before it makes the line before it part of the last
      EXPECT_EQ(read(damaged).size(), i + 1 == last ? 1U : 2U) << i;
    } else {
      EXPECT_THAT(testing::refusal_of<FormatError>([&] { read(damaged); }),
                  ::testing::MatchesRegex("'a.part' line [12]: does not have its checksum; remove "
                                          "the file to start over"))
          << i;
    }
  }
}

TEST_F(CheckedLinesTest, OmitsALastLineThatWasCutShort) {
  CheckedLinesWriter(folder_ / "a.part").append(texts_);
  const std::string content = testing::read_text(folder_ / "a.part");
  EXPECT_EQ(read(content.substr(0, content.size() - 1)).size(), 2U);
  EXPECT_EQ(read(content.substr(0, content.find('\n'))).size(), 0U);
}

}  // namespace
}  // namespace lime
