// SPDX-License-Identifier: Apache-2.0
#include "capture/capture.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capture/npy_file.h"
#include "support/tiny_checkpoint.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tokenizer.h"
#include "core/errors.h"
#include "model/decoder.h"
#include "store/capture_reader.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Several small shards, so that resuming and sharing show.
const CaptureTuning kSmallShards{.shard = {.tokens = 64, .bytes = 1 << 20}};

class CaptureTest : public ::testing::Test {
 protected:
  CaptureTest() {
    testing::write_tiny_checkpoint(folder_ / "model");
    testing::write_text(folder_ / "text.txt", testing::tiny_text(120));
    options_.checkpoint = folder_ / "model";
    options_.text = {folder_ / "text.txt"};
    options_.seq_len = 20;
    options_.batch_size = 3;
    options_.threads = 1;
    options_.output = folder_ / "capture.h5";
  }

  CaptureReader capture(const CaptureTuning& tuning = kSmallShards) {
    run_capture(options_, {}, {}, tuning);
    return CaptureReader(options_.output);
  }

  std::string refusal() {
    try {
      run_capture(options_);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  testing::TemporaryFolder folder_;
  CaptureOptions options_;
};

/// Equal bit for bit, said in one line where it does not hold.
::testing::AssertionResult equal_bits(const MatrixF& a, const MatrixF& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) {
    return ::testing::AssertionFailure()
           << a.rows() << " x " << a.cols() << " and " << b.rows() << " x " << b.cols();
  }
  if (a == b) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "they differ by up to " << (a - b).cwiseAbs().maxCoeff();
}

/// What a pass over one batch of a file's sequences shows at every layer of some kinds of hook.
std::map<HookPoint, MatrixF> direct_pass(const Decoder& decoder, const at::Tensor& ids,
                                         const std::vector<HookKind>& kinds) {
  const at::NoGradGuard no_grad;
  std::map<HookPoint, MatrixF> seen;
  HookSet hooks;
  std::vector<ScopedHook> registrations;
  for (const HookKind kind : kinds) {
    for (int layer = 0; layer < decoder.config().num_hidden_layers; ++layer) {
      registrations.push_back(hooks.read({kind, layer}, [&](const HookPoint& point,
                                                            const at::Tensor& activation) {
        const at::Tensor rows = activation.flatten(0, 1).flatten(1).contiguous();
        seen[point] = Eigen::Map<const MatrixF>(rows.data_ptr<float>(), rows.size(0), rows.size(1));
      }));
    }
  }
  Workspace workspace;  // fused products, as the capture computes them
  decoder.forward(ids, {.hooks = &hooks, .workspace = &workspace});
  return seen;
}

/// Tokens of the rows [first, first + count * length) as a batch.
at::Tensor batch_of(const CaptureReader& reader, std::int64_t first, std::int64_t count,
                    std::int64_t length) {
  at::Tensor ids = at::empty({count, length}, at::kLong);
  for (std::int64_t i = 0; i < count * length; ++i) {
    ids.data_ptr<std::int64_t>()[i] = reader.rows().token[static_cast<std::size_t>(first + i)];
  }
  return ids;
}

TEST_F(CaptureTest, RowsEqualThoseOfADirectPass) {
  const CaptureReader reader = capture();
  const Decoder decoder = load_decoder(Checkpoint::open(options_.checkpoint));
  const std::int64_t sequences = reader.num_sequences();
  ASSERT_GT(sequences, 6);
  ASSERT_EQ(reader.num_rows(), 20 * sequences);
  for (std::int64_t s = 0; s < sequences; s += 3) {
    const std::int64_t count = std::min<std::int64_t>(3, sequences - s);
    const auto seen = direct_pass(decoder, batch_of(reader, 20 * s, count, 20),
                                  {HookKind::kV, HookKind::kResidPost});
    for (const auto& [point, rows] : seen) {
      const std::string site = point.kind == HookKind::kV ? "values" : "hidden";
      EXPECT_TRUE(equal_bits(reader.read_rows(site, point.layer, 20 * s, 20 * count), rows))
          << hook_name(point) << " from sequence " << s;
    }
  }
}

TEST_F(CaptureTest, SaysWhatWasCaptured) {
  const CaptureReader reader = capture();
  const CaptureInfo& info = reader.info();
  EXPECT_TRUE(reader.complete());
  EXPECT_THAT(reader.sites(), ElementsAre("values", "hidden"));
  EXPECT_THAT(reader.layers("values"), ElementsAre(0, 1, 2));
  EXPECT_EQ(reader.activation("hidden", 1).hook, "blocks.1.hook_resid_post");
  EXPECT_EQ(info.prepended, "<s>");
  ASSERT_EQ(info.first_ids.size(), 16U);
  EXPECT_THAT(std::vector(info.first_ids.begin(), info.first_ids.begin() + 3),
              ElementsAre(256, 'O', 'n'));
  EXPECT_EQ(info.first_tokens[1], "O");
  EXPECT_EQ(info.options["seq_len"], 20);
  EXPECT_EQ(info.options["batch_size"], 3);
  EXPECT_EQ(info.checkpoint_sha256, Checkpoint::open(options_.checkpoint).sha256());
  EXPECT_EQ(info.tokenizer_sha256, load_tokenizer(options_.checkpoint)->sha256());
  EXPECT_EQ(info.input_sha256.size(), 64U);
  EXPECT_EQ(reader.config()["num_hidden_layers"], 3);
  EXPECT_THAT(reader.sequences()[0].text, HasSubstr("Once "));
  EXPECT_EQ(reader.rows().position[21], 1);
  EXPECT_EQ(reader.rows().sequence[21], 1);
}

TEST_F(CaptureTest, StatisticsAreThoseOfAllRows) {
  const CaptureReader reader = capture();
  for (const char* const site : {"values", "hidden"}) {
    for (int layer = 0; layer < 3; ++layer) {
      RunningStatistics expected;
      expected.add(reader.read_all(site, layer));
      const RunningStatistics found = reader.statistics(site, layer);
      EXPECT_EQ(found.count, reader.num_rows());
      // Both in double; they differ in the order of adding.
      EXPECT_LT((found.mean - expected.mean).cwiseAbs().maxCoeff(), 1e-13);
      EXPECT_LT((found.m2 - expected.m2).cwiseAbs().maxCoeff(), 1e-10);
    }
  }
  RunningStatistics values;
  values.add(reader.read_all("values", 1));
  EXPECT_LT((reader.rms_per_head("values", 1) - values.rms_per_head(2)).cwiseAbs().maxCoeff(),
            1e-13);
}

TEST_F(CaptureTest, KeepsStatisticsOfKeysAndValuesThatNobodyAskedFor) {
  const CaptureReader asked = [&] {
    options_.sites = {"values", "keys"};
    options_.output = folder_ / "asked.h5";
    return capture();
  }();
  options_.sites = {"hidden"};
  options_.layers = LayerSelection::parse("1");
  options_.output = folder_ / "hidden.h5";
  const CaptureReader reader = capture();
  EXPECT_THAT(reader.sites(), ElementsAre("hidden"));
  for (const char* const site : {"keys", "values"}) {
    for (int layer = 0; layer <= 1; ++layer) {
      EXPECT_EQ(reader.statistics(site, layer).mean, asked.statistics(site, layer).mean);
      EXPECT_EQ(reader.rms_per_head(site, layer), asked.rms_per_head(site, layer));
    }
    EXPECT_FALSE(reader.has_statistics(site, 2)) << "the pass ends after layer 1";
  }
}

TEST_F(CaptureTest, KeepsRoutersAndRoutedValues) {
  testing::write_tiny_checkpoint(folder_ / "lime", testing::tiny_config(DecoderKind::kLime));
  options_.checkpoint = folder_ / "lime";
  options_.sites = {"values", "routed_values"};
  const CaptureReader reader = capture();
  EXPECT_THAT(reader.router_layers(), ElementsAre(1, 2));
  const MatrixF router = reader.router(2);
  ASSERT_EQ(router.rows(), 2);
  ASSERT_EQ(router.cols(), 6);
  EXPECT_EQ(router, Checkpoint::open(options_.checkpoint)
                        .read_matrix("model.layers.2.self_attn.lime_router.static_weights"));
  EXPECT_TRUE(equal_bits(reader.read_all("routed_values", 0), reader.read_all("values", 0)));
  // Routed head h of layer 2 is the mix of all buffered heads.
  const MatrixF routed = reader.read_all("routed_values", 2);
  for (int h = 0; h < 2; ++h) {
    MatrixF mixed = MatrixF::Zero(routed.rows(), 6);
    for (int source = 0; source < 3; ++source) {
      const MatrixF values = reader.read_all("values", source);
      for (int g = 0; g < 2; ++g) mixed += router(h, 2 * source + g) * values.middleCols(6 * g, 6);
    }
    EXPECT_LT((mixed - routed.middleCols(6 * h, 6)).cwiseAbs().maxCoeff(), 1e-5);
  }
}

TEST_F(CaptureTest, PoolsSentencesByMeanAndLastToken) {
  testing::write_text(
      folder_ / "pairs.jsonl",
      "{\"sentence_good\": \"The cat is here.\", \"sentence_bad\": \"The cat are\", \"UID\": "
      "\"a\"}\n"
      "{\"sentence_good\": \"Dogs\", \"sentence_bad\": \"Dogs was old.\", \"UID\": \"b\"}\n");
  options_.text.clear();
  options_.seq_len = std::nullopt;
  options_.pairs = {folder_ / "pairs.jsonl"};
  const auto with_rows = [&](RowKind rows, const char* name) {
    options_.rows = rows;
    options_.output = folder_ / name;
    return capture();
  };
  const CaptureReader tokens = with_rows(RowKind::kTokens, "tokens.h5");
  const CaptureReader mean = with_rows(RowKind::kMean, "mean.h5");
  const CaptureReader last = with_rows(RowKind::kLast, "last.h5");
  ASSERT_EQ(mean.num_rows(), 4);
  ASSERT_EQ(last.num_rows(), 4);
  EXPECT_THAT(mean.info().task_names, ElementsAre("a", "b"));
  for (std::int64_t s = 0; s < 4; ++s) {
    const MatrixF sentence = tokens.read_sequence("hidden", 2, s);
    EXPECT_TRUE(equal_bits(last.read_rows("hidden", 2, s, 1), sentence.bottomRows(1)));
    const MatrixF expected =
        sentence.bottomRows(sentence.rows() - 1).cast<double>().colwise().mean().cast<float>();
    EXPECT_LT((mean.read_rows("hidden", 2, s, 1) - expected).cwiseAbs().maxCoeff(), 1e-6)
        << "without the <s> that was put before it";
    const Sequence& about = mean.sequences()[static_cast<std::size_t>(s)];
    EXPECT_EQ(about.label, s % 2 == 0 ? 1 : 0);
    EXPECT_EQ(about.pair, s / 2);
    EXPECT_EQ(about.task, s / 2);
  }
  EXPECT_EQ(mean.statistics("hidden", 2).count, tokens.num_rows()) << "over every token";
  EXPECT_EQ(mean.statistics("hidden", 2).mean, tokens.statistics("hidden", 2).mean);
}

TEST_F(CaptureTest, PaddingChangesNothing) {
  testing::write_text(
      folder_ / "pairs.jsonl",
      "{\"sentence_good\": \"The cat is here and now.\", \"sentence_bad\": \"No\"}");
  options_.text.clear();
  options_.seq_len = std::nullopt;
  options_.pairs = {folder_ / "pairs.jsonl"};
  options_.batch_size = 2;
  options_.output = folder_ / "together.h5";
  const CaptureReader together = capture();
  options_.batch_size = 1;
  options_.output = folder_ / "alone.h5";
  const CaptureReader alone = capture();
  ASSERT_EQ(together.num_rows(), alone.num_rows());
  // Products of other shapes may round differently.
  EXPECT_LT((together.read_all("hidden", 2) - alone.read_all("hidden", 2)).cwiseAbs().maxCoeff(),
            1e-5);
}

TEST_F(CaptureTest, KeepsOnlyTheTokensAskedFor) {
  const CaptureReader all = [&] {
    options_.output = folder_ / "all.h5";
    return capture();
  }();
  options_.only = {" is", " were"};
  options_.max_per_class = 5;
  options_.output = folder_ / "only.h5";
  const CaptureReader only = capture();
  EXPECT_THAT(only.info().class_names, ElementsAre(" is", " were"));
  const RowTable& rows = only.rows();
  ASSERT_EQ(rows.size(), 10);
  std::map<int, int> counts;
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(++counts[rows.class_id[i]] <= 5, true);
    EXPECT_EQ(rows.token[i], rows.class_id[i] == 0 ? 259 : 269);
    const std::int64_t row = 20 * rows.sequence[i] + rows.position[i];
    EXPECT_EQ(all.rows().token[static_cast<std::size_t>(row)], rows.token[i]);
    EXPECT_TRUE(equal_bits(only.read_rows("values", 2, static_cast<std::int64_t>(i), 1),
                           all.read_rows("values", 2, row, 1)));
  }
  EXPECT_LT(only.num_sequences(), all.num_sequences()) << "ends when every class is full";
  EXPECT_EQ(only.num_sequences(), rows.sequence.back() + 1);
  EXPECT_EQ(only.statistics("values", 2).count, 20 * only.num_sequences())
      << "also of rows that are not kept";
}

TEST_F(CaptureTest, TakesTokenIdsWithoutATokenizer) {
  std::filesystem::remove(options_.checkpoint / "tokenizer.json");
  std::filesystem::remove(options_.checkpoint / "tokenizer_config.json");
  testing::write_text(folder_ / "ids.npy", testing::npy_int32({256, 5, 6, 256, 7, 8}, "(2, 3)"));
  options_.text.clear();
  options_.tokens = folder_ / "ids.npy";
  const CaptureReader reader = capture();
  EXPECT_THAT(reader.rows().token, ElementsAre(256, 5, 6, 256, 7, 8));
  EXPECT_EQ(reader.num_sequences(), 2);
  EXPECT_EQ(reader.info().tokenizer_sha256, "");
  EXPECT_EQ(reader.info().prepended, "");
}

TEST_F(CaptureTest, StoresHalfPrecisionRoundedOnce) {
  options_.output = folder_ / "full.h5";
  const CaptureReader full = capture();
  options_.store = StorageType::kFloat16;
  options_.output = folder_ / "half.h5";
  const CaptureReader half = capture();
  const MatrixF rows = full.read_all("hidden", 2);
  const MatrixF rounded = rows.cast<Eigen::half>().cast<float>();
  EXPECT_TRUE(equal_bits(half.read_all("hidden", 2), rounded));
  EXPECT_EQ(half.statistics("hidden", 2).mean, full.statistics("hidden", 2).mean);
}

TEST_F(CaptureTest, RefusesNumbersThatHalfPrecisionCannotHold) {
  testing::write_tiny_checkpoint(folder_ / "loud", testing::tiny_config(), 60.0);
  options_.checkpoint = folder_ / "loud";
  options_.store = StorageType::kFloat16;
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("to be stored as float16"), HasSubstr("choose --store float32")));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(CaptureTest, IsEqualForAnyNumberOfThreads) {
  options_.output = folder_ / "one.h5";
  const CaptureReader one = capture();
  options_.threads = 3;
  options_.output = folder_ / "three.h5";
  const CaptureReader three = capture();
  for (const char* const site : {"values", "hidden"}) {
    EXPECT_TRUE(equal_bits(one.read_all(site, 2), three.read_all(site, 2)));
    EXPECT_EQ(one.statistics(site, 2).m2, three.statistics(site, 2).m2);
  }
}

void expect_equal_captures(const CaptureReader& a, const CaptureReader& b) {
  ASSERT_EQ(a.num_rows(), b.num_rows());
  EXPECT_EQ(a.rows().token, b.rows().token);
  EXPECT_EQ(a.rows().sequence, b.rows().sequence);
  EXPECT_EQ(a.offsets(), b.offsets());
  for (const char* const site : {"values", "hidden"}) {
    for (int layer = 0; layer < 3; ++layer) {
      EXPECT_TRUE(equal_bits(a.read_all(site, layer), b.read_all(site, layer)));
      EXPECT_EQ(a.statistics(site, layer).mean, b.statistics(site, layer).mean);
      EXPECT_EQ(a.statistics(site, layer).m2, b.statistics(site, layer).m2);
    }
  }
}

TEST_F(CaptureTest, ShardsOfSeveralProcessesMakeTheSameCapture) {
  options_.output = folder_ / "single.h5";
  const CaptureReader single = capture();
  options_.output = folder_ / "shared.h5";
  options_.shard = {1, 2};
  EXPECT_FALSE(run_capture(options_, {}, {}, kSmallShards).complete);
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  options_.shard = {0, 2};
  EXPECT_TRUE(run_capture(options_, {}, {}, kSmallShards).complete);
  expect_equal_captures(CaptureReader(options_.output), single);
}

TEST_F(CaptureTest, InterruptedRunsGoOnWithEqualBits) {
  options_.output = folder_ / "single.h5";
  const CaptureReader single = capture();
  options_.output = folder_ / "resumed.h5";
  std::stop_source stop;
  const CaptureCallbacks stopping{.on_progress = [&](const Progress& progress) {
    if (progress.done >= 300) stop.request_stop();
  }};
  try {
    run_capture(options_, stopping, stop.get_token(), kSmallShards);
    FAIL() << "was not interrupted";
  } catch (const Interrupted& error) {
    EXPECT_THAT(error.what(), HasSubstr("the same command with --resume goes on"));
  }
  {
    const CaptureReader partial(options_.output);
    EXPECT_FALSE(partial.complete());
    EXPECT_GT(partial.num_rows(), 0);
    EXPECT_TRUE(equal_bits(partial.read_all("hidden", 1),
                           single.read_rows("hidden", 1, 0, partial.num_rows())));
  }
  EXPECT_THAT(refusal(), HasSubstr("exists already; go on with --resume"));
  options_.resume = true;
  const CaptureResult result = run_capture(options_, {}, {}, kSmallShards);
  EXPECT_TRUE(result.complete);
  EXPECT_LT(result.num_tokens, single.num_rows()) << "finished shards are not computed again";
  expect_equal_captures(CaptureReader(options_.output), single);
  EXPECT_EQ(run_capture(options_, {}, {}, kSmallShards).num_tokens, 0) << "nothing is left";
}

TEST_F(CaptureTest, RefusesToResumeWithOtherOptions) {
  run_capture(options_, {}, {}, kSmallShards);
  options_.resume = true;
  options_.dtype = ComputeType::kFloat64;
  EXPECT_THAT(refusal(), HasSubstr("was begun with other options"));
}

TEST_F(CaptureTest, ComputesInDoubleWhereAsked) {
  options_.output = folder_ / "single.h5";
  const CaptureReader single = capture();
  options_.output = folder_ / "double.h5";
  options_.dtype = ComputeType::kFloat64;
  const CaptureReader doubled = capture();
  const double difference =
      (single.read_all("hidden", 2) - doubled.read_all("hidden", 2)).cwiseAbs().maxCoeff();
  EXPECT_GT(difference, 0.0);
  EXPECT_LT(difference, 1e-4);
}

TEST_F(CaptureTest, SaysWhatItWillBeBeforeItRuns) {
  CaptureOutlook outlook;
  bool ran_before = false;
  const CaptureCallbacks callbacks{
      .on_start = [&](const CaptureOutlook& known) { outlook = known; },
      .on_progress = [&](const Progress&) { ran_before = outlook.num_rows == 0; }};
  run_capture(options_, callbacks, {}, kSmallShards);
  EXPECT_FALSE(ran_before);
  EXPECT_EQ(outlook.num_rows, CaptureReader(options_.output).num_rows());
  EXPECT_EQ(outlook.num_datasets, 6);
  EXPECT_EQ(outlook.bytes, outlook.num_rows * (3 * (12 + 24) * 4 + 12));
  EXPECT_GT(outlook.free_bytes, 0);
  EXPECT_GT(outlook.num_shards, 2);
  EXPECT_EQ(outlook.num_shards_left, outlook.num_shards);
  EXPECT_EQ(outlook.last_layer, 2);
  EXPECT_EQ(outlook.prepended, "<s>");
  EXPECT_EQ(outlook.first_ids.size(), 16U);
}

TEST_F(CaptureTest, RefusesActivationsThatAreNotFinite) {
  testing::write_tiny_checkpoint(folder_ / "huge", testing::tiny_config(), 1e18);
  options_.checkpoint = folder_ / "huge";
  EXPECT_THAT(refusal(), AllOf(HasSubstr("capture: blocks.0."), HasSubstr("must be finite"),
                               HasSubstr("sequences 0 to 2"), HasSubstr("--allow-nan")));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  options_.allow_nan = true;
  options_.resume = true;
  options_.output = folder_ / "allowed.h5";
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(CaptureTest, NamesWhatIsWrongBeforeItStarts) {
  options_.layers = LayerSelection::parse("2,3");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("layers"), HasSubstr("3")));
  options_.layers = {};
  options_.only = {" is", " here"};
  EXPECT_THAT(refusal(), HasSubstr("' here' is several (' ', 'h', 'ere')"));
  options_.only = {"~"};
  EXPECT_THAT(refusal(), HasSubstr("only: none of the tokens occurs in the input"));
  options_.only = {};
  options_.checkpoint = folder_ / "none";
  EXPECT_THAT(refusal(), HasSubstr("none'"));
  options_.checkpoint = folder_ / "model";
  options_.output = folder_ / "no" / "capture.h5";
  EXPECT_THAT(refusal(), HasSubstr("the folder"));
  options_.output = folder_ / "capture.h5";
  options_.device = "tpu";
  EXPECT_THAT(refusal(), HasSubstr("tpu"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "capture.h5"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "capture.shards"));
}

TEST_F(CaptureTest, EqualsTheRealModelOnSharedData) {
  const auto model = testing::test_data("checkpoints/stories260k");
  if (!exists(model)) GTEST_SKIP() << testing::skip_reason(model);
  testing::write_text(folder_ / "story.txt",
                      "Once upon a time, there was a little girl who liked to play outside.");
  options_.checkpoint = model;
  options_.text = {folder_ / "story.txt"};
  options_.seq_len = std::nullopt;
  const CaptureReader reader = capture();
  ASSERT_EQ(reader.num_sequences(), 1);
  EXPECT_EQ(reader.rows().token[0], 1);
  EXPECT_EQ(reader.info().prepended, "<s>");
  const Decoder decoder = load_decoder(Checkpoint::open(model));
  const auto seen = direct_pass(decoder, batch_of(reader, 0, 1, reader.num_rows()),
                                {HookKind::kV, HookKind::kResidPost});
  ASSERT_EQ(seen.size(), 10U);
  for (const auto& [point, rows] : seen) {
    const std::string site = point.kind == HookKind::kV ? "values" : "hidden";
    EXPECT_TRUE(equal_bits(reader.read_all(site, point.layer), rows)) << hook_name(point);
  }
}

TEST_F(CaptureTest, CapturesMinimalPairsOfBlimp) {
  const auto model = testing::test_data("checkpoints/stories260k");
  const auto task = testing::test_data("blimp/passive_1.jsonl");
  if (!exists(model)) GTEST_SKIP() << testing::skip_reason(model);
  if (!exists(task)) GTEST_SKIP() << testing::skip_reason(task);
  options_.checkpoint = model;
  options_.text.clear();
  options_.seq_len = std::nullopt;
  options_.pairs = {task};
  options_.max_sequences = 20;
  options_.rows = RowKind::kMean;
  const CaptureReader reader = capture();
  EXPECT_EQ(reader.num_rows(), 20);
  EXPECT_EQ(reader.sequences()[0].text, "Lucille's sisters are confused by Amy.");
  EXPECT_EQ(reader.sequences()[1].text, "Lucille's sisters are communicated by Amy.");
  EXPECT_THAT(reader.info().task_names, ElementsAre("passive_1"));
}

}  // namespace
}  // namespace lime
