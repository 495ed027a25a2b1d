// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QLineEdit>

#include "explorer/models/preferences.h"
#include "explorer/widgets/option_form.h"

namespace lime::explorer::testing {
namespace {

TEST(OptionFormTest, ChangesTheStructAndNamesWhatItCannotRead) {
  Preferences preferences;
  OptionForm form(preferences);
  auto* const size = form.findChild<QLineEdit*>("plot_font_size");
  ASSERT_NE(size, nullptr);
  size->setText("11");
  EXPECT_EQ(preferences.plot_font_size, 11.0);
  size->setText("eleven");
  EXPECT_TRUE(form.problem().contains("plot font size")) << form.problem().toStdString();
}

}  // namespace
}  // namespace lime::explorer::testing
