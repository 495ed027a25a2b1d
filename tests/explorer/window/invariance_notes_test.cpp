// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/invariance_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QLabel>
#include <QWidget>

#include "explorer/explorer_fixture.h"
#include "explorer/window/explain_button.h"
#include "explorer/window/view_kinds.h"
#include "support/test_data.h"

namespace lime::explorer::testing {
namespace {

using ::testing::HasSubstr;

TEST(InvarianceNotesTest, AreTheTableOfTheManual) {
  const std::string page =
      lime::testing::read_text(lime::testing::source_file("docs/invariance.md"));
  const std::size_t begin = page.find("## By measurement");
  ASSERT_NE(begin, page.npos);
  const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  std::size_t rows = 0;
  for (std::size_t at = section.find("\n| `"); at != section.npos; ++rows) {
    at = section.find("\n| `", at + 1);
  }
  EXPECT_EQ(invarianceNotes().size(), rows);
  for (const InvarianceNote& note : invarianceNotes()) {
    std::string row = "| " + std::string(note.measurement) + " | " + std::string(note.weights) +
                      " | " + std::string(note.advice);
    row += note.advice.empty() ? "|\n" : " |\n";
    EXPECT_THAT(section + "\n", HasSubstr(row));
  }
}

TEST(InvarianceNotesTest, QuestionMarksQuoteTheRowsOfTheirView) {
  EXPECT_EQ(invarianceHtml({"`lens`"}), "<p><code>lens</code>: invariant.</p>");
  EXPECT_TRUE(invarianceHtml({"`router`"}).contains("|R| moves with <code>route-scale</code>"));
  for (const ViewKind& view : allViews()) {
    for (const std::string& measurement : view.explanation.measurements) {
      EXPECT_FALSE(invarianceHtml({measurement}).isEmpty()) << measurement;
    }
  }
  QWidget parent;
  ExplainButton button(parent);
  button.setView(&allViews()[static_cast<std::size_t>(indexOfView("collapse"))]);
  button.explain();
  const QString text = childCalled<QLabel>(button, "explanation").text();
  EXPECT_TRUE(text.contains("outlier dimensions move with rotations")) << text.toStdString();
  EXPECT_TRUE(text.contains("docs/invariance.md"));
}

}  // namespace
}  // namespace lime::explorer::testing
