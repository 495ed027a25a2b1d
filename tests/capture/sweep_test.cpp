// SPDX-License-Identifier: Apache-2.0
#include "capture/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <fstream>

#include "capture/capture.h"
#include "capture/capture_sizes.h"
#include "capture/scores.h"
#include "core/errors.h"
#include "model/model_fixture.h"
#include "model/passes/generate.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using testing::golden_file;
using testing::golden_tensor;
using ::testing::HasSubstr;
using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::small_config;
using testing::some_ids;
using ::testing::ThrowsMessage;

CaptureInput input_of(const at::Tensor& ids) {
  CaptureInput input;
  for (std::int64_t s = 0; s < ids.size(0); ++s) {
    std::vector<std::int32_t> row;
    for (std::int64_t t = 0; t < ids.size(1); ++t) row.push_back(ids[s][t].item<std::int32_t>());
    input.add({}, row, {});
  }
  return input;
}

/// The first `length` tokens of every sequence but the last, which is whole.
CaptureInput ragged_input(const at::Tensor& ids, std::int64_t length) {
  CaptureInput all = input_of(ids);
  CaptureInput input;
  for (std::int64_t s = 0; s < all.num_sequences(); ++s) {
    const auto own = all.ids_of(s);
    input.add({}, s + 1 == all.num_sequences() ? own : own.first(static_cast<std::size_t>(length)),
              {});
  }
  return input;
}

std::vector<std::int64_t> all_of(const CaptureInput& input) {
  std::vector<std::int64_t> all;
  for (std::int64_t s = 0; s < input.num_sequences(); ++s) all.push_back(s);
  return all;
}

SweepResult effect_of(const Decoder& decoder, const CaptureInput& input,
                      const std::vector<std::string>& edits) {
  const auto items = sweep_items(SweepOver::kEdits, read_edits(edits), "", decoder.config(), 0);
  return measure_sweep(decoder, input, items, all_of(input), [] {});
}

TEST(SweepGoldenTest, EditsEqualPyTorchWithHooks) {
  const Json golden = read_json_file(golden_file("interventions.json"));
  const auto folder = std::filesystem::path(::testing::TempDir()) / "sweep_golden";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "direction.json") << golden["direction"].dump();
  for (const Json& entry : golden["entries"]) {
    const auto model = golden_file("model/" + entry["model"].get<std::string>());
    const Decoder decoder = load_decoder(Checkpoint::open(model), in_double());
    const CaptureInput input = input_of(golden_tensor(model / "golden.h5", "ids"));
    std::string text = entry["edit"];
    SCOPED_TRACE(entry["model"].get<std::string>() + ": " + text);
    if (const auto at = text.find("direction.json"); at != std::string::npos) {
      text.insert(at, folder.string() + "/");
    }
    const bool is_route = text.find("route") != std::string::npos;
    const SweepResult result = effect_of(decoder, input, {text.empty() ? "scale=1 hidden" : text});
    for (Eigen::Index s = 0; s < 2; ++s) {
      const auto i = static_cast<std::size_t>(s);
      EXPECT_NEAR(result.loss(1, s), entry["loss"][i].get<double>(), 1e-9);
      EXPECT_NEAR(result.logit_difference(1, s), entry["logit_difference"][i].get<double>(), 1e-9);
      // Those of routes are central differences.
      EXPECT_NEAR(result.attribution(1, s), entry["attribution"][i].get<double>(),
                  is_route ? 1e-7 : 1e-9);
    }
  }
}

TEST(SweepTest, CountsTheSelectedTokensOnly) {
  const Decoder decoder = lively_decoder(small_config(), in_double());
  CaptureInput input = input_of(some_ids(2, 9));
  const std::vector<std::string> edit = {"zero attn.hook_z layers=1 heads=0"};
  const SweepResult whole = effect_of(decoder, input, edit);
  const auto with_positions = [&](const char* positions) {
    select_scored(input, {.positions = LayerSelection::parse(positions)}, nullptr);
    return effect_of(decoder, input, edit);
  };
  // Eight tokens are scored: their mean is that of the two halves, of losses and of estimates.
  const SweepResult first = with_positions("1-4");
  const SweepResult last = with_positions("5-8");
  EXPECT_LT((0.5 * (first.loss + last.loss) - whole.loss).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT(
      (0.5 * (first.attribution + last.attribution) - whole.attribution).cwiseAbs().maxCoeff(),
      1e-12);
  EXPECT_GT((first.loss - last.loss).cwiseAbs().maxCoeff(), 1e-3);
}

class SweepOfEveryDecoderTest : public ::testing::TestWithParam<testing::NamedConfig> {};

/// The state of every routing over depth is forked correctly, and every layer can be edited.
TEST_P(SweepOfEveryDecoderTest, SharedLayersGiveTheLossOfWholePasses) {
  const Decoder decoder = lively_decoder(GetParam().config, in_double());
  const CaptureInput input = ragged_input(some_ids(3, 9), 6);
  auto items = sweep_items(SweepOver::kSublayers, {}, "scale=0.5", decoder.config(), 0);
  if (decoder.config().spec.norm_placement != NormPlacement::kAfterSum) {
    std::ranges::move(sweep_items(SweepOver::kDepthWeights, {}, "zero", decoder.config(), 0),
                      std::back_inserter(items));
    // Routes of a LIMe edit its parameters.
    std::erase_if(items, [](const SweepItem& item) { return !item.edits.routes.empty(); });
    std::ranges::stable_sort(items, {}, &SweepItem::first_layer);
  }
  const SweepResult result = measure_sweep(decoder, input, items, all_of(input), [] {});
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i <= items.size(); ++i) {
    HookSet hooks;
    EditHooks edited(i == 0 ? std::vector<ActivationEdit>{} : items[i - 1].edits.activations,
                     decoder.config());
    const auto registered = edited.attach(hooks);
    edited.begin_batch({0, 1, 2}, {6, 6, 9});
    const at::Tensor hidden =
        decoder
            .forward(batch_ids(input, all_of(input)), {.hooks = &hooks, .logits = LogitsFor::kNone})
            .hidden;
    const auto scores = score_sequences(decoder, hidden, input, all_of(input));
    for (std::size_t s = 0; s < scores.size(); ++s) {
      EXPECT_NEAR(result.loss(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(s)),
                  -scores[s].log_likelihood / scores[s].scored_tokens, 1e-12)
          << i << " " << s;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SweepOfEveryDecoderTest,
                         ::testing::ValuesIn(testing::small_configs()), testing::config_name);

TEST(SweepTest, FirstOrderEstimatesAreDerivatives) {
  const Decoder decoder = lively_decoder(small_config("lime"), in_double());
  const CaptureInput input = ragged_input(some_ids(2, 8), 5);
  for (const char* const edit : {"attn.hook_z heads=1", "hidden layers=1 positions=2", "keys",
                                 "route layers=2 sources=0", "mlp.hook_post"}) {
    const SweepResult whole = effect_of(decoder, input, {fmt::format("scale=2 {}", edit)});
    const SweepResult tiny = effect_of(decoder, input, {fmt::format("scale=1.00001 {}", edit)});
    for (Eigen::Index s = 0; s < 2; ++s) {
      EXPECT_NEAR((tiny.loss(1, s) - tiny.loss(0, s)) * 1e5, whole.attribution(1, s), 1e-3) << edit;
    }
  }
}

TEST(SweepTest, CoversEveryComponentOnceAndRestoresTheModel) {
  const ModelConfig config = small_config("lime");
  const Decoder decoder = lively_decoder(config, in_double());
  const CaptureInput input = input_of(some_ids(2, 5));
  const auto items = [&](SweepOver over) { return sweep_items(over, {}, "zero", config, 5); };
  EXPECT_EQ(items(SweepOver::kLayers).size(), 3U);
  EXPECT_EQ(items(SweepOver::kSublayers).size(), 6U);
  EXPECT_EQ(items(SweepOver::kHeads).size(), 12U);
  EXPECT_EQ(items(SweepOver::kPositions).size(), 15U);
  EXPECT_EQ(items(SweepOver::kRoutes).size(), 5U);       // of layers 1 and 2, to 2 and 3 layers
  EXPECT_EQ(items(SweepOver::kHeadRoutes).size(), 20U);  // 2 heads each
  const at::Tensor before = decoder.forward(some_ids(1, 4)).logits.clone();
  EXPECT_NEAR(saved_passes(items(SweepOver::kHeadRoutes), config),
              1.0 - (3.0 + 8 * 2 + 12 * 1) / (21 * 3.0), 1e-12);
  const SweepResult result =
      measure_sweep(decoder, input, items(SweepOver::kHeadRoutes), all_of(input), [] {});
  EXPECT_EQ(max_difference(decoder.forward(some_ids(1, 4)).logits, before), 0.0);
  EXPECT_GT((result.loss.row(5) - result.loss.row(0)).norm(), 1e-6);
}

class EditedCaptureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    testing::write_tiny_checkpoint(folder_ / "model");
    std::ofstream(folder_ / "a.txt") << "abcd\nxyz\n";
    std::ofstream(folder_ / "b.txt") << "efgh\nuvw\n";
    std::ofstream(folder_ / "other.txt") << "a text of another length\nand so on\n";
  }
  CaptureReader capture(const std::string& text, const std::vector<std::string>& edits,
                        const std::string& output, const std::string& site = "hidden") {
    CaptureOptions options;
    options.checkpoint = folder_ / "model";
    options.lines = {folder_ / text};
    options.edit = edits;
    options.sites = {site};
    options.log_likelihood = true;
    options.output = folder_ / output;
    run_capture(options);
    return CaptureReader(folder_ / output);
  }
  const std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / "edited";
};

TEST_F(EditedCaptureTest, APatchOfTheLastLayerGivesTheOtherText) {
  const CaptureReader b = capture("b.txt", {}, "b.h5");
  const CaptureReader patched =
      capture("a.txt", {"patch=" + (folder_ / "b.h5").string() + " hidden layers=1"}, "patched.h5");
  EXPECT_LT((patched.read_all("hidden", 1) - b.read_all("hidden", 1)).norm(), 1e-6);
  EXPECT_EQ(patched.info().options["edit"][0]["sha256"].get<std::string>().size(), 64U);
  EXPECT_THAT(
      [&] {
        capture("other.txt", {"patch=" + (folder_ / "b.h5").string() + " hidden layers=1"}, "x.h5");
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("tokens of texts of the same lengths")));
  EXPECT_THAT(
      [&] { capture("a.txt", {"patch=" + (folder_ / "b.h5").string() + " values"}, "y.h5"); },
      ThrowsMessage<FormatError>(HasSubstr("values")));
}

TEST_F(EditedCaptureTest, MeanAndResampleKeepTheMean) {
  const CaptureReader a = capture("a.txt", {}, "a.h5");
  const VectorD mean = a.statistics("hidden", 1).mean;
  int number = 0;
  const std::vector<std::string> edits = {
      "mean hidden layers=1", "resample hidden layers=1 seed=3",
      "mean=" + (folder_ / "a.h5").string() + " hidden layers=1"};
  for (const std::string& edit : edits) {
    const CaptureReader edited = capture("a.txt", {edit}, std::to_string(number++) + ".h5");
    EXPECT_LT((edited.statistics("hidden", 1).mean - mean).norm(), 1e-5) << edit;
    EXPECT_GT((edited.read_all("hidden", 1) - a.read_all("hidden", 1)).norm(), 1e-2) << edit;
    EXPECT_LT((edited.read_all("hidden", 0) - a.read_all("hidden", 0)).norm(), 1e-6) << edit;
  }
}

TEST_F(EditedCaptureTest, ReadsFilesOfEdits) {
  std::ofstream(folder_ / "edits.json")
      << R"({"format": "lime-edit/1", "edits": ["zero hidden layers=0", "skip mlp layers=2"]})";
  const CaptureReader edited = capture("a.txt", {(folder_ / "edits.json").string()}, "edited.h5");
  EXPECT_EQ(edited.read_all("hidden", 0).norm(), 0.0F);
  EXPECT_EQ(edited.info().options["edit"][1]["edit"], "skip mlp layers=2");
}

TEST(ActivationEditTest, NamesTheFirstFault) {
  const ModelConfig config = testing::tiny_config();
  const auto refuses = [&](const std::string& text, const std::string& message, bool generates) {
    const auto check = [&] {
      check_edits(read_edits({text}), config, generates);
      check_edited_positions(read_edits({text}), config, 10);
    };
    EXPECT_THAT(check, ThrowsMessage<InvalidArgument>("edit '" + text + "': " + message));
  };
  refuses("zerro hidden", "unknown operation 'zerro'; did you mean 'zero'?", false);
  refuses("zero attn.hook_zz", "unknown site 'attn.hook_zz'; did you mean 'attn.hook_z'?", false);
  refuses("zero", "a site is missing, e.g. 'zero attn.hook_z'", false);
  refuses("skip mlp layers=1 layers=2", "layers is given twice; give one list, such as layers=1,3",
          false);
  refuses("zero hidden seed=1", "only resample has a seed", false);
  refuses("zero route positions=3",
          "route has no positions and no tokens: its weights are those of all tokens", false);
  refuses("zero route layers=0-1023 heads=0-1023",
          "selects 1048576 routes or more, expected at most 1000000; omit lists that select "
          "everything",
          false);
  refuses("zero hidden layer=3", "unknown key 'layer'; did you mean 'layers'?", false);
  refuses("zero hidden layers=3", "layers: layer 3 does not exist (available: 0-2)", false);
  refuses("zero attn.hook_z heads=4", "heads: head 4 does not exist (available: 0-3)", false);
  refuses("zero head heads=4", "heads: head 4 does not exist (available: 0-3)", false);
  refuses("zero values heads=2", "heads: head 2 does not exist (available: 0-1)", false);
  refuses("zero hidden positions=64", "positions: position 64 does not exist (available: 0-63)",
          false);
  refuses("zero hidden tokens=300", "tokens: token 300 does not exist (available: 0-279)", false);
  refuses("zero hidden heads=0", "only route, q, k, v, z and pattern have heads", false);
  refuses("zero hidden sources=0",
          "only route, attn.hook_route and hook_depth_weights have sources", false);
  refuses("zero hidden streams=0", "only hook_streams has streams", false);
  refuses("zero hidden reads=mlp", "only hook_depth_weights has reads", false);
  refuses("scale hidden",
          "scale needs a value: patch=CAPTURE.h5, scale=FACTOR or project=DIRECTION.json", false);
  refuses("scale=inf hidden", "scale: must be finite, got inf", false);
  refuses("skip norm", "unknown sublayer 'norm' (supported: attention, mlp)", false);
  refuses("zero attn.hook_route",
          "'llama' has no router of keys and values; edit hook_depth_weights", false);
  refuses("zero attn.hook_profile", "'attn.hook_profile' can be read, not edited", false);
  refuses("zero hook_depth_weights reads=mpl", "unknown read 'mpl'; did you mean 'mlp'?", false);
  refuses("zero hook_depth_weights reads=q",
          "'llama' does not read 'q' (its reads: attn, mlp, final)", false);
  refuses("zero hook_depth_weights layers=0 reads=final",
          "the final norm reads after the last layer: write layers=2", false);
  refuses("zero hook_depth_weights sources=7", "sources: source 7 does not exist (available: 0-6)",
          false);
  refuses("mean hook_depth_weights", "'hook_depth_weights' can be edited by zero and scale only",
          false);
  refuses("mask hidden experts=1",
          "mask removes experts from the selection: expected the site mlp.hook_router_logits, got "
          "'hidden'",
          false);
  refuses("mean attn.hook_pattern", "'attn.hook_pattern' can be edited by zero and scale only",
          false);
  refuses("resample hidden",
          "resample needs all tokens of a text; use lime-capture, or zero, scale, project, skip or "
          "mean=CAPTURE.h5",
          true);
  check_edited_positions(read_edits({"zero hidden positions=64"}), config, 65);
  EXPECT_THAT([&] { check_edits(read_edits({"zero route layers=1"}), config); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must be a LIMe with static router")));
}

/// Edited tokens enter the cache, so token by token equals all at once.
TEST(ActivationEditTest, ACacheGivesTheSameLogits) {
  for (const char* const kind : {"llama", "lime"}) {
    const Decoder decoder = lively_decoder(small_config(kind), in_double());
    const at::Tensor ids = some_ids(1, 7);
    EditHooks edited(
        read_edits({"scale=0.3 values heads=1", "zero attn.hook_pattern layers=1 heads=2",
                    "zero hidden layers=0 positions=4-5"})
            .activations,
        decoder.config());
    HookSet hooks;
    const auto registered = edited.attach(hooks);
    const at::Tensor all = decoder.forward(ids, {.hooks = &hooks}).logits;
    KeyValueCache cache;
    for (std::int64_t t = 0; t < 7; ++t) {
      const at::Tensor logits =
          decoder.forward(ids.narrow(1, t, 1), {.hooks = &hooks, .cache = &cache}).logits;
      EXPECT_LT(max_difference(logits[0][0], all[0][t]), 1e-10) << kind << " " << t;
    }
  }
}

}  // namespace
}  // namespace lime
