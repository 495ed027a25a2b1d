// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>
#include <QHash>
#include <QObject>
#include <QString>
#include <QStringList>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "explorer/interventions/decoder_edits.h"
#include "explorer/interventions/model_outputs.h"
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
  DecoderEdits edits;
  QStringList lines;        ///< each a sequence of its own; none is blank
  QStringList second = {};  ///< lines of the second text, as many, if an edit patches
  QStringList score = {};   ///< options of lime-capture that select the tokens of the loss
  int line = 0;             ///< of those, the one that is read token by token
  int threads = 0;          ///< of the children; 0: all CPUs
  QString sweep = {};       ///< components of the original model that are ablated in turn: --over
  QStringList sites = {u"values"_s, u"routed_values"_s, u"hidden"_s};  ///< of the entropies

  /// Returns why it cannot run; empty if it can.
  QString problem() const;
  bool isSameText(const InterventionRequest& other) const {
    return checkpoint == other.checkpoint && lines == other.lines && score == other.score &&
           sites == other.sites;
  }
  /// Returns whether the two differ in no more than the line and the sweep.
  bool isSameBut(const InterventionRequest& other) const {
    return isSameText(other) && edits == other.edits && second == other.second;
  }
};

/// Runs a text through the original and the edited model, in child processes one after another: a
/// line token by token (lime-generate), the likelihood of the text and its activations
/// (lime-capture), and their entropies; on request also the effect of ablating every route, part or
/// head (lime-capture sweep). Where an edit patches, the second text is captured first. The output
/// of the original model is kept while edits change. Files are in a temporary folder that is
/// removed with the last job that uses it. Lives on the GUI thread.
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
  /// Returns what the user should know about the results: a problem, or that they are not those of
  /// the text and the edits that there are now; empty otherwise. @param now  empty: no text
  QString note(const std::optional<InterventionRequest>& now) const;

  /// Returns the last request.
  const std::optional<InterventionRequest>& request() const { return request_; }
  const LineReading* originalReading() const;
  const LineReading* editedReading() const;
  const std::optional<TextScore>& score() const { return score_; }
  const std::optional<Results>& entropies() const { return entropies_; }
  /// Returns the effects of the components of the original model that --over names, "routes"; null
  /// before a run that sweeps over them.
  std::shared_ptr<const Results> sweep(const QString& over) const { return sweeps_.value(over); }

 Q_SIGNALS:
  void changed();
  /// Only stepText() and share() have changed.
  void progressed();

 private:
  enum class Step {
    kReadOriginal,
    kCaptureSecondLine,
    kReadEdited,
    kCaptureOriginal,
    kCaptureSecond,
    kCaptureEdited,
    kSweep,
    kCompare
  };
  /// A capture, and its folder, which is removed with it.
  struct Captured {
    std::shared_ptr<QTemporaryDir> folder;
    std::filesystem::path path;
  };
  /// A capture of the second text, or of a line of it.
  struct Second {
    QByteArray key;
    Captured captured;
  };
  static QString nameOf(Step step);
  QString titleOf(Step step) const;  ///< with the model
  static bool isEdited(Step step) {
    return step == Step::kReadEdited || step == Step::kCaptureEdited;
  }
  static bool isReading(Step step) {
    return step == Step::kReadOriginal || step == Step::kReadEdited;
  }
  /// Returns whether a step belongs to the line that is read token by token.
  static bool isOfLine(Step step) { return isReading(step) || step == Step::kCaptureSecondLine; }

  void dropEdited();
  void next();
  void read(Step step);
  void capture(Step step);
  /// Captures the lines of the second text that a step needs, and compares their lengths.
  void captureSecond(Step step);
  void compare();
  void ablateComponents();
  /// Starts a child, and keeps what is parsed of its output in a job.
  template <typename Result>
  void answer(Step step, const QString& program, const QStringList& arguments,
              std::function<Result(const QByteArray&)> parse, std::function<void(Result)> keep);
  void measure(const Captured& before, const Captured& after);
  void finished(Step step);
  void failed(const QString& problem);
  void jobRemoved(JobId id);
  /// Returns the options of the model that a step runs. Writes its edits into
  /// `folder`.
  QStringList modelArguments(Step step, const QTemporaryDir& folder) const;
  /// Writes lines into `folder`. Returns the path.
  static QString writeText(const QStringList& lines, const QTemporaryDir& folder);
  /// Returns the lines of the second text that a step needs.
  QStringList secondLines(Step step) const;
  QByteArray secondKey(const QStringList& lines) const;
  const Captured* secondOf(const QStringList& lines) const;
  QByteArray readingKey(bool is_edited) const;
  const LineReading* readingOf(bool is_edited) const;
  bool isKnown(Step step) const;

  JobRunner& jobs_;
  ModelPrograms programs_;
  std::optional<InterventionRequest> request_;
  std::deque<Step> waiting_;
  Step current_ = Step::kReadOriginal;
  int num_steps_ = 0;  ///< of the present run
  JobId job_ = 0;      ///< 0: no job is running
  QString problem_;
  QHash<QByteArray, LineReading> readings_;
  std::optional<Captured> original_;
  std::optional<Captured> edited_;
  std::vector<Second> second_;  ///< the last ones
  std::optional<TextScore> score_;
  std::optional<Results> entropies_;
  QHash<QString, std::shared_ptr<const Results>> sweeps_;  ///< by --over
};

/// Figures below the tokens that are sweeps, among the sites of the entropies: over routes,
/// sublayers and heads.
inline const QString kSweepSite = u"sweep"_s;
inline const QString kPartSweepSite = u"sweep-sublayers"_s;
inline const QString kHeadSweepSite = u"sweep-heads"_s;

/// Returns the value of --over of a sweep; empty for sites of entropies.
QString sweptOver(const QString& site);
/// Returns the first words of the command that ablates every component of the model, with intervals
/// if the lines suffice.
QStringList sweepCommand(const QString& over, qsizetype num_lines);

}  // namespace lime::explorer
