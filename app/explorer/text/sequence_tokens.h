// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "explorer/models/job_runner.h"
#include "store/results_file.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// A measure of a token: its column in the rows of lime-metrics tokens.
struct TokenMeasureName {
  Column column;
  const char* title;
};
const std::vector<TokenMeasureName>& tokenMeasures();

/// A sequence of a capture, measured token by token.
struct SequenceTokens {
  Results results;                   ///< of lime-metrics tokens
  std::vector<QString> texts;        ///< of the tokens; "#17" without a tokenizer
  std::filesystem::path checkpoint;  ///< of the tokenizer; empty: none was found
  int revision = 0;                  ///< number of the part that was published
};

/// Names the sequence that is measured.
struct SequenceRequest {
  std::shared_ptr<const CaptureReader> capture;
  std::string label;
  std::string site;
  std::int64_t sequence = 0;
  int threads = 0;
  std::vector<std::filesystem::path> checkpoints;  ///< open ones
  std::optional<int> first_layer = std::nullopt;   ///< that is measured first; unset: the last one
};

/// Measures the tokens of a sequence in all layers. Runs in a job.
/// @param publish  gets what is known on the way, soon all but the contributions to the entropy;
///                 these come layer by layer, from `first_layer` to both sides. May be empty.
/// @throws as prepare_tokens()
SequenceTokens measureSequence(const SequenceRequest& request, const JobContext& context,
                               const std::function<void(SequenceTokens)>& publish = {});

/// Returns the values of one layer, a number per token; nothing where the layer is missing.
std::vector<std::optional<double>> valuesOfLayer(const SequenceTokens& tokens,
                                                 const std::string& measure, int layer);

/// Returns "'·is' (3)"; empty where there is no such token.
QString tokenName(const std::vector<QString>& texts, int token);

/// Describes a token in a layer by all its measures.
QString describeToken(const SequenceTokens& tokens, int token, int layer, int layer_base);

}  // namespace lime::explorer
