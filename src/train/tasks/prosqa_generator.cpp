// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/prosqa_generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/random.h"
#include "train/tasks/task_files.h"

namespace lime {
namespace {

constexpr int kMinNodes = 18;
constexpr int kMaxNodes = 27;
constexpr double kMeanNodes = 23.0;
constexpr double kShareWithoutPremise = 0.025;
constexpr double kMeanFurtherPremises = 0.85;
constexpr int kMinSteps = 3;
constexpr int kMaxSteps = 6;

/// Bit mask of the names that a node follows from: bit 0 for the first, bit 1 for the second.
using Origin = int;

/// Nodes 0 and 1 are the candidate subjects of the question.
struct Graph {
  std::vector<std::vector<int>> premises = {{}, {}};
  std::vector<Origin> origins = {1, 2};
  std::vector<int> depths = {0, 0};

  int size() const { return static_cast<int>(premises.size()); }
};

int poisson(double mean, Random& random) {
  const double end = std::exp(-mean);
  int count = 0;
  for (double product = random.uniform(); product > end; product *= random.uniform()) ++count;
  return count;
}

/// Removes and returns one of `candidates`, deeper ones with higher probability.
int take_weighted(std::vector<int>& candidates, const Graph& graph, Random& random) {
  const auto weight = [&](int node) {
    return 1.0 + 1.5 * graph.depths[static_cast<std::size_t>(node)];
  };
  double total = 0.0;
  for (const int node : candidates) total += weight(node);
  double rest = random.uniform() * total;
  auto selected = candidates.begin();
  while (selected + 1 != candidates.end() && (rest -= weight(*selected)) >= 0.0) ++selected;
  const int node = *selected;
  candidates.erase(selected);
  return node;
}

void add_node(Graph& graph, Random& random) {
  const double draw = random.uniform();
  std::vector<int> candidates;
  for (int node = 0; node < graph.size(); ++node) {
    const Origin origin = graph.origins[static_cast<std::size_t>(node)];
    if (draw < 0.35 ? origin == 1 : draw < 0.7 ? origin == 2 : true) candidates.push_back(node);
  }
  const int wanted =
      random.uniform() < kShareWithoutPremise ? 0 : 1 + poisson(kMeanFurtherPremises, random);
  std::vector<int> premises;
  Origin origin = 0;
  int depth = 0;
  while (static_cast<int>(premises.size()) < wanted && !candidates.empty()) {
    const int premise = take_weighted(candidates, graph, random);
    premises.push_back(premise);
    origin |= graph.origins[static_cast<std::size_t>(premise)];
    depth = std::max(depth, 1 + graph.depths[static_cast<std::size_t>(premise)]);
  }
  graph.premises.push_back(std::move(premises));
  graph.origins.push_back(origin);
  graph.depths.push_back(depth);
}

/// Returns per node its predecessor on a shortest path from `root`, -1 without a path; nodes are in
/// topological order. @param distances  steps from `root`, filled here.
std::vector<int> shortest_ways(const Graph& graph, int root, std::vector<int>& distances) {
  constexpr int kFar = 1 << 20;
  distances.assign(static_cast<std::size_t>(graph.size()), kFar);
  std::vector<int> before(distances.size(), -1);
  distances[static_cast<std::size_t>(root)] = 0;
  for (std::size_t node = 2; node < distances.size(); ++node) {
    for (const int premise : graph.premises[node]) {
      const int distance = distances[static_cast<std::size_t>(premise)] + 1;
      if (distance < distances[node]) {
        distances[node] = distance;
        before[node] = premise;
      }
    }
  }
  return before;
}

/// A question about a graph.
struct Question {
  int root = 0;
  std::vector<int> way;  ///< path from the root to the answer
  int other = -1;        ///< the incorrect candidate
};

/// Selects a question with an answer 3 to 6 steps away; other == -1 if the graph has none.
Question choose_question(const Graph& graph, Random& random) {
  Question question;
  question.root = static_cast<int>(random.below(2));
  std::vector<int> distances;
  const std::vector<int> before = shortest_ways(graph, question.root, distances);
  std::vector<int> targets;
  std::vector<int> others;
  int farthest = 0;
  for (int node = 2; node < graph.size(); ++node) {
    const auto index = static_cast<std::size_t>(node);
    if (graph.origins[index] == 2 - question.root) others.push_back(node);
    if (graph.origins[index] != 1 + question.root || distances[index] < farthest) continue;
    if (distances[index] > farthest) targets.clear();
    farthest = distances[index];
    targets.push_back(node);
  }
  if (others.empty() || farthest < kMinSteps || farthest > kMaxSteps) return question;
  question.other = others[random.below(others.size())];
  for (int node = targets[random.below(targets.size())]; node != -1;
       node = before[static_cast<std::size_t>(node)]) {
    question.way.insert(question.way.begin(), node);
  }
  return question;
}

/// Assigns a name to each node that follows from nothing, a concept to the others.
std::vector<std::string> name_nodes(const Graph& graph, Random& random) {
  std::vector<std::string> names(ProsQaGenerator::names().begin(), ProsQaGenerator::names().end());
  std::vector<std::string> concepts(ProsQaGenerator::concepts().begin(),
                                    ProsQaGenerator::concepts().end());
  random.shuffle<std::string>(names);
  random.shuffle<std::string>(concepts);
  std::vector<std::string> symbols;
  for (const auto& premises : graph.premises) {
    auto& from = premises.empty() ? names : concepts;
    symbols.push_back(std::move(from.back()));
    from.pop_back();
  }
  return symbols;
}

ProsQaProblem write_problem(const Graph& graph, const Question& question, Random& random) {
  const std::vector<std::string> symbols = name_nodes(graph, random);
  const auto symbol = [&](int node) { return symbols[static_cast<std::size_t>(node)]; };
  const auto statement = [&](int premise, int node) {
    const bool is_name = graph.premises[static_cast<std::size_t>(premise)].empty();
    return fmt::format("{}{} is a {}.", is_name ? "" : "Every ", symbol(premise), symbol(node));
  };
  std::vector<std::string> statements;
  for (int node = 2; node < graph.size(); ++node) {
    for (const int premise : graph.premises[static_cast<std::size_t>(node)]) {
      statements.push_back(statement(premise, node));
    }
  }
  random.shuffle<std::string>(statements);

  ProsQaProblem problem;
  for (std::size_t i = 1; i < question.way.size(); ++i) {
    problem.steps.push_back(statement(question.way[i - 1], question.way[i]));
  }
  const std::string name = symbol(question.root);
  std::pair<std::string, std::string> candidates = {symbol(question.way.back()),
                                                    symbol(question.other)};
  problem.answer = fmt::format("{} is a {}.", name, candidates.first);
  if (random.below(2) == 1) std::swap(candidates.first, candidates.second);
  problem.question = fmt::format("{} Is {} a {} or {}?", fmt::join(statements, " "), name,
                                 candidates.first, candidates.second);
  return problem;
}

}  // namespace

ProsQaProblem ProsQaGenerator::draw(std::int64_t index) const {
  Random random = Random(seed_).fork(static_cast<std::uint64_t>(index));
  while (true) {
    const int num_nodes = std::clamp(2 + poisson(kMeanNodes - 2.0, random), kMinNodes, kMaxNodes);
    Graph graph;
    while (graph.size() < num_nodes) add_node(graph, random);
    const Question question = choose_question(graph, random);
    if (question.other >= 0) return write_problem(graph, question, random);
  }
}

std::vector<ProsQaProblem> ProsQaGenerator::draw_distinct(std::int64_t count,
                                                          std::span<const ProsQaProblem> excluded,
                                                          const ProgressFn& on_progress,
                                                          std::stop_token stop) const {
  std::unordered_set<std::string> seen;
  for (const ProsQaProblem& problem : excluded) seen.insert(spaced_prosqa_words(problem.question));
  std::vector<ProsQaProblem> problems;
  for (std::int64_t i = 0; static_cast<std::int64_t>(problems.size()) < count; ++i) {
    if (stop.stop_requested()) throw Interrupted("ProsQA: stopped while drawing problems");
    report_drawn(on_progress, std::ssize(problems), count);
    ProsQaProblem problem = draw(i);
    if (seen.insert(spaced_prosqa_words(problem.question)).second) {
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

std::span<const std::string> ProsQaGenerator::names() {
  static const std::array<std::string, 17> kNames = {
      "Alex",   "Bob",   "Carol", "Davis", "Eva", "Fae",    "Gabriel", "Jack", "Max",
      "Oliver", "Polly", "Rex",   "Sally", "Sam", "Stella", "Tom",     "Wren"};
  return kNames;
}

std::span<const std::string> ProsQaGenerator::concepts() {
  static const std::array<std::string, 38> kConcepts = {
      "bompus",  "boompus", "brimpus", "chorpus", "dumpus",  "felpus", "fompus", "gerpus",
      "gorpus",  "grimpus", "gwompus", "hilpus",  "impus",   "jelpus", "jompus", "kerpus",
      "lempus",  "lorpus",  "numpus",  "quimpus", "rempus",  "rompus", "rorpus", "scrompus",
      "shumpus", "sterpus", "storpus", "terpus",  "timpus",  "tumpus", "vumpus", "worpus",
      "wumpus",  "yerpus",  "yimpus",  "yumpus",  "zhorpus", "zumpus"};
  return kConcepts;
}

}  // namespace lime
