// SPDX-License-Identifier: Apache-2.0
// Reference runs of lm-evaluation-harness 0.4.13 on two small models, where they are available:
// every prompt; log-likelihoods and answers of the first items. bench/evaluation/verify_harness.sh
// compares all items.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "evaluation/choice_scorer.h"
#include "evaluation/task_items.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 2e-4;

class HarnessGoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    goldens_ = testing::test_data("benchmarks/lm-eval-goldens");
    if (!exists(goldens_)) GTEST_SKIP() << testing::skip_reason(goldens_);
  }
  /// Returns the files TASK.Nshot.samples.jsonl.gz of the model.
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(goldens_ / GetParam())) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with("shot.samples.jsonl.gz") && !name.starts_with("gsm8k")) {
        found.push_back(entry.path());
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// Returns the reference items of a compressed file.
  EvalTask reference(const fs::path& file) const {
    const fs::path plain = folder_ / file.stem().string();
    const auto run =
        testing::run_command("gzip -dc '" + file.string() + "' > '" + plain.string() + "'");
    EXPECT_EQ(run.status, 0) << run.errors;
    return read_samples(plain, std::nullopt).front();
  }
  /// Joins config and tokenizer of the model into a checkpoint folder.
  fs::path checkpoint() const {
    fs::path folder = folder_ / "model";
    fs::create_directories(folder);
    const auto link_all = [&](const fs::path& from) {
      for (const auto& entry : fs::directory_iterator(from)) {
        const fs::path to = folder / entry.path().filename();
        if (entry.is_regular_file() && !exists(to)) fs::create_symlink(entry.path(), to);
      }
    };
    link_all(goldens_ / "models" / GetParam());
    if (GetParam() == "stories260k") {
      link_all(testing::test_data("checkpoints/stories260k"));
    } else {
      for (const char* const name : {"vocab.json", "merges.txt"}) {
        const fs::path to = folder / name;
        if (!exists(to)) {
          fs::create_symlink(testing::test_data(std::string("tokenizers/gpt2/") + name), to);
        }
      }
    }
    return folder;
  }
  /// "arc_easy.3shot.samples.jsonl.gz" -> the task, read from the data files.
  EvalTask own(const fs::path& file) const {
    const std::string name = file.filename().string();
    const std::string task = name.substr(0, name.find('.'));
    ItemOptions options;
    options.shots = name[name.find('.') + 1] - '0';
    const fs::path pool = goldens_ / "data" / (task + ".fewshot.jsonl");
    return read_task(task, goldens_ / "data" / (task + ".eval.jsonl"),
                     exists(pool) ? pool : fs::path(), options);
  }

  fs::path goldens_;
  testing::TemporaryFolder folder_;
};

TEST_P(HarnessGoldenTest, PromptsAreEqual) {
  if (GetParam() != "stories260k") return;  // both models got the same prompts
  for (const fs::path& file : files()) {
    const EvalTask expected = reference(file);
    const EvalTask task = own(file);
    ASSERT_EQ(task.items.size(), expected.items.size()) << file;
    for (std::size_t i = 0; i < task.items.size(); ++i) {
      ASSERT_EQ(task.items[i].contexts, expected.items[i].contexts) << file << " item " << i;
      ASSERT_EQ(task.items[i].continuations, expected.items[i].continuations) << file << i;
      ASSERT_EQ(task.items[i].gold, expected.items[i].gold) << file << " item " << i;
    }
  }
}

TEST_P(HarnessGoldenTest, LogLikelihoodsAreEqual) {
  constexpr std::size_t kItems = 2;
  const fs::path folder = checkpoint();
  const Checkpoint model = Checkpoint::open(folder);
  const auto tokenizer = load_tokenizer(folder);
  const Decoder decoder = load_decoder(model);
  ChoiceScorer scorer(decoder);
  for (const fs::path& file : files()) {
    const EvalTask task = reference(file);
    for (std::size_t i = 0; i < std::min(kItems, task.items.size()); ++i) {
      const EvalSample& item = task.items[i];
      std::vector<Choices> choices(1);
      for (std::size_t c = 0; c < item.contexts.size(); ++c) {
        choices[0].push_back(encode_choice(*tokenizer, item.contexts[c], item.continuations[c],
                                           model.config().max_position_embeddings));
      }
      const std::vector<ChoiceScore> scores = scorer.score(choices).front();
      for (std::size_t c = 0; c < scores.size(); ++c) {
        EXPECT_NEAR(scores[c].log_likelihood, item.log_likelihoods[c], kTolerance)
            << file << " item " << i << " choice " << c;
        EXPECT_EQ(scores[c].is_greedy, item.is_greedy[c]) << file << " item " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, HarnessGoldenTest,
                         ::testing::Values("stories260k", "random-gpt2tok"));

}  // namespace
}  // namespace lime
