// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "explorer/capture/capture_run.h"
#include "explorer/widgets/form_dialog.h"

class QCheckBox;
class QLineEdit;
class QPlainTextEdit;
class QWidget;

namespace lime::explorer {

/// Asks for a text, the checkpoints that read it, the sites and the file, and starts the capture.
class CaptureDialog : public FormDialog {
  Q_OBJECT

 public:
  /// @param request  preset; its models are offered, each with a box
  CaptureDialog(CaptureRun& run, CaptureRequest request, QWidget* parent = nullptr);

  /// Returns what was started, with all models that were offered.
  const CaptureRequest& request() const { return request_; }

 protected:
  void apply() override;

 private:
  CaptureRun& run_;
  CaptureRequest request_;
  std::vector<QCheckBox*> models_;
  QPlainTextEdit* text_;
  QLineEdit* text_file_;
  QLineEdit* output_;
};

}  // namespace lime::explorer
