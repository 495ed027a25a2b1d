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

#include "capture/capture_fixture.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tokenizer.h"
#include "model/decoders/decoder.h"
#include "store/capture_reader.h"
#include "store/capture_tools.h"
#include "support/sanitizers.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using testing::CaptureTest;
using ::testing::ElementsAre;
using testing::equal_bits;
using ::testing::HasSubstr;
using testing::kSmallShards;

/// Runs a pass over one batch of a file's sequences; returns its activations at every layer of some
/// kinds of hook.
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
  EXPECT_EQ(info.options["packing"], "bos-each");
  EXPECT_EQ(info.extra["tokenizer_prefix"], "<s>");
  EXPECT_EQ(info.extra["sequences_without_prefix"], 0);
  EXPECT_EQ(missing_prefix(info, reader.num_sequences()), "");
  EXPECT_EQ(info.checkpoint_sha256, Checkpoint::open(options_.checkpoint).sha256());
  EXPECT_EQ(info.tokenizer_sha256, load_tokenizer(options_.checkpoint)->sha256());
  EXPECT_EQ(info.input_sha256.size(), 64U);
  EXPECT_EQ(reader.config()["num_hidden_layers"], 3);
  EXPECT_THAT(reader.sequences()[0].text, HasSubstr("Once "));
  EXPECT_EQ(reader.rows().position[21], 1);
  EXPECT_EQ(reader.rows().sequence[21], 1);
}

TEST_F(CaptureTest, StoresHowManySequencesLackBos) {
  std::vector<std::string> warnings;
  options_.packing = Packing::kEosBetween;
  run_capture(options_,
              {.on_start = [&](const CapturePreview& preview) { warnings = preview.warnings; }});
  const CaptureReader reader(options_.output);
  EXPECT_EQ(reader.info().options["packing"], "eos-between");
  EXPECT_EQ(missing_prefix(reader.info(), reader.num_sequences()),
            fmt::format("{} of {} sequences do not begin with '<s>', which the tokenizer puts "
                        "before every text",
                        reader.num_sequences() - 1, reader.num_sequences()));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("; use --packing bos-each")));
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
  testing::write_tiny_checkpoint(folder_ / "lime", testing::tiny_config("lime"));
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
  CapturePreview preview;
  bool ran_before = false;
  const CaptureCallbacks callbacks{
      .on_start = [&](const CapturePreview& known) { preview = known; },
      .on_progress = [&](const Progress&) { ran_before = preview.num_rows == 0; }};
  run_capture(options_, callbacks, {}, kSmallShards);
  EXPECT_FALSE(ran_before);
  EXPECT_EQ(preview.num_rows, CaptureReader(options_.output).num_rows());
  EXPECT_EQ(preview.num_datasets, 6);
  EXPECT_EQ(preview.bytes, preview.num_rows * (3 * (12 + 24) * 4 + 12));
  EXPECT_GT(preview.free_bytes, 0);
  EXPECT_GT(preview.num_shards, 2);
  EXPECT_EQ(preview.num_shards_left, preview.num_shards);
  EXPECT_EQ(preview.last_layer, 2);
  EXPECT_EQ(preview.prepended, "<s>");
  EXPECT_EQ(preview.first_ids.size(), 16U);
}

TEST_F(CaptureTest, EqualsTheRealModelOnSharedData) {
  if (testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
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

}  // namespace
}  // namespace lime
