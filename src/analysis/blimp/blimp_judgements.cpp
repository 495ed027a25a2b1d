// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_judgements.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "analysis/blimp/blimp_rows.h"
#include "analysis/blimp/blimp_zero_shot.h"
#include "core/errors.h"

namespace lime {
namespace {

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

const char* outcome_name(PairOutcome outcome) {
  switch (outcome) {
    case PairOutcome::kCorrect:
      return "right";
    case PairOutcome::kIncorrect:
      return "wrong";
    case PairOutcome::kTie:
      break;
  }
  return "tie";
}

void write_zero_shot(std::ostream& out, const BlimpShared::Input& input) {
  const std::vector<Sequence>& sequences = input.capture.reader.sequences();
  for (const PairTask& task : input.tasks) {
    const PairScores scores = scores_of(input.capture.reader, task);
    const std::vector<PairOutcome> outcomes = compare_pairs(scores.good, scores.bad);
    for (std::size_t i = 0; i < task.pairs.size(); ++i) {
      const Sequence& good = sequences[static_cast<std::size_t>(task.pairs[i].good)];
      const Sequence& bad = sequences[static_cast<std::size_t>(task.pairs[i].bad)];
      out << line_of({{"label", input.capture.label},
                      {"task", task.name},
                      {"pair", task.pairs[i].number},
                      {"verdict", outcome_name(outcomes[i])},
                      {"log_likelihood_good", good.log_likelihood},
                      {"log_likelihood_bad", bad.log_likelihood},
                      {"tokens_good", good.scored_tokens},
                      {"tokens_bad", bad.scored_tokens},
                      {"sentence_good", good.text},
                      {"sentence_bad", bad.text}});
    }
  }
}

void write_probes(std::ostream& out, const BlimpShared::Input& input, const ResultRow& key,
                  const UnitResult& unit) {
  const MatrixD& judged = unit.matrices.at(0).values;
  Eigen::Index place = 0;
  for (const PairTask& task : input.tasks) {
    for (const SentencePair& pair : task.pairs) {
      Json line = key.json();
      line["task"] = task.name;
      line["pair"] = pair.number;
      line["good_right"] = judged(place, 0) > 0.5;
      line["bad_right"] = judged(place, 1) > 0.5;
      out << line_of(line);
      ++place;
    }
  }
}

}  // namespace

void write_judgements(AtomicFile& file, const BlimpShared& shared,
                      const std::vector<ResultRow>& keys, std::span<const UnitResult> units) {
  std::ofstream out(file.temporary(), std::ios::binary);
  for (std::size_t u = 0; u < units.size(); ++u) {
    const auto input =
        std::find_if(shared.inputs.begin(), shared.inputs.end(), [&](const auto& candidate) {
          return keys[u].text(col::kLabel) == candidate.capture.label;
        });
    if (shared.options.zero_shot) {
      write_zero_shot(out, *input);
    } else {
      write_probes(out, *input, keys[u], units[u]);
    }
  }
  out.close();
  if (!out) throw IoError("'{}': cannot be written", file.path().string());
  file.commit();
}

}  // namespace lime
