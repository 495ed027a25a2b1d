// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <QStringList>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "checkpoint/router_edit.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/surgery_result.h"
#include "store/results_file.h"

class QTemporaryDir;

namespace lime::explorer {

/// The child programs that run models: the window has none of LibTorch.
struct SurgeryPrograms {
  QString generate;
  QString capture;

  /// Those in `folder`, that of the window, else those of the search path.
  static SurgeryPrograms find(const QString& folder);
};

/// A text, a model and its edits.
struct SurgeryQuestion {
  std::filesystem::path checkpoint;
  std::vector<RouterEdit> edits;
  QStringList lines;  ///< each a sequence of its own; none is blank
  int line = 0;       ///< of those, the one that is read token by token
  int threads = 0;    ///< of the children; 0: all processors

  /// Whether the two differ in nothing but the line that is read closely.
  bool isSameBut(const SurgeryQuestion& other) const;
};

/// Runs a text through a model as trained and as edited, in child processes one after another, and
/// keeps what came of it: a line token by token (lime-generate), the likelihood of the text and its
/// activations (lime-capture), and their entropies. What the trained model gave is kept while edits
/// change. Files lie in a temporary folder that goes with the last job that uses it. Lives on the
/// GUI thread.
class SurgeryRun : public QObject {
  Q_OBJECT

 public:
  explicit SurgeryRun(JobRunner& jobs, QObject* parent = nullptr);
  ~SurgeryRun() override;

  void setPrograms(const SurgeryPrograms& programs) { programs_ = programs; }
  /// Forgets all answers: another checkpoint lies at the path.
  void forget();

  /// Drops what is under way and asks anew.
  void start(const SurgeryQuestion& question);
  /// Reads another line of the last question.
  void lookAt(int line);
  void cancel();

  bool isRunning() const { return job_ != 0; }
  /// "2 of 5: Reading the line with the edits, 12 s left"; empty while nothing runs.
  QString stepText() const;
  double share() const;  ///< of the work that is done, [0, 1]
  /// Why the last question has no (whole) answer: a child's last lines; empty where it has.
  const QString& problem() const { return problem_; }

  /// What was asked last, and what is known of the answer.
  const std::optional<SurgeryQuestion>& question() const { return question_; }
  const LineReading* trainedReading() const;
  const LineReading* editedReading() const;
  const std::optional<TextScore>& score() const { return score_; }
  const std::optional<Results>& entropies() const { return entropies_; }

 Q_SIGNALS:
  void changed();
  /// stepText() and share() are others, and nothing else is.
  void progressed();

 private:
  enum class Step { kReadTrained, kReadEdited, kCaptureTrained, kCaptureEdited, kCompare };
  /// A capture in a folder that is removed with it.
  struct Captured {
    std::shared_ptr<QTemporaryDir> folder;
    std::filesystem::path path;
  };
  static QString nameOf(Step step);
  static bool isReading(Step step) {
    return step == Step::kReadTrained || step == Step::kReadEdited;
  }

  void next();
  void begin(Step step);
  void read(Step step, const std::vector<RouterEdit>& edits);
  void capture(Step step, const std::vector<RouterEdit>& edits);
  void parse(Step step, const QByteArray& key, const QByteArray& output);
  void compare();
  void measure(const Captured& before, const Captured& after);
  void finished(Step step);
  void failed(const QString& problem);
  void jobRemoved(JobId id);
  /// "--router-edit FILE", the file written into `folder`; nothing without edits.
  static QStringList editArguments(const QTemporaryDir& folder,
                                   const std::vector<RouterEdit>& edits);
  QStringList commonArguments() const;
  QByteArray readingKey(const std::vector<RouterEdit>& edits) const;
  const LineReading* readingOf(const std::vector<RouterEdit>& edits) const;
  bool isKnown(Step step) const;

  JobRunner& jobs_;
  SurgeryPrograms programs_;
  std::optional<SurgeryQuestion> question_;
  std::deque<Step> waiting_;
  Step current_ = Step::kReadTrained;
  int num_steps_ = 0;  ///< of the present run
  JobId job_ = 0;      ///< 0: none under way
  QString problem_;
  QHash<QByteArray, LineReading> readings_;
  std::optional<Captured> trained_;
  std::optional<Captured> edited_;
  std::optional<TextScore> score_;
  std::optional<Results> entropies_;
};

}  // namespace lime::explorer
