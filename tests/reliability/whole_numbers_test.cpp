// SPDX-License-Identifier: Apache-2.0
// Every option of every command that takes whole numbers, at the ends of their ranges: each run
// ends in seconds with status 0, or with one line and status 1 or 2. Each option gets one of the
// values in turn, which takes two minutes; LIME_WHOLE_NUMBERS=8 tries all of them, which takes a
// quarter of an hour.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "reliability/programs.h"
#include "support/sanitizers.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using testing::ProgramRun;

/// A command that works, and quickly.
struct Base {
  const char* name;
  const char* command;
  std::string files;
  std::map<std::string, std::string> options;
};

std::string text_of(const Base& base) {
  std::string text = fmt::format("{} {}", base.command, base.files);
  for (const auto& [option, value] : base.options) text += fmt::format(" --{} {}", option, value);
  return text;
}

const std::map<std::string, std::string> kTinyTraining = {{"output", "out/model"},
                                                          {"hidden-size", "16"},
                                                          {"num-hidden-layers", "3"},
                                                          {"num-attention-heads", "2"},
                                                          {"steps", "2"},
                                                          {"batch-size", "4"},
                                                          {"threads", "1"}};

std::map<std::string, std::string> training(std::map<std::string, std::string> options) {
  options.insert(kTinyTraining.begin(), kTinyTraining.end());
  return options;
}

const std::vector<Base>& bases() {
  static const std::vector<Base> kBases = {
      {"Entropy",
       "lime-metrics entropy",
       "all.h5 again.h5",
       {{"site", "hidden"}, {"compare", "first"}, {"compare-resamples", "100"}, {"threads", "2"}}},
      {"Separability", "lime-metrics separability", "words.h5", {{"folds", "2"}}},
      {"Blimp", "lime-metrics blimp", "pairs.h5", {{"folds", "2"}, {"bootstrap", "100"}}},
      {"Choices",
       "lime-metrics choices",
       "samples.jsonl samples.jsonl",
       {{"label", "a,b"}, {"compare", "first"}, {"compare-resamples", "100"}}},
      {"Eval",
       "lime-eval",
       "--quiet",
       {{"checkpoint", "lime"},
        {"tasks", "choices"},
        {"data", "items.jsonl"},
        {"max-length", "64"},
        {"threads", "1"},
        {"output", "out/a.jsonl"}}},
      {"Tsne",
       "lime-metrics tsne",
       "words.h5",
       {{"layer", "0"},
        {"max-points", "60"},
        {"perplexity", "5"},
        {"iterations", "20"},
        {"trust-neighbors", "3"}}},
      {"Geometry", "lime-metrics geometry", "all.h5", {{"site", "hidden"}, {"layer", "0"}}},
      {"Collapse", "lime-metrics collapse", "all.h5", {{"site", "hidden"}, {"bootstrap", "100"}}},
      {"Experts",
       "lime-metrics experts",
       "experts.h5",
       {{"permutations", "5"}, {"bootstrap", "100"}}},
      {"Streams", "lime-metrics streams", "streams.h5", {{"bootstrap", "100"}}},
      {"Lens", "lime-metrics lens", "lens.h5", {{"bootstrap", "100"}}},
      {"Correlates", "lime-metrics correlates", "entropy.json", {{"scores", "scores.csv"}}},
      {"Similarity", "lime-metrics similarity", "all.h5", {{"site", "hidden"}}},
      {"Tokens", "lime-metrics tokens", "all.h5", {{"site", "hidden"}}},
      {"Attention", "lime-metrics attention", "all.h5", {{"bootstrap", "100"}}},
      {"AttentionOfAQuery",
       "lime-metrics attention",
       "all.h5",
       {{"sequence", "0"}, {"query", "1"}}},
      {"Router", "lime-metrics router", "lime", {}},
      {"Counterfactual",
       "lime-metrics counterfactual",
       "all.h5",
       {{"router", "identity,random"}, {"draws", "2"}, {"bootstrap", "100"}}},
      {"Cost", "lime-metrics cost", "lime", {{"sequence-length", "64"}}},
      {"Rerun", "lime-metrics rerun", "tokens.json", {}},
      {"Series", "lime-metrics series", "all.h5 again.h5", {{"steps", "1,2"}, {"site", "hidden"}}},
      {"Capture",
       "lime-capture",
       "--quiet",
       {{"checkpoint", "lime"},
        {"text", "page.txt"},
        {"seq-len", "64"},
        {"max-sequences", "40"},
        {"batch-size", "8"},
        {"only", "' is'"},
        {"threads", "1"},
        {"output", "out/c.h5"}}},
      {"Sweep",
       "lime-capture sweep",
       "--quiet",
       {{"checkpoint", "lime"},
        {"text", "page.txt"},
        {"seq-len", "64"},
        {"max-sequences", "8"},
        {"over", "layers"},
        {"bootstrap", "100"},
        {"threads", "1"},
        {"output", "out/sweep.json"}}},
      {"Gauge",
       "lime-capture gauge",
       "--quiet lime",
       {{"transform", "residual-permutation"}, {"threads", "1"}, {"output", "out/copy"}}},
      {"Audit",
       "lime-metrics audit",
       "lime",
       {{"text", "page.txt"},
        {"seq-len", "16"},
        {"max-sequences", "6"},
        {"transform", "value-rotation"},
        {"metric", "entropy-raw"},
        {"folder", "out/audit"},
        {"threads", "1"}}},
      {"Info", "lime-capture info", "all.h5", {}},
      {"Verify", "lime-capture verify", "all.h5", {}},
      {"Pack", "lime-capture pack", "all.h5", {{"output", "out/packed.h5"}}},
      {"Figure", "lime-figure", "tokens.json", {{"output", "out/figure.png"}}},
      {"Figures", "lime-figure all", "tokens.json", {{"output", "out"}, {"format", "svg"}}},
      {"Report", "lime-figure report", "tokens.json", {{"output", "out/report.html"}}},
      {"Generate",
       "lime-generate",
       "",
       {{"checkpoint", "lime"}, {"prompt", "a"}, {"max-new-tokens", "2"}, {"threads", "1"}}},
      {"NextTokens",
       "lime-generate",
       "--each-token",
       {{"checkpoint", "lime"}, {"prompt", "a"}, {"next-tokens", "2"}, {"threads", "1"}}},
      {"TrainAet", "lime-train", "--quiet",
       training({{"task", "aet"},
                 {"operands", "2"},
                 {"max-value", "20"},
                 {"train-samples", "20"},
                 {"test-samples", "4"},
                 {"decoder", "lime"},
                 {"router", "last"},
                 {"router-j", "1"}})},
      {"TrainLm", "lime-train", "--quiet",
       training({{"task", "lm"},
                 {"text", "text.txt"},
                 {"tokenizer", "lime"},
                 {"sequence-length", "16"},
                 {"decoder", "denseformer"}})},
      {"TrainProsQa", "lime-train", "--quiet",
       training({{"task", "prosqa"},
                 {"train-problems", "4"},
                 {"test-problems", "1"},
                 {"decoder", "hyper_connections"}})},
      {"GenerateExpressions",
       "lime-train generate",
       "",
       {{"task", "aet"}, {"operands", "2"}, {"count", "3"}}},
      {"GenerateQuestions", "lime-train generate", "", {{"task", "prosqa"}, {"count", "3"}}},
  };
  return kBases;
}

/// Options that set the amount of work: the run takes that long, and Ctrl-C ends it.
const std::set<std::string> kWork = {"steps", "epochs", "max-new-tokens", "iterations"};

class WholeNumbersTest : public testing::ReliabilityTest {
 protected:
  void SetUp() override {
    if (testing::kIsSanitized) GTEST_SKIP() << "needs programs that fit into little memory";
    testing::write_tiny_checkpoint(folder_ / "lime", testing::tiny_config("lime", 4));
    // A sequence of any length is one pass, which must end in the time of a run.
    testing::write_text(folder_ / "page.txt", testing::tiny_text(800));
    std::string pairs;
    for (int i = 0; i < 8; ++i) {
      pairs += fmt::format(
          "{{\"sentence_good\": \"{0} is\", \"sentence_bad\": \"{0} are\", \"UID\": \"a\", "
          "\"field\": \"f\", \"linguistics_term\": \"t\"}}\n",
          i);
    }
    testing::write_text(folder_ / "pairs.jsonl", pairs);
    const std::string capture = "lime-capture --checkpoint lime --threads 1 --quiet ";
    prepare(capture +
            "--text text.txt --seq-len 16 --max-sequences 12 --sites "
            "values,routed_values,hidden,attn.hook_pattern -o all.h5");
    prepare("cp all.h5 again.h5");
    prepare(capture +
            "--text text.txt --seq-len 16 --max-sequences 12 --sites logit_lens -o lens.h5");
    prepare("lime-metrics entropy all.h5 --site hidden --bootstrap 0 --quiet -o entropy.json");
    testing::write_text(folder_ / "scores.csv",
                        "label,layer,wic\nall,0,0.5\nall,1,0.7\nall,2,0.6\nall,3,0.4\n");
    prepare(capture +
            "--text text.txt --seq-len 64 --only ' is, are' --max-per-class 60 "
            "--sites hidden -o words.h5");
    prepare(capture + "--pairs pairs.jsonl --rows mean --sites hidden -o pairs.h5");
    testing::write_text(folder_ / "items.jsonl",
                        R"({"prompt": "a", "choices": ["is", "are"], "gold": 0})"
                        "\n");
    prepare(
        "lime-eval --checkpoint lime --tasks choices --data items.jsonl --threads 1 --quiet "
        "-o samples.jsonl");
    prepare("lime-metrics tokens all.h5 --site hidden --layer 0 --quiet -o tokens.json");
    prepare_routed("olmoe",
                   "mlp.hook_router_logits,mlp.hook_expert_weights,mlp.hook_expert_indices",
                   "experts.h5");
    prepare_routed("hyper_connections", "hook_streams,hook_stream_weights", "streams.h5");
  }

  /// Captures sites that only decoders of one kind have.
  void prepare_routed(const std::string& decoder, const std::string& sites,
                      const std::string& output) const {
    testing::write_tiny_checkpoint(folder_ / decoder, testing::tiny_config(decoder, 4));
    prepare(
        fmt::format("lime-capture --checkpoint {} --threads 1 --quiet --text text.txt --seq-len "
                    "16 --max-sequences 12 --sites {} -o {}",
                    decoder, sites, output));
  }

  void prepare(const std::string& command) const {
    const ProgramRun done = run(command);
    ASSERT_EQ(done.status, 0) << command << done.errors;
  }

  /// In 6 GB of address space; after so many seconds Ctrl-C is pressed. A busy machine takes long.
  ProgramRun limited(const std::string& command, int seconds = 60) const {
    return run(fmt::format(
        "rm -rf out; mkdir out; ulimit -v 6000000; timeout --preserve-status -s INT -k 5 {} {}",
        seconds, command));
  }

  /// Options whose values have a type among `types`, as the help lists them.
  std::vector<std::string> options_of(const std::string& command, const std::string& types) const {
    const std::string help = run(command + " --help").output;
    const std::regex line(fmt::format("\n[^\n]{{6}}--([a-z0-9-]+) ({})[ .,|\n]", types));
    std::vector<std::string> options;
    for (std::sregex_iterator match(help.begin(), help.end(), line), end; match != end; ++match) {
      options.push_back((*match)[1]);
    }
    return options;
  }

  ProgramRun run_with(Base base, const std::string& option, const std::string& value) const {
    base.options[option] = value;
    return limited(text_of(base), kWork.contains(option) ? 3 : 60);
  }
};

std::string said(const ProgramRun& done, const std::string& option, const std::string& value) {
  return fmt::format("--{} {}: status {}, {}", option, value, done.status, done.errors);
}

bool is_one_line(const std::string& text) {
  return !text.empty() && text.find('\n') == text.size() - 1;
}

TEST_F(WholeNumbersTest, RunAreRefusedOrAreInterrupted) {
  const std::vector<std::string> values = {"0",
                                           "-1",
                                           "1024",
                                           "2147483647",
                                           "2147483648",
                                           "4294967296",
                                           "9223372036854775807",
                                           "18446744073709551616"};
  const auto count =
      static_cast<std::size_t>(testing::count_from_environment("LIME_WHOLE_NUMBERS", 1));
  std::size_t turn = 0;
  for (const Base& base : bases()) {
    SCOPED_TRACE(text_of(base));
    const ProgramRun usual = limited(text_of(base));
    EXPECT_EQ(usual.status, 0) << usual.errors;
    for (const std::string& option : options_of(base.command, "INT|LAYERS|I/N|SIZE")) {
      ++turn;
      for (std::size_t i = 0; i < count; ++i) {
        const std::string& value = values[(turn + i) % values.size()];
        const ProgramRun done = run_with(base, option, value);
        if (done.status == 0 || (done.status == 130 && kWork.contains(option))) continue;
        EXPECT_TRUE(done.status == 1 || done.status == 2) << said(done, option, value);
        EXPECT_TRUE(is_one_line(done.errors)) << said(done, option, value);
        EXPECT_EQ(done.errors.find("out of memory"), std::string::npos)
            << said(done, option, value);
      }
    }
  }
}

TEST_F(WholeNumbersTest, HaveNoBlanksAround) {
  for (const Base& base : bases()) {
    SCOPED_TRACE(text_of(base));
    // All options of a type go through one reader: by default the first two of a command will do.
    std::vector<std::string> options = options_of(base.command, "INT|NUMBER|LAYERS|I/N|SIZE");
    if (testing::count_from_environment("LIME_WHOLE_NUMBERS", 1) == 1 && options.size() > 2) {
      options.resize(2);
    }
    const char* value = "' 1'";
    for (const std::string& option : options) {
      const ProgramRun done = run_with(base, option, value);
      EXPECT_EQ(done.status, 2) << said(done, option, value);
      EXPECT_TRUE(is_one_line(done.errors)) << said(done, option, value);
      value = "'1 '";
    }
  }
}

using WholeNumbersListTest = testing::ReliabilityTest;

TEST_F(WholeNumbersListTest, NamesEveryCommand) {
  std::set<std::string> tested;
  for (const Base& base : bases()) tested.insert(base.command);
  for (const char* const program : {"lime-capture", "lime-eval", "lime-figure", "lime-generate",
                                    "lime-metrics", "lime-train"}) {
    const std::string help = run(std::string(program) + " --help").output;
    if (help.find(fmt::format("Usage: {} [OPTIONS]", program)) != std::string::npos) {
      EXPECT_TRUE(tested.contains(program)) << program;
    }
    std::istringstream lines(help.substr(std::min(help.find("\nCommands:\n"), help.size())));
    std::string line;
    std::getline(lines, line);
    std::getline(lines, line);
    while (std::getline(lines, line) && !line.empty()) {
      if (line.starts_with("   ")) continue;  // a wrapped description
      const std::string command =
          fmt::format("{} {}", program, line.substr(2, line.find(' ', 2) - 2));
      EXPECT_TRUE(tested.contains(command)) << command;
    }
  }
}

}  // namespace
}  // namespace lime
