// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/sentences_model.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <memory>

#include "analysis/write_capture.h"
#include "store/capture_reader.h"
#include "support/test_data.h"

namespace lime::explorer::testing {
namespace {

TEST(SentencesModelTest, IsAProperModel) {
  const lime::testing::TemporaryFolder folder;
  lime::testing::write_capture(folder / "run.h5", lime::testing::example_capture());
  SentencesModel model;
  const QAbstractItemModelTester tester(&model,
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setCapture(std::make_shared<const CaptureReader>(folder / "run.h5"));
  EXPECT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.index(1, SentencesModel::kTokens).data().toInt(), 8);
  model.showTexts(model.capture()->sequences());  // which a job reads
  EXPECT_EQ(model.index(1, SentencesModel::kText).data().toString(), "");
  model.setCapture(nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

}  // namespace
}  // namespace lime::explorer::testing
