// SPDX-License-Identifier: Apache-2.0
#include "train/tasks/prosqa.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_set>
#include <utility>

#include "core/errors.h"
#include "core/json.h"
#include "core/random.h"
#include "train/tasks/sequence_task.h"

namespace lime {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kAnswerMark = "###";

std::string text_field(const Json& problem, const char* key, const std::string& where) {
  const auto found = problem.is_object() ? problem.find(key) : problem.end();
  throw_if<FormatError>(found == problem.end() || !found->is_string(),
                        "{}: must have a string \"{}\"", where, key);
  return found->get<std::string>();
}

/// Splits words after every `.`; words after the last one are dropped.
std::vector<Words> sentences_of(std::span<const std::string> words) {
  std::vector<Words> sentences;
  Words sentence;
  for (const std::string& word : words) {
    if (word != ".") {
      sentence.push_back(word);
    } else if (!sentence.empty()) {
      sentences.push_back(std::move(sentence));
      sentence.clear();
    }
  }
  return sentences;
}

/// Returns true if the steps lead from the subject of `answer` to its concept through statements of
/// `known`.
bool is_proof(std::span<const Words> steps, const Words& answer, const std::set<Words>& known) {
  if (steps.empty() || answer.empty()) return false;
  std::string at = answer.front();
  for (const Words& step : steps) {
    // "Tom is a terpus" or "Every terpus is a lempus".
    const std::size_t subject = step.front() == "Every" ? 1 : 0;
    if (!known.contains(step) || step.size() <= subject || step[subject] != at) return false;
    at = step.back();
  }
  return at == answer.back();
}

constexpr int kMinNodes = 18;
constexpr int kMaxNodes = 27;
constexpr double kMeanNodes = 23.0;
constexpr double kShareWithoutPremise = 0.025;
constexpr double kMeanFurtherPremises = 0.85;
constexpr int kMinSteps = 3;
constexpr int kMaxSteps = 6;

/// Bit mask of the names that a node follows from: bit 0 for the first, bit 1 for the second.
using Origin = int;

struct Node {
  std::vector<std::size_t> premises = {};
  Origin origin = 0;
  int depth = 0;
};

/// Nodes in topological order; 0 and 1 are the candidate subjects of the question.
using Graph = std::vector<Node>;

int poisson(double mean, Random& random) {
  const double end = std::exp(-mean);
  int count = 0;
  for (double product = random.uniform(); product > end; product *= random.uniform()) ++count;
  return count;
}

/// Removes and returns one of `candidates`, deeper ones with higher probability.
std::size_t take_weighted(std::vector<std::size_t>& candidates, const Graph& graph,
                          Random& random) {
  const auto weight = [&](std::size_t node) { return 1.0 + 1.5 * graph[node].depth; };
  double total = 0.0;
  for (const std::size_t node : candidates) total += weight(node);
  double rest = random.uniform() * total;
  auto selected = candidates.begin();
  while (selected + 1 != candidates.end() && (rest -= weight(*selected)) >= 0.0) ++selected;
  const std::size_t node = *selected;
  candidates.erase(selected);
  return node;
}

void add_node(Graph& graph, Random& random) {
  const double draw = random.uniform();
  std::vector<std::size_t> candidates;
  for (std::size_t node = 0; node < graph.size(); ++node) {
    const Origin origin = graph[node].origin;
    if (draw < 0.35 ? origin == 1 : draw < 0.7 ? origin == 2 : true) candidates.push_back(node);
  }
  const int requested =
      random.uniform() < kShareWithoutPremise ? 0 : 1 + poisson(kMeanFurtherPremises, random);
  Node added;
  while (std::ssize(added.premises) < requested && !candidates.empty()) {
    const std::size_t premise = take_weighted(candidates, graph, random);
    added.premises.push_back(premise);
    added.origin |= graph[premise].origin;
    added.depth = std::max(added.depth, 1 + graph[premise].depth);
  }
  graph.push_back(std::move(added));
}

/// Returns per node its predecessor on a shortest path from `root`, or itself without a path.
/// @param distances  steps from `root`, filled here.
std::vector<std::size_t> shortest_ways(const Graph& graph, std::size_t root,
                                       std::vector<int>& distances) {
  constexpr int kFar = 1 << 20;
  distances.assign(graph.size(), kFar);
  std::vector<std::size_t> before(graph.size());
  std::iota(before.begin(), before.end(), 0);
  distances[root] = 0;
  for (std::size_t node = 2; node < graph.size(); ++node) {
    for (const std::size_t premise : graph[node].premises) {
      const int distance = distances[premise] + 1;
      if (distance >= distances[node]) continue;
      distances[node] = distance;
      before[node] = premise;
    }
  }
  return before;
}

struct Question {
  std::size_t root = 0;
  std::vector<std::size_t> way;  ///< path from the root to the answer
  std::size_t other = 0;         ///< the incorrect candidate
};

/// Selects a question with an answer 3 to 6 steps away; none if the graph lacks one.
std::optional<Question> choose_question(const Graph& graph, Random& random) {
  Question question;
  question.root = random.below(2);
  const Origin own = question.root == 0 ? 1 : 2;
  std::vector<int> distances;
  const std::vector<std::size_t> before = shortest_ways(graph, question.root, distances);
  std::vector<std::size_t> targets;
  std::vector<std::size_t> others;
  int farthest = 0;
  for (std::size_t node = 2; node < graph.size(); ++node) {
    if (graph[node].origin == 3 - own) others.push_back(node);
    if (graph[node].origin != own || distances[node] < farthest) continue;
    if (distances[node] > farthest) targets.clear();
    farthest = distances[node];
    targets.push_back(node);
  }
  if (others.empty() || farthest < kMinSteps || farthest > kMaxSteps) return std::nullopt;
  question.other = others[random.below(others.size())];
  question.way = {targets[random.below(targets.size())]};
  while (question.way.front() != question.root) {
    question.way.insert(question.way.begin(), before[question.way.front()]);
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
  for (const Node& node : graph) {
    auto& from = node.premises.empty() ? names : concepts;
    symbols.push_back(std::move(from.back()));
    from.pop_back();
  }
  return symbols;
}

ProsQaProblem write_problem(const Graph& graph, const Question& question, Random& random) {
  const std::vector<std::string> symbols = name_nodes(graph, random);
  const auto statement = [&](std::size_t premise, std::size_t node) {
    const bool is_name = graph[premise].premises.empty();
    return fmt::format("{}{} is a {}.", is_name ? "" : "Every ", symbols[premise], symbols[node]);
  };
  std::vector<std::string> statements;
  for (std::size_t node = 2; node < graph.size(); ++node) {
    for (const std::size_t premise : graph[node].premises) {
      statements.push_back(statement(premise, node));
    }
  }
  random.shuffle<std::string>(statements);

  ProsQaProblem problem;
  for (std::size_t i = 1; i < question.way.size(); ++i) {
    problem.steps.push_back(statement(question.way[i - 1], question.way[i]));
  }
  const std::string name = symbols[question.root];
  std::pair<std::string, std::string> candidates = {symbols[question.way.back()],
                                                    symbols[question.other]};
  problem.answer = fmt::format("{} is a {}.", name, candidates.first);
  if (random.below(2) == 1) std::swap(candidates.first, candidates.second);
  problem.question = fmt::format("{} Is {} a {} or {}?", fmt::join(statements, " "), name,
                                 candidates.first, candidates.second);
  return problem;
}

}  // namespace

std::vector<ProsQaProblem> read_prosqa(const std::filesystem::path& path) {
  const Json list = read_json_file(path);
  throw_if<FormatError>(!list.is_array() || list.empty(),
                        "'{}': must be a list of ProsQA problems, got {}", path.string(),
                        list.is_array() ? "an empty one" : list.type_name());
  std::vector<ProsQaProblem> problems;
  for (const Json& item : list) {
    const std::string where = fmt::format("'{}', problem {}", path.string(), problems.size());
    ProsQaProblem problem;
    problem.question = text_field(item, "question", where);
    problem.answer = text_field(item, "answer", where);
    const auto steps = item.find("steps");
    const bool has_steps = steps != item.end() && steps->is_array() && !steps->empty() &&
                           std::all_of(steps->begin(), steps->end(),
                                       [](const Json& step) { return step.is_string(); });
    if (!has_steps) throw FormatError("{}: must have a list of strings \"steps\"", where);
    problem.steps = steps->get<std::vector<std::string>>();
    problems.push_back(std::move(problem));
  }
  return problems;
}

std::string prosqa_file(std::span<const ProsQaProblem> problems) {
  std::string text;
  for (const ProsQaProblem& problem : problems) {
    const Json item = {
        {"question", problem.question}, {"steps", problem.steps}, {"answer", problem.answer}};
    text += (text.empty() ? "[" : ",\n") + item.dump();
  }
  return text + "]\n";
}

std::string prosqa_prompt(const ProsQaProblem& problem) { return problem.question + "\n"; }

std::string prosqa_solution(const ProsQaProblem& problem) {
  return fmt::format("{}\n{} {}", fmt::join(problem.steps, "\n"), kAnswerMark, problem.answer);
}

std::vector<std::string> prosqa_words(std::string_view text) {
  Words words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (const char letter : text) {
    if (letter == ' ' || letter == '\n') {
      end_word();
    } else if (letter == '.' || letter == '?') {
      end_word();
      words.emplace_back(1, letter);
    } else {
      word += letter;
    }
  }
  end_word();
  return words;
}

std::string spaced_prosqa_words(std::string_view text) {
  return fmt::format("{}", fmt::join(prosqa_words(text), " "));
}

ProsQaEvaluation evaluate_prosqa(const ProsQaProblem& problem, std::string_view written) {
  const Words words = prosqa_words(written);
  const auto mark = std::ranges::find(words, kAnswerMark);
  ProsQaEvaluation evaluation;
  if (mark == words.end() || mark + 1 == words.end()) return evaluation;
  evaluation.is_answered = true;
  const Words answer = prosqa_words(problem.answer);
  evaluation.is_correct = std::equal(mark + 1, words.end(), answer.begin(), answer.end());
  if (!evaluation.is_correct) return evaluation;

  const std::vector<Words> statements = sentences_of(prosqa_words(problem.question));
  const std::vector<Words> steps = sentences_of(std::span(words.begin(), mark));
  const std::vector<Words> answers = sentences_of(answer);
  evaluation.is_proven =
      answers.size() == 1 &&
      is_proof(steps, answers.front(), std::set<Words>(statements.begin(), statements.end()));
  return evaluation;
}

ProsQaProblem ProsQaGenerator::draw(std::int64_t index) const {
  Random random = Random(seed_).fork(static_cast<std::uint64_t>(index));
  while (true) {
    const int num_nodes = std::clamp(2 + poisson(kMeanNodes - 2.0, random), kMinNodes, kMaxNodes);
    Graph graph = {{.origin = 1}, {.origin = 2}};
    while (std::ssize(graph) < num_nodes) add_node(graph, random);
    const auto question = choose_question(graph, random);
    if (question) return write_problem(graph, *question, random);
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
