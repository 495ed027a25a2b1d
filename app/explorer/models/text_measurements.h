// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explorer/models/collapse_measurements.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/sequence_tokens.h"

namespace lime::explorer {

class Workspace;
struct Document;

/// The tokens of one sequence in the open captures that have it, and what they attend to in one
/// layer, measured by jobs. Lives on the GUI thread.
class TextMeasurements : public QObject {
  Q_OBJECT

 public:
  /// What is looked at.
  struct Place {
    int document = 0;
    std::string site;
    std::int64_t sequence = 0;
    bool operator==(const Place&) const = default;
  };
  struct AttentionPlace {
    int document = 0;
    std::int64_t sequence = 0;
    int layer = 0;
    bool operator==(const AttentionPlace&) const = default;
  };
  struct Query {
    std::int64_t head = 0;
    std::int64_t query = 0;
    bool operator==(const Query&) const = default;
  };

  TextMeasurements(Workspace& workspace, JobRunner& jobs, QObject* parent = nullptr);

  void setThreads(int threads) { threads_ = threads; }

  /// Measures the sequence in the document, and in every other open capture that has the same
  /// tokens there.
  void look(const std::optional<Place>& place);
  const std::optional<Place>& place() const { return place_; }
  /// The captures that the sequence is measured in, the one asked for first.
  const std::vector<int>& documents() const { return documents_; }
  const Answer<SequenceTokens>& tokens(int document) const;
  bool isMeasuring() const;
  void forget();

  void lookAtAttention(const std::optional<AttentionPlace>& place);
  const Answer<AttentionExploration>& attention() const { return attention_; }
  /// Follows one query of that attention through the router.
  void lookAtQuery(const std::optional<Query>& query);
  const Answer<RoutedAttention>& routed() const { return routed_; }

 Q_SIGNALS:
  void changed();
  void attentionChanged();
  void routedChanged();

 private:
  void start(const Document& document);
  void drop(int document);
  void jobRemoved(JobId id);

  Workspace& workspace_;
  JobRunner& jobs_;
  int threads_ = 0;
  std::optional<Place> place_;
  std::vector<int> documents_;
  std::map<int, Answer<SequenceTokens>> measured_;
  std::optional<AttentionPlace> attention_place_;
  Answer<AttentionExploration> attention_;
  std::optional<Query> query_;
  Answer<RoutedAttention> routed_;
};

}  // namespace lime::explorer
