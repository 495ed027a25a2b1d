// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/options.h"
#include "explorer/models/job_runner.h"

namespace lime::explorer {

/// The options of a capture that is made in the explorer. The defaults are what most views need.
struct CaptureForm {
  bool values = true;
  bool routed_values = true;
  bool hidden = true;
  bool attention_patterns = false;
  bool logit_lens = false;
  bool only_words = false;
  std::vector<std::string> words;
  bool one_sequence_per_line = true;
  int max_sequences = 1000;

  void describe(OptionList& list);
};

/// A text, the checkpoints that read it, and the files that are written.
struct CaptureRequest {
  struct Model {
    QString label;
    QString path;
  };
  CaptureForm form = {};
  std::vector<Model> models = {};
  QString text = {};              ///< typed; it is written beside the output
  QString text_file = {};         ///< instead of `text`
  QString output = {};            ///< of several models, each adds its label: see outputs()
  bool measures_entropy = false;  ///< also writes the results of lime-metrics entropy
  int threads = 0;                ///< of the children; 0: all CPUs

  /// Returns the file of each model.
  QStringList outputs() const;
  /// @throws InvalidArgument, IoError  naming the first thing that prevents the capture
  void validate() const;
};

/// The keys of the jobs of a CaptureRun begin with it.
inline const QString kCaptureJobs = u"capture/"_s;

/// Captures a text with one model after another, in child processes that are listed as jobs. A
/// capture that was cancelled is resumed by the same request. Lives on the GUI thread.
class CaptureRun : public QObject {
  Q_OBJECT

 public:
  explicit CaptureRun(JobRunner& jobs);

  bool isRunning() const { return !waiting_.empty() || job_ != 0; }
  /// @throws InvalidArgument, IoError  as CaptureRequest::validate(), if the text cannot be
  /// written,
  ///         and while another capture is running
  void start(const CaptureRequest& request);
  /// Captures the words of the text that was captured last, for the Probes view; without one does
  /// nothing. @throws as start()
  void captureWords();
  /// Measures the entropy of captures. @param output  results file
  void measure(const QStringList& captures, const QString& output, int threads);

 Q_SIGNALS:
  /// @param files  that were written, in order
  void finished(const QStringList& files);
  void failed(const QString& problem);

 private:
  /// A child process.
  struct Step {
    QString title;
    QString program;
    QStringList arguments;
    QString output;
  };

  void capture(const CaptureRequest& request, const QString& text);
  void addMeasurement(const QStringList& captures, const QString& output, int threads);
  void next();
  void end(const QString& problem);

  JobRunner& jobs_;
  std::optional<CaptureRequest> last_;  ///< that captured whole sequences
  std::deque<Step> waiting_;
  JobId job_ = 0;  ///< 0: no job is running
  QStringList written_;
};

/// Returns the most frequent words of a text that are one token of the checkpoint, for classes of
/// probes. Reads the tokenizer: not for the GUI thread.
/// @throws IoError, FormatError, InvalidArgument  if there is none
std::vector<std::string> frequentWords(const std::filesystem::path& checkpoint,
                                       const std::filesystem::path& text, std::size_t count);

}  // namespace lime::explorer
