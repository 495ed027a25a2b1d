// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "support/test_data.h"
#include "train/arithmetic_task.h"
#include "train/arithmetic_vocabulary.h"
#include "train/tensor_bytes.h"
#include "train/tiny_run.h"

namespace lime {
namespace {

constexpr int kMissingLibrary = 77;

/// Returns two expressions with the same number of tokens, one per line.
std::vector<std::string> equally_long_lines() {
  return {"( 7 + 5 ) / 4 = 12 / 4 = 3", "12 - ( 8 - 5 ) = 12 - 3 = 9"};
}

/// Writes a LLaMA trained for a few steps, with our ids and logits of `lines`.
void write_folder(const std::filesystem::path& folder, const std::vector<std::string>& lines) {
  testing::TinyRun options = testing::tiny_run(folder);
  options.setup.model.decoder = DecoderKind::kLlama;
  options.setup.model.num_attention_heads = 4;
  options.setup.model.num_key_value_heads = 2;
  testing::train(options);

  const ArithmeticVocabulary vocabulary(options.data.task.range());
  std::vector<at::Tensor> rows;
  std::string text;
  for (const std::string& line : lines) {
    std::vector<std::int32_t> ids = vocabulary.encode(line);
    ids.insert(ids.begin(), ArithmeticVocabulary::kBos);
    rows.push_back(at::tensor(ids, at::kLong));
    text += line + "\n";
  }
  testing::write_text(folder / "expressions.txt", text);
  const at::Tensor ids = at::stack(rows);
  const at::Tensor logits = load_decoder(Checkpoint::open(folder)).forward(ids).logits;
  const auto tensors = tensors_on_cpu({{"ids", ids.to(at::kFloat)}, {"logits", logits}});
  write_safetensors(folder / "expected.safetensors", tensor_views(tensors));
}

TEST(TransformersTest, LoadsOurLlamaWithTheSameIdsAndLogits) {
  const testing::TemporaryFolder folder;
  write_folder(folder / "llama", equally_long_lines());
  const auto script = testing::source_file("tests/train/check_with_transformers.py");
  const testing::ProgramRun run = testing::run_command("python3 '" + script.string() + "' '" +
                                                       (folder / "llama").string() + "'");
  if (run.status == kMissingLibrary || run.status == 127) {
    GTEST_SKIP() << "needs a python3 with transformers and torch; " << run.output;
  }
  EXPECT_EQ(run.status, 0) << run.output << run.errors;
}

}  // namespace
}  // namespace lime
