// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QHashSeed>
#include <QSettings>
#include <QStandardPaths>
#include <QStyleFactory>
#include <QTemporaryDir>

// Tests of the window need an application, no display, and separate settings and temporary files:
// other tests run concurrently.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);
  QHashSeed::setDeterministicGlobalSeed();  // as in the program
  QApplication application(argc, argv);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setOrganizationName(QStringLiteral("lime-tests"));
  QApplication::setApplicationName(QStringLiteral("lime-explorer-tests"));
  const QTemporaryDir own;
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, own.path());
  qputenv("TMPDIR", QFile::encodeName(own.path()));
  return RUN_ALL_TESTS();
}
