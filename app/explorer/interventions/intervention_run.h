// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QHash>
#include <deque>

#include "checkpoint/router_layout.h"
#include "explorer/interventions/intervention_result.h"
#include "explorer/models/job_runner.h"
#include "store/results_file.h"

class QTemporaryDir;

namespace lime::explorer {

/// The child programs that run models.
struct ModelPrograms {
  QString generate = findProgram(u"lime-generate"_s);
  QString capture = findProgram(u"lime-capture"_s);
};

/// A text, a model and its edits.
struct InterventionRequest {
  std::filesystem::path checkpoint;
  std::vector<RouterEdit> edits;
  QStringList lines;  ///< each a sequence of its own; none is blank
  int line = 0;       ///< of those, the one that is read token by token
  int threads = 0;    ///< of the children; 0: all CPUs

  /// Returns whether the two differ in no more than the line.
  bool isSameBut(const InterventionRequest& other) const;
};

/// Runs a text through the original and the edited model, in child processes one after another: a
/// line token by token (lime-generate), the likelihood of the text and its activations
/// (lime-capture), and their entropies. The output of the original model is kept while edits
/// change. Files are in a temporary folder that is removed with the last job that uses it. Lives on
/// the GUI thread.
class InterventionRun : public QObject {
  Q_OBJECT

 public:
  explicit InterventionRun(JobRunner& jobs);
  ~InterventionRun() override;

  void setPrograms(const ModelPrograms& programs) { programs_ = programs; }
  /// Drops all results: another checkpoint may be at the path.
  void clear();

  /// Cancels the current run and starts another one.
  void start(const InterventionRequest& request);
  /// Runs another line of the last request.
  void showLine(int line);
  void cancel();

  bool isRunning() const { return job_ != 0; }
  /// Returns e.g. "2 of 5: Edited: reading the line, 12 s left"; empty if nothing runs.
  QString stepText() const;
  double share() const;  ///< of the work that is done, [0, 1]
  /// Returns why the last request has no result, or not all of it; empty where it has.
  const QString& problem() const { return problem_; }

  /// Returns the last request.
  const std::optional<InterventionRequest>& request() const { return request_; }
  const LineReading* originalReading() const;
  const LineReading* editedReading() const;
  const std::optional<TextScore>& score() const { return score_; }
  const std::optional<Results>& entropies() const { return entropies_; }

 Q_SIGNALS:
  void changed();
  /// Only stepText() and share() have changed.
  void progressed();

 private:
  enum class Step { kReadOriginal, kReadEdited, kCaptureOriginal, kCaptureEdited, kCompare };
  /// A capture, and its folder, which is removed with it.
  struct Captured {
    std::shared_ptr<QTemporaryDir> folder;
    std::filesystem::path path;
  };
  static QString nameOf(Step step);
  /// Returns the edits of the model that a step runs.
  const std::vector<RouterEdit>& editsOf(Step step) const;
  static bool isReading(Step step) {
    return step == Step::kReadOriginal || step == Step::kReadEdited;
  }

  void next();
  void read(Step step);
  void capture(Step step);
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
  ModelPrograms programs_;
  std::optional<InterventionRequest> request_;
  std::deque<Step> waiting_;
  Step current_ = Step::kReadOriginal;
  int num_steps_ = 0;  ///< of the present run
  JobId job_ = 0;      ///< 0: none under way
  QString problem_;
  QHash<QByteArray, LineReading> readings_;
  std::optional<Captured> original_;
  std::optional<Captured> edited_;
  std::optional<TextScore> score_;
  std::optional<Results> entropies_;
};

/// A run of the Interventions view, for its commands.
struct InterventionCommand {
  InterventionRequest request;  ///< no lines: only the edits are written
  QString text_file;            ///< that contains the text; empty: it was typed
  QString edit_file;            ///< that contains the edits; empty: they were made in the view
  QString site;
  QStringList figure_options;
  bool draws_entropies = true;  ///< else the last command measures them
};

/// Returns the commands that repeat a run without the explorer.
QStringList interventionCommandLines(const InterventionCommand& command);

}  // namespace lime::explorer
