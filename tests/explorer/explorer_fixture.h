// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <QObject>
#include <QString>
#include <QStringList>
#include <functional>
#include <stdexcept>

#include "explorer/models/job_runner.h"
#include "explorer/models/workspace.h"
#include "support/test_data.h"

namespace lime::explorer::testing {

/// Runs the event loop until `is_so` is true; returns false after `seconds`.
bool waitUntil(const std::function<bool()>& is_so, double seconds = 120.0);

/// Returns the widget of this type below `parent` with this accessible name.
/// @throws std::runtime_error  if there is none.
template <typename Widget> Widget& childCalled(const QObject& parent, const QString& name) {
  for (Widget* const child : parent.findChildren<Widget*>()) {
    if (child->accessibleName() == name) return *child;
  }
  throw std::runtime_error("there is no '" + name.toStdString() + "'");
}

/// A workspace with files of each kind in a temporary folder.
class WorkspaceTest : public ::testing::Test {
 protected:
  /// Opens `paths` and waits until all jobs are done.
  void open(const QStringList& paths);
  /// Writes a capture of two sites and layers.
  QString captureFile(const std::string& name = "run.h5");
  /// Writes a LIMe checkpoint of three layers and two key-value heads, with random routers.
  QString checkpointFolder(const std::string& name = "tiny");
  /// Writes results of metric "entropy".
  QString resultsFile(const std::string& name = "entropy.json");

  lime::testing::TemporaryFolder folder_;
  JobRunner jobs_;
  Workspace workspace_{jobs_};
  QStringList refused_;  ///< messages of openFailed()

  WorkspaceTest();
  /// Prints the workspace's errors if a test failed.
  void TearDown() override;
};

}  // namespace lime::explorer::testing
