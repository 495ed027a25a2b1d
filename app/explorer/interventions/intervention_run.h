// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QHash>
#include <deque>

#include "checkpoint/router_layout.h"
#include "explorer/interventions/part_edits.h"
#include "explorer/models/job_runner.h"
#include "store/results_file.h"
#include "viz/figure.h"

class QTemporaryDir;

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// A predicted token with its probability.
struct Prediction {
  std::int64_t id = 0;
  QString token;
  double probability = 0.0;

  bool operator==(const Prediction&) const = default;
};

/// A token of a line, and the predictions of the next one.
struct TokenReading {
  std::int64_t id = 0;
  QString token;
  std::optional<double> log_probability;  ///< nats; nothing for the first token
  std::vector<Prediction> next;           ///< the likeliest first
  QString continuation;                   ///< generated text; of the last token of a line
};

/// The output of a model for a line, token by token.
using LineReading = std::vector<TokenReading>;

/// Parses the output of `lime-generate --next-tokens K --each-token --continuation`.
/// @throws FormatError  naming what is missing
LineReading parseReading(const QByteArray& json);

/// The log-likelihood of a line, original and edited.
struct LineScore {
  int line = 0;  ///< from 0
  QString text;
  double before = 0.0;  ///< log-likelihood, nats
  double after = 0.0;
  std::int64_t tokens = 0;

  /// Returns the loss that the edits cause, in nats per token.
  double change() const { return (before - after) / static_cast<double>(tokens); }
};

struct TextScore {
  double before = 0.0;  ///< log-likelihood of the text, nats
  double after = 0.0;
  std::int64_t tokens = 0;
  std::vector<LineScore> lines;  ///< those that have a scored token

  double lossBefore() const { return -before / static_cast<double>(tokens); }
  double lossAfter() const { return -after / static_cast<double>(tokens); }
};

/// Compares two captures of one text, made with --log-likelihood.
/// @throws FormatError  if they have no scores, or other texts
TextScore compareScores(const CaptureReader& before, const CaptureReader& after);

inline const QString kOriginal = u"original"_s;
inline const QString kEdited = u"edited"_s;

/// Makes spaces and line ends visible: "·is", "\n".
QString visibleToken(const QString& token);

/// The child programs that run models.
struct ModelPrograms {
  QString generate = findProgram(u"lime-generate"_s);
  QString capture = findProgram(u"lime-capture"_s);
};

/// A text, a model and its edits.
struct InterventionRequest {
  std::filesystem::path checkpoint;
  std::vector<RouterEdit> edits;
  std::vector<PartEdit> parts = {};
  QStringList lines;   ///< each a sequence of its own; none is blank
  QStringList score;   ///< options of lime-capture that select the tokens of the loss
  int line = 0;        ///< of those, the one that is read token by token
  int threads = 0;     ///< of the children; 0: all CPUs
  QString sweep = {};  ///< components of the original model that are ablated in turn: --over
  QStringList sites = {u"values"_s, u"routed_values"_s, u"hidden"_s};  ///< of the entropies

  bool hasEdits() const { return !edits.empty() || !parts.empty(); }
  bool isSameText(const InterventionRequest& other) const {
    return checkpoint == other.checkpoint && lines == other.lines && score == other.score &&
           sites == other.sites;
  }
  /// Returns whether the two differ in no more than the line and the sweep.
  bool isSameBut(const InterventionRequest& other) const {
    return isSameText(other) && edits == other.edits && parts == other.parts;
  }
};

/// Runs a text through the original and the edited model, in child processes one after another: a
/// line token by token (lime-generate), the likelihood of the text and its activations
/// (lime-capture), and their entropies; on request also the effect of ablating every route, part or
/// head (lime-capture sweep). The output of the original model is kept while edits
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
    kReadEdited,
    kCaptureOriginal,
    kCaptureEdited,
    kSweep,
    kCompare
  };
  /// A capture, and its folder, which is removed with it.
  struct Captured {
    std::shared_ptr<QTemporaryDir> folder;
    std::filesystem::path path;
  };
  static QString nameOf(Step step);
  static bool isEdited(Step step) {
    return step == Step::kReadEdited || step == Step::kCaptureEdited;
  }
  static bool isReading(Step step) {
    return step == Step::kReadOriginal || step == Step::kReadEdited;
  }

  void dropEdited();
  void next();
  void read(Step step);
  void capture(Step step);
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
  /// Writes the text into `folder`. Returns the path.
  QString writeText(const QTemporaryDir& folder) const;
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

/// A run of the Interventions view, for its commands.
struct InterventionCommand {
  InterventionRequest request;  ///< no lines: only the edits are written
  QString text_file;            ///< that contains the text; empty: it was typed
  QString edit_file;            ///< that contains the edits; empty: they were made in the view
  QString site;
  QStringList figure_options;
  bool draws_entropies = true;  ///< else the last command measures them; likewise of a sweep
};

/// Returns the commands that repeat a run without the explorer.
QStringList interventionCommandLines(const InterventionCommand& command);

}  // namespace lime::explorer
