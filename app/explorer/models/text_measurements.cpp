// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/text_measurements.h"

#include <algorithm>
#include <utility>

#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

const QString kTextStopped = QStringLiteral("stopped; View > Measure again goes on");

/// Sequences of more tokens wait for their turn.
constexpr std::int64_t kQuickTokens = 512;

/// Whether both captures have the same tokens in the sequence.
bool haveSameTokens(const CaptureReader& a, const CaptureReader& b, std::int64_t sequence) {
  if (sequence >= b.num_sequences() || b.info().rows != RowKind::kTokens) return false;
  const auto at = static_cast<std::size_t>(sequence);
  const auto idsOf = [&](const CaptureReader& one) {
    const std::vector<std::int32_t>& tokens = one.rows().token;
    return std::vector<std::int32_t>(tokens.begin() + one.offsets()[at],
                                     tokens.begin() + one.offsets()[at + 1]);
  };
  return idsOf(a) == idsOf(b);
}

bool hasSite(const CaptureReader& capture, const std::string& site) {
  const std::vector<std::string>& sites = capture.sites();
  return std::find(sites.begin(), sites.end(), site) != sites.end();
}

template <typename Result>
void cancelJob(JobRunner& jobs, Answer<Result>& answer) {
  const JobId job = answer.job;
  answer = {};
  if (job != 0) jobs.cancel(job);
}

}  // namespace

TextMeasurements::TextMeasurements(Workspace& workspace, JobRunner& jobs, QObject* parent)
    : QObject(parent), workspace_(workspace), jobs_(jobs) {
  connect(&workspace, &Workspace::documentRemoved, this, &TextMeasurements::drop);
  connect(&jobs, &JobRunner::jobRemoved, this, &TextMeasurements::jobRemoved);
}

void TextMeasurements::look(const std::optional<Place>& place) {
  std::vector<int> documents;
  const Document* const asked = place ? workspace_.find(place->document) : nullptr;
  if (asked != nullptr && asked->capture && place->sequence < asked->capture->num_sequences()) {
    documents.push_back(asked->id);
    for (const Document* const other : workspace_.documentsOf(DocumentKind::kCapture)) {
      if (other->id != asked->id && hasSite(*other->capture, place->site) &&
          haveSameTokens(*asked->capture, *other->capture, place->sequence)) {
        documents.push_back(other->id);
      }
    }
  }
  const bool is_other =
      !place || !place_ || place->site != place_->site || place->sequence != place_->sequence;
  if (!is_other && place == place_ && documents == documents_) return;
  place_ = place;
  documents_ = std::move(documents);
  for (auto at = measured_.begin(); at != measured_.end();) {
    const bool stays =
        !is_other && std::find(documents_.begin(), documents_.end(), at->first) != documents_.end();
    if (stays) {
      ++at;
      continue;
    }
    cancelJob(jobs_, at->second);
    at = measured_.erase(at);
  }
  for (const int id : documents_) {
    if (!measured_[id].is_asked()) start(*workspace_.find(id));
  }
  Q_EMIT changed();
}

void TextMeasurements::start(const Document& document) {
  SequenceRequest request{.capture = document.capture,
                          .label = document.label.toStdString(),
                          .site = place_->site,
                          .sequence = place_->sequence,
                          .threads = threads_,
                          .checkpoints = {}};
  for (const Document* const one : workspace_.documentsOf(DocumentKind::kCheckpoint)) {
    request.checkpoints.push_back(one->path);
  }
  const int id = document.id;
  const auto at = static_cast<std::size_t>(place_->sequence);
  const std::int64_t tokens = document.capture->offsets()[at + 1] - document.capture->offsets()[at];
  measured_[id].job = jobs_.start<SequenceTokens>(
      this,
      {.title =
           QStringLiteral("Tokens of sequence %1 of %2").arg(place_->sequence).arg(document.label),
       .key = QStringLiteral("text/%1").arg(id),
       .lane = tokens <= kQuickTokens ? JobLane::kQuick : JobLane::kLong},
      [request](const JobContext& context) {
        return measureSequence(request, context.on_progress, context.stop);
      },
      [this, id](SequenceTokens measured) {
        measured_[id] = {.job = 0, .result = std::move(measured), .problem = {}};
        Q_EMIT changed();
      },
      [this, id](const QString& error) {
        measured_[id] = {.job = 0, .result = std::nullopt, .problem = error};
        Q_EMIT changed();
      });
}

const Answer<SequenceTokens>& TextMeasurements::tokens(int document) const {
  static const Answer<SequenceTokens> none;
  const auto at = measured_.find(document);
  return at == measured_.end() ? none : at->second;
}

bool TextMeasurements::isMeasuring() const {
  return std::any_of(measured_.begin(), measured_.end(),
                     [](const auto& entry) { return entry.second.job != 0; });
}

void TextMeasurements::forget() {
  const std::optional<Place> place = std::exchange(place_, std::nullopt);
  look(std::nullopt);
  look(place);
}

void TextMeasurements::lookAtAttention(const std::optional<AttentionPlace>& place) {
  if (place == attention_place_) return;
  attention_place_ = place;
  cancelJob(jobs_, attention_);
  lookAtQuery(std::nullopt);
  const Document* const document = place ? workspace_.find(place->document) : nullptr;
  if (document != nullptr && document->capture) {
    attention_.job = jobs_.start<AttentionExploration>(
        this, {.title = QStringLiteral("Attention"), .key = "text/attention", .is_shown = false},
        [capture = document->capture, place = *place](const JobContext&) {
          return explore_attention(*capture, place.layer, place.sequence);
        },
        [this](AttentionExploration attention) {
          attention_ = {.job = 0, .result = std::move(attention), .problem = {}};
          Q_EMIT attentionChanged();
        },
        [this](const QString& error) {
          attention_ = {.job = 0, .result = std::nullopt, .problem = error};
          Q_EMIT attentionChanged();
        });
  }
  Q_EMIT attentionChanged();
}

void TextMeasurements::lookAtQuery(const std::optional<Query>& query) {
  if (query == query_) return;
  query_ = query;
  cancelJob(jobs_, routed_);
  const Document* const document =
      attention_place_ ? workspace_.find(attention_place_->document) : nullptr;
  if (query && attention_.result && document != nullptr && document->capture) {
    routed_.job = jobs_.start<RoutedAttention>(
        this,
        {.title = QStringLiteral("Routed attention"), .key = "text/routed", .is_shown = false},
        [capture = document->capture, attention = *attention_.result,
         query = *query](const JobContext&) {
          return explore_routed_attention(*capture, attention, query.head, query.query);
        },
        [this](RoutedAttention routed) {
          routed_ = {.job = 0, .result = std::move(routed), .problem = {}};
          Q_EMIT routedChanged();
        },
        [this](const QString& error) {
          routed_ = {.job = 0, .result = std::nullopt, .problem = error};
          Q_EMIT routedChanged();
        });
  }
  Q_EMIT routedChanged();
}

void TextMeasurements::drop(int document) {
  if (place_ && place_->document == document) {
    look(std::nullopt);
  } else {
    const std::optional<Place> place = place_;
    look(place);
  }
  if (attention_place_ && attention_place_->document == document) lookAtAttention(std::nullopt);
}

void TextMeasurements::jobRemoved(JobId id) {
  // What has a result by now has no job; what still has one was cancelled.
  for (auto& [document, answer] : measured_) {
    if (answer.job != id) continue;
    answer = {.job = 0, .result = std::nullopt, .problem = kTextStopped};
    Q_EMIT changed();
    return;
  }
}

}  // namespace lime::explorer
