// SPDX-License-Identifier: Apache-2.0
// Results must not depend on the contents of the heap before a command started. glibc fills memory
// with the byte MALLOC_PERTURB_ when it is allocated or freed, which changes any value that was
// never written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "core/files/sha256.h"
#include "core/program/program.h"
#include "reliability/programs.h"
#include "store/capture_reader.h"

namespace lime::testing {
namespace {

namespace fs = std::filesystem;

/// A command with tiny inputs. `lists` are options that take several values, which no enumeration
/// of choices can name and on which the path through the code may depend.
struct Command {
  std::string program;
  std::string name;  ///< empty for the program itself
  std::string base;
  std::string lists;
};

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"lime-metrics", "entropy", "llama.h5 lime.h5 --bootstrap 100 --compare-resamples 100",
       "--alpha 0.5,1,2,inf --compare first"},
      {"lime-metrics", "separability", "numbers.h5 --site hidden --layer 1,3 --folds 3",
       "--c 0.1,1,10 --inner-folds 2 --group sequence"},
      {"lime-metrics", "blimp", "pairs.h5 --layer 1,3 --folds 3 --bootstrap 100",
       "--c 0.1,1,10 --inner-folds 2"},
      {"lime-metrics", "tsne",
       "numbers.h5 --site hidden --layer 2 --perplexity 5 --iterations 40 "
       "--exaggeration-iterations 10",
       "--trust-neighbors 6 --align"},
      {"lime-metrics", "geometry",
       "llama.h5 lime.h5 --layer 1,2 --bootstrap 100 --neighbor-rows 200",
       "--jackknife 5 --compare first --compare-resamples 100"},
      {"lime-metrics", "similarity", "llama.h5 lime.h5 --site hidden --max-rows 200",
       "--jackknife 5"},
      {"lime-metrics", "tokens", "llama.h5 --checkpoint llama --sequence 0", "--layer 0,2"},
      {"lime-metrics", "attention", "patterns.h5 --checkpoint lime --bootstrap 100", "--head 0,1"},
      {"lime-metrics", "router", "lime lime.h5", "--max-sequences 20"},
      {"lime-metrics", "counterfactual",
       "lime.h5 --against llama.h5 --max-sequences 30 --bootstrap 100 --draws 2",
       "--router trained,identity,last-1,permuted"},
      {"lime-metrics", "cost", "llama lime", "--sequence-length 128"},
      {"lime-capture", "", "--checkpoint lime --lines lines.txt --max-sequences 8",
       "--sites values,routed_values,hidden,attn.hook_pattern --layers 0,2"},
      {"lime-generate", "", "--checkpoint lime --prompt '1 + 2 =' --max-new-tokens 4",
       "--temperature 0.7 --top-k 5 --seed 3"},
      {"lime-train", "generate", "--task aet --operands 3 --count 20", "--seed 4"},
      {"lime-train", "",
       "--task aet --operands 2 --train-samples 20 --test-samples 4 --num-hidden-layers 2 "
       "--hidden-size 16 --num-attention-heads 2 --intermediate-size 16 --steps 2 --batch-size 4",
       "--decoder lime"},
      {"lime-figure", "", "results.json", ""},
      {"lime-figure", "", "router.json", "--kind router-heads"},
  };
  return all;
}

/// The bits of all rows of a capture.
std::string values_of_capture(const fs::path& path) {
  const CaptureReader capture(path);
  std::string bits;
  for (const std::string& site : capture.sites()) {
    for (const int layer : capture.layers(site)) {
      const MatrixF rows = capture.read_all(site, layer);
      bits.append(reinterpret_cast<const char*>(rows.data()),
                  static_cast<std::size_t>(rows.size()) * sizeof(float));
    }
  }
  return sha256_of(bits);
}

/// The options with which a command writes its results.
std::string output_options(const Command& command) {
  const std::string quiet = "--threads 1 --quiet -o ";
  if (command.program == "lime-capture") return quiet + "out.h5";
  if (command.program == "lime-metrics") return quiet + "out.json";
  if (command.program == "lime-figure") return "-o out.png -o out.csv";
  return command.program == "lime-train" && command.name.empty() ? quiet + "out" : "";
}

/// Each option of a command with each of its choices, from the completion that it prints itself.
std::vector<std::string> choices_of(const Command& command, const std::string& completion) {
  // These change what is written, or where, rather than what is computed.
  const std::set<std::string> others = {"resume", "quiet", "help", "version", "format"};
  const std::regex option(
      R"( -n '(not )?__fish_seen_subcommand_from ([^']*)'.* -l ([^ ]+).* -a '([^']*)' -d)");
  const std::regex plain(R"(()() -l ([^ ]+).* -a '([^']*)' -d)");
  std::vector<std::string> result;
  std::istringstream lines(completion);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, option) && !std::regex_search(line, match, plain)) continue;
    const bool of_program = match[1].matched && match[1].length() > 0;
    if (match[2].length() > 0 && (of_program ? !command.name.empty() : match[2] != command.name)) {
      continue;
    }
    if (others.contains(match[3])) continue;
    if (match[4] == "true false") {
      result.push_back("--" + match[3].str());
      continue;
    }
    std::istringstream words(match[4]);
    for (std::string word; words >> word;) result.push_back("--" + match[3].str() + " " + word);
  }
  return result;
}

class HeapContentsTest : public ReliabilityTest {
 protected:
  HeapContentsTest() {
    const std::string expressions =
        "lime-train generate --task aet --operands 3,4 --count 60 --seed 1 -o lines.txt && ";
    const std::string captures =
        "for m in llama lime; do lime-capture --checkpoint $m --lines lines.txt --sites "
        "values,routed_values,hidden -o $m.h5 --quiet; done && "
        "lime-capture --checkpoint lime --lines lines.txt --only ' 1, 2, 3, 4' --max-per-class 12 "
        "--sites hidden -o numbers.h5 --quiet && "
        "lime-capture --checkpoint lime --pairs pairs.jsonl --log-likelihood --rows mean --sites "
        "hidden -o pairs.h5 --quiet && "
        "lime-capture --checkpoint lime --lines lines.txt --max-sequences 6 --sites "
        "attn.hook_pattern -o patterns.h5 --quiet && "
        "lime-metrics entropy llama.h5 lime.h5 --bootstrap 100 -o results.json --quiet && "
        "lime-metrics router lime -o router.json --quiet";
    const std::string inputs = "ln -s '" + source_file("data/aet-llama").string() + "' llama && " +
                               "ln -s '" + source_file("data/aet-lime").string() + "' lime && ";
    const std::string pairs = "'" + source_file("scripts/arithmetic_pairs.sh").string() +
                              "' lines.txt 12 >pairs.jsonl && ";
    const ProgramRun made = run(inputs + expressions + pairs + captures);
    EXPECT_EQ(made.status, 0) << made.errors;
  }

  /// All that a command gives, with the heap full of `byte`.
  std::string outcome(const Command& command, const std::string& options, int byte) const {
    const ProgramRun found = run(fmt::format("rm -rf out out.*; MALLOC_PERTURB_={} {} {} {} {} {}",
                                             byte, command.program, command.name, command.base,
                                             options, output_options(command)));
    std::string text = fmt::format("status {}\n{}{}", found.status, found.output, found.errors);
    if (found.status != 0) return text;
    if (fs::exists(folder_ / "out.json")) text += without_provenance(folder_ / "out.json");
    if (fs::exists(folder_ / "out.h5")) text += values_of_capture(folder_ / "out.h5");
    for (const char* const file : {"out.png", "out.csv", "out/model.safetensors"}) {
      if (fs::exists(folder_ / file)) text += sha256_of(read_text(folder_ / file));
    }
    return text;
  }
};

TEST_F(HeapContentsTest, DoNotReachTheResults) {
  const std::vector<int> bytes = {85, 165, 1, 254};
  const auto count = static_cast<std::size_t>(count_from_environment("LIME_HEAP_BYTES", 1));
  for (const Command& command : commands()) {
    std::vector<std::string> choices =
        choices_of(command, run(command.program + " --completion fish").output);
    choices.insert(choices.begin(), "");
    for (std::size_t v = 0; v < choices.size(); ++v) {
      // The last of several values of an option counts, so the lists come first.
      const std::string options = command.lists + " " + choices[v];
      const std::string usual = outcome(command, options, 0);
      // A checker's own exit code, e.g. ASAN_OPTIONS=exitcode=99, or a crash.
      EXPECT_LE(std::stoi(usual.substr(std::string("status ").size())), kExitUsage)
          << command.name << options << "\n"
          << usual;
      if (v == 0) {
        EXPECT_THAT(usual, ::testing::StartsWith("status 0\n")) << command.name << options;
      }
      for (std::size_t b = 0; b < count; ++b) {
        const int byte = bytes[(v + b) % bytes.size()];
        EXPECT_EQ(outcome(command, options, byte), usual)
            << "MALLOC_PERTURB_=" << byte << " " << command.program << " " << command.name << " "
            << command.base << " " << options;
      }
    }
  }
}

}  // namespace
}  // namespace lime::testing
