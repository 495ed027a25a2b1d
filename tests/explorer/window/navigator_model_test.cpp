// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/navigator_model.h"

#include <gtest/gtest.h>

#include "explorer/explorer_fixture.h"

namespace lime::explorer::testing {
namespace {

class NavigatorModelTest : public WorkspaceTest {};

TEST_F(NavigatorModelTest, SaysWhyTheViewLeavesOutADocument) {
  open({captureFile("a.h5"), captureFile("b.h5")});
  NavigatorModel navigator(workspace_);
  const int left_out = workspace_.documents()[1].id;
  navigator.setObstacles([&](const Document& document) {
    return document.id == left_out ? QStringLiteral("it has no classes") : QString();
  });
  const QModelIndex index = navigator.indexOfDocument(left_out);
  EXPECT_EQ(index.data(NavigatorModel::ObstacleRole).toString(), "it has no classes");
  EXPECT_TRUE(index.data(Qt::ToolTipRole)
                  .toString()
                  .startsWith("Not drawn in this view: it has no classes\n\n/"));
  const QModelIndex other = navigator.indexOfDocument(workspace_.documents()[0].id);
  EXPECT_EQ(other.data(NavigatorModel::ObstacleRole).toString(), "");
  navigator.setObstacles([](const Document&) { return QString(); });
  EXPECT_FALSE(index.data(Qt::ToolTipRole).toString().contains("Not drawn"));
}

}  // namespace
}  // namespace lime::explorer::testing
