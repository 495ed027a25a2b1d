// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics counterfactual.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "app/lime_metrics_fixture.h"
#include "app/routed_capture.h"
#include "checkpoint/test_model.h"
#include "core/random.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/matrix_entropy.h"
#include "support/statistics.h"

namespace lime {
namespace {

using testing::draw_router_dimensions;
using ::testing::HasSubstr;
using testing::LimeMetricsTest;
using testing::ProgramRun;
using testing::random_routed_capture;
using testing::routed_values;
using testing::RoutedCapture;
using testing::small_config;
using testing::write_routed_capture;

const std::vector<std::int64_t> kLengths = {30, 12, 25, 40};

/// Returns a capture without the row of a sequence of one token.
RoutedCapture without_row(RoutedCapture capture, std::size_t sequence) {
  Eigen::Index row = 0;
  for (std::size_t i = 0; i < sequence; ++i) row += capture.lengths[i];
  for (std::vector<MatrixF>* const rows : {&capture.values, &capture.keys}) {
    for (MatrixF& layer : *rows) {
      MatrixF rest(layer.rows() - 1, layer.cols());
      rest << layer.topRows(row), layer.bottomRows(layer.rows() - row - 1);
      layer = rest;
    }
  }
  capture.lengths.erase(capture.lengths.begin() + static_cast<std::ptrdiff_t>(sequence));
  return capture;
}

class CounterfactualCommandTest : public LimeMetricsTest {
 protected:
  RoutedCapture write_lime(const std::string& name = "lime.h5") const {
    const RoutedCapture capture = random_routed_capture(small_config("lime"), kLengths, 7);
    write_routed_capture(folder_ / name, capture);
    return capture;
  }
  RoutedCapture write_llama(const std::string& name = "llama.h5") const {
    RoutedCapture capture = random_routed_capture(small_config("llama"), kLengths, 8);
    capture.routers.clear();
    write_routed_capture(folder_ / name, capture);
    return capture;
  }
};

/// Computes the mean entropy over the sequences from the definition: standardised over all rows.
double entropy_of_rows(const MatrixF& rows, double alpha) {
  const Standardization standardization = make_standardization(testing::statistics_of(rows));
  double sum = 0.0;
  Eigen::Index first = 0;
  for (const std::int64_t length : kLengths) {
    sum +=
        matrix_renyi_entropy(standardize(rows.middleRows(first, length), standardization), alpha);
    first += length;
  }
  return sum / static_cast<double>(kLengths.size());
}

TEST_F(CounterfactualCommandTest, SkipsSequencesOfOneToken) {
  const RoutedCapture lime = random_routed_capture(small_config("lime"), {30, 12, 1, 25, 40}, 7);
  write_routed_capture(folder_ / "short.h5", lime);
  write_routed_capture(folder_ / "long.h5", without_row(lime, 2));
  // Statistics of the weights are those of the stored rows, which include the short sequence.
  const std::string options = " --label LIMe --preset raw --bare-weights";
  EXPECT_EQ(difference(rows("counterfactual short.h5" + options),
                       rows("counterfactual long.h5" + options)),
            "");
  EXPECT_THAT(run("counterfactual short.h5").output,
              HasSubstr("short: skipped 1 sequence of fewer than 2 tokens"));
}

TEST_F(CounterfactualCommandTest, EqualsTheEntropyOfRoutedValuesFromTheDefinition) {
  const RoutedCapture capture = write_lime();
  const Json table = rows("counterfactual lime.h5 --router identity,last-2,unsigned,cut-0,first-1");
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto number = static_cast<int>(layer);
    const auto expect = [&](const std::string& router, const MatrixD& weights) {
      const MatrixF routed = routed_values(capture, layer, weights).cast<float>();
      // Routed in float64 here, rounded to float32 there.
      EXPECT_NEAR(mean_of_router(table, number, router, "entropy"), entropy_of_rows(routed, 0.5),
                  1e-6)
          << router << layer;
    };
    const MatrixD& trained = capture.routers[layer];
    expect("trained", trained);
    MatrixD identity = MatrixD::Zero(2, trained.cols());
    identity.rightCols(2).setIdentity();
    expect("identity", identity);
    if (layer == 0) continue;
    expect("unsigned", trained.cwiseAbs());
    MatrixD last = trained;
    if (layer == 2) last.leftCols(2).setZero();
    expect("last-2", last);
    MatrixD cut = trained;
    cut.leftCols(2).setZero();
    expect("cut-0", cut);
    MatrixD first = MatrixD::Zero(2, trained.cols());
    first.leftCols(2) = trained.leftCols(2);
    expect("first-1", first);
  }
}

// The trained router as its own replacement reproduces the model.
TEST_F(CounterfactualCommandTest, TrainedRouterGivesWhatWasCaptured) {
  write_lime();
  const Json table = rows("counterfactual lime.h5 --alpha 0.5,1");
  const Json captured = rows("entropy lime.h5 --site routed_values --alpha 0.5,1");
  const Json values = rows("entropy lime.h5 --site values");
  for (int layer = 0; layer < 3; ++layer) {
    for (const double alpha : {0.5, 1.0}) {
      const Json own = row_with(
          table,
          {{"layer", layer}, {"router", "trained"}, {"quantity", "entropy"}, {"alpha", alpha}});
      const Json other = row_with(captured, {{"layer", layer}, {"alpha", alpha}});
      EXPECT_NEAR(own.at("mean").get<double>(), other.at("mean").get<double>(), 1e-6);
      EXPECT_NEAR(own.at("ci_high").get<double>(), other.at("ci_high").get<double>(), 1e-6);
      EXPECT_NEAR(own.at("ceiling").get<double>(), other.at("ceiling").get<double>(), 1e-12);
    }
    const Json identity = row_with(
        table, {{"layer", layer}, {"router", "identity"}, {"quantity", "entropy"}, {"alpha", 0.5}});
    EXPECT_NEAR(identity.at("mean").get<double>(),
                row_with(values, {{"layer", layer}}).at("mean").get<double>(), 1e-9);
    const Json first = row_with(
        table, {{"layer", layer}, {"router", "trained"}, {"quantity", "entropy"}, {"alpha", 0.5}});
    EXPECT_LT(first.at("deviation").get<double>(), 2e-7);
  }
}

TEST_F(CounterfactualCommandTest, DifferencesArePairedAndAddUp) {
  write_lime();
  const Json table = rows("counterfactual lime.h5 --router identity,permuted,random,top-1,cut");
  for (const Json& row : table) {
    if (row.at("layer").is_null() || row.at("router") == "trained") continue;
    const double trained =
        mean_of_router(table, row.at("layer").get<int>(), "trained", row.at("quantity"));
    EXPECT_NEAR(row.at("difference").get<double>(), row.at("mean").get<double>() - trained, 1e-12);
    EXPECT_LE(row.at("difference_low").get<double>(), row.at("difference").get<double>() + 1e-12);
  }
  // A source above the layer cannot be cut, and layer 0 without itself is empty.
  for (const Json& row : table) {
    if (row.at("layer") == 1) {
      EXPECT_NE(row.at("router"), "cut-2");
    }
    if (row.at("layer") == 0) {
      EXPECT_NE(row.at("router"), "cut-0");
    }
  }
  // Means over layers 1 and 2.
  const Json mean =
      row_with(table, {{"layer", nullptr}, {"router", "identity"}, {"quantity", "entropy"}});
  EXPECT_EQ(mean.at("layers"), 2);
  EXPECT_NEAR(mean.at("mean").get<double>(),
              (mean_of_router(table, 1, "identity", "entropy") +
               mean_of_router(table, 2, "identity", "entropy")) /
                  2.0,
              1e-12);
}

TEST_F(CounterfactualCommandTest, SplitsTheGapToAPlainTransformer) {
  write_lime();
  write_llama();
  const std::string command =
      "counterfactual lime.h5 --against llama.h5 --label LIMe LLaMA --router identity";
  const Json table = rows(command);
  const Json llama = rows("entropy llama.h5 --site values");
  for (int layer = 0; layer < 3; ++layer) {
    const auto part = [&](const char* name) {
      return row_with(table, {{"label", "LIMe - LLaMA"},
                              {"layer", layer},
                              {"part", name},
                              {"quantity", "entropy"}})
          .at("mean")
          .get<double>();
    };
    EXPECT_NEAR(part("gap"), part("projections") + part("mixing"), 1e-12);
    const double trained =
        row_with(
            table,
            {{"label", "LIMe"}, {"layer", layer}, {"router", "trained"}, {"quantity", "entropy"}})
            .at("mean")
            .get<double>();
    EXPECT_NEAR(part("gap"), trained - row_with(llama, {{"layer", layer}}).at("mean").get<double>(),
                1e-9);
  }
  const Json gap = row_with(table, {{"part", "gap"}, {"layer", nullptr}, {"quantity", "entropy"}});
  EXPECT_EQ(gap.at("layers"), 3);
  EXPECT_EQ(gap.at("share").get<double>(), 1.0);
  const std::string text = run(command).output;
  EXPECT_THAT(text, HasSubstr("entropy: LIMe - LLaMA is "));
  EXPECT_THAT(text, HasSubstr(" = projections "));
  EXPECT_THAT(text, HasSubstr(" + mixing "));
  EXPECT_THAT(text, HasSubstr("the gap and its parts, by layer"));
}

TEST_F(CounterfactualCommandTest, MeasuresSeparabilityWhereThereAreClasses) {
  RoutedCapture capture = random_routed_capture(small_config("lime"), kLengths, 7);
  Random random(3);
  capture.class_names = {" is", " was"};
  for (std::int64_t row = 0; row < capture.num_rows(); ++row) {
    const auto label = static_cast<std::int16_t>(random.below(2));
    capture.classes.push_back(label);
    // The classes differ in layer 0 only.
    capture.values[0].row(row).array() += label == 0 ? -3.0F : 3.0F;
  }
  write_routed_capture(folder_ / "is.h5", capture);
  const Json table = rows("counterfactual is.h5 --router identity,cut-0,first-1");
  EXPECT_GT(mean_of_router(table, 2, "first-1", "separability"), 0.95);
  // Most sources of layer 2 contain no information on the classes.
  EXPECT_GT(mean_of_router(table, 2, "trained", "separability"),
            mean_of_router(table, 2, "identity", "separability"));
  EXPECT_LT(mean_of_router(table, 2, "identity", "separability"), 0.75);
  EXPECT_LT(mean_of_router(table, 2, "cut-0", "separability"), 0.75);
  EXPECT_EQ(row_with(table, {{"layer", 2}, {"router", "identity"}}).at("n"), 5);

  capture.classes.assign(capture.classes.size(), 0);
  capture.classes[3] = 1;
  write_routed_capture(folder_ / "few.h5", capture);
  EXPECT_THAT(refusal("counterfactual few.h5", 1), HasSubstr("was"));
  capture.classes.assign(capture.classes.size(), 0);
  write_routed_capture(folder_ / "one.h5", capture);
  EXPECT_THAT(refusal("counterfactual one.h5", 1), HasSubstr("contains only one class"));
}

TEST_F(CounterfactualCommandTest, ResultsDoNotDependOnThreadsOrBlocks) {
  write_lime();
  const std::string command = "counterfactual lime.h5 --seed 3 --draws 3 --threads ";
  const Json one = rows(command + "1");
  EXPECT_EQ(difference(one, rows(command + "4")), "");
  EXPECT_NE(difference(one, rows("counterfactual lime.h5 --seed 4 --draws 3")), "");
}

TEST_F(CounterfactualCommandTest, StatisticsAreThoseOfTheWholeCapture) {
  const RoutedCapture capture = write_lime();
  const Json table = rows("counterfactual lime.h5 --router identity --max-sequences 1 --layer 1");
  const MatrixF routed = routed_values(capture, 1, capture.routers[1]).cast<float>();
  const Standardization standardization = make_standardization(testing::statistics_of(routed));
  EXPECT_NEAR(mean_of_router(table, 1, "trained", "entropy"),
              matrix_renyi_entropy(standardize(routed.topRows(kLengths[0]), standardization), 0.5),
              1e-6);
  EXPECT_EQ(row_with(table, {{"layer", 1}, {"router", "trained"}, {"quantity", "entropy"}}).at("n"),
            1);
}

TEST_F(CounterfactualCommandTest, PrintsRoutersOverAllLayersFirst) {
  write_lime();
  const std::string text = run("counterfactual lime.h5").output;
  EXPECT_THAT(text,
              HasSubstr("routed values of lime under counterfactual routers, one layer at a time"));
  EXPECT_THAT(text, HasSubstr("the trained router reproduces the captured routed values to "));
  EXPECT_THAT(text, HasSubstr("entropy: difference of routed and own-layer values "));
  EXPECT_THAT(text, HasSubstr("entropy, mean over layers from 1 on"));
  EXPECT_THAT(text, HasSubstr("difference to trained"));
  EXPECT_THAT(text, HasSubstr("effective rank of lime, by layer"));
  EXPECT_THAT(run("counterfactual lime.h5 --format latex").output, HasSubstr("\\toprule"));
  EXPECT_THAT(run("counterfactual lime.h5 --max-sequences 1").output,
              HasSubstr(fmt::format("lime: 1 sequences, {} tokens, lime.h5 (the first of {} ",
                                    kLengths[0], kLengths.size())));
}

TEST_F(CounterfactualCommandTest, RefusesCapturesThatCannotTell) {
  EXPECT_EQ(refusal("counterfactual", 1),
            "lime-metrics: 'capture.h5': no such file; give the path of a capture, or write one "
            "with lime-capture\n");
  RoutedCapture capture = write_lime();
  write_llama();
  EXPECT_EQ(
      refusal("counterfactual llama.h5", 1),
      "lime-metrics: 'llama.h5': contains no routers to replace, its model is 'llama'; give the "
      "capture of a LIMe, and that of a plain transformer with --against\n");
  write_routed_capture(folder_ / "some.h5", capture, {0, 2});
  EXPECT_EQ(refusal("counterfactual some.h5", 1),
            "lime-metrics: 'some.h5': lacks values of layer 1, but the router of layer 2 reads all "
            "layers below; capture again with --sites values --layers all\n");
  EXPECT_EQ(run("counterfactual some.h5 --layer 0").status, 0);
  EXPECT_THAT(
      refusal("counterfactual lime.h5 --site keys", 1),
      HasSubstr("unknown site 'keys' (its sites: values, routed_values); capture again with "
                "--sites keys"));
  EXPECT_EQ(refusal("counterfactual lime.h5 --site attn", 1),
            "lime-metrics: --site: the routers of 'lime' mix values, keys, got 'attn'\n");
  RoutedCapture pooled = capture;
  pooled.pooled = true;
  pooled.lengths.assign(static_cast<std::size_t>(capture.num_rows()), 1);
  write_routed_capture(folder_ / "pooled.h5", pooled);
  EXPECT_EQ(refusal("counterfactual pooled.h5", 1),
            "lime-metrics: 'pooled.h5': contains one row per sequence (--rows mean), but routed "
            "values need one per token; capture again with --rows tokens\n");
  RoutedCapture other = capture;
  other.routers.clear();
  other.first_token = 100;
  write_routed_capture(folder_ / "other.h5", other);
  EXPECT_EQ(
      refusal("counterfactual lime.h5 --against other.h5", 1),
      "lime-metrics: 'lime.h5' and 'other.h5': contain different tokens, but the gap compares the "
      "same tokens in two models; capture both with the same text and tokenizer\n");
  write_routed_capture(folder_ / "again.h5", capture);
  EXPECT_EQ(refusal("counterfactual lime.h5 --against again.h5", 1),
            "lime-metrics: 'again.h5': --against expects the capture of a plain transformer, but "
            "this one contains routers\n");
  capture.values[2](33, 1) = std::nanf("");
  write_routed_capture(folder_ / "nan.h5", capture);
  EXPECT_EQ(refusal("counterfactual nan.h5", 1),
            "lime-metrics: 'nan.h5': site 'values', layer 2: values of layer 2 must be finite, got "
            "nan in sequence 1, position 3, dimension 1; check the model for overflow, or capture "
            "in a wider type\n");
}

TEST_F(CounterfactualCommandTest, RoutesPerDimensionWhereRoutersAreSo) {
  RoutedCapture capture = random_routed_capture(small_config("lime"), kLengths, 7);
  capture.config["lime"] = {{"router", "full"}, {"per_dimension", true}};
  draw_router_dimensions(capture, 4);
  write_routed_capture(folder_ / "wide.h5", capture);
  const Json table = rows("counterfactual wide.h5 --router identity,unsigned,last-1,permuted");
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto number = static_cast<int>(layer);
    const std::vector<MatrixD>& trained = capture.router_dimensions[layer];
    const auto expect = [&](const std::string& router, const std::vector<MatrixD>& weights) {
      const MatrixF routed = routed_values(capture, layer, weights).cast<float>();
      EXPECT_NEAR(mean_of_router(table, number, router, "entropy"), entropy_of_rows(routed, 0.5),
                  1e-6)
          << router << layer;
    };
    expect("trained", trained);
    expect("identity", std::vector<MatrixD>(trained.size(), [&] {
             MatrixD identity = MatrixD::Zero(2, trained[0].cols());
             identity.rightCols(2).setIdentity();
             return identity;
           }()));
    std::vector<MatrixD> weights = trained;
    for (MatrixD& part : weights) part = part.cwiseAbs();
    expect("unsigned", weights);
    weights = trained;
    for (MatrixD& part : weights) part.leftCols(part.cols() - 2).setZero();
    expect("last-1", weights);
    const Json row =
        row_with(table, {{"layer", number}, {"router", "trained"}, {"quantity", "entropy"}});
    EXPECT_LT(row.at("deviation").get<double>(), 2e-7);
  }
}

TEST_F(CounterfactualCommandTest, RefusesCapturesWithoutTheWeightsOfTokensAndMeansOfDimensions) {
  RoutedCapture capture = random_routed_capture(small_config("lime"), kLengths, 7);
  capture.config["lime"] = {{"router", "full"}, {"per_dimension", true}};
  write_routed_capture(folder_ / "wide.h5", capture);
  EXPECT_EQ(refusal("counterfactual wide.h5", 1),
            "lime-metrics: 'wide.h5': contains only the means of routers that have a weight per "
            "dimension of a head; capture again\n");
  capture.config["lime"] = {{"router", "full"}, {"dynamic", true}};
  capture.routers.clear();
  write_routed_capture(folder_ / "dynamic.h5", capture);
  EXPECT_EQ(refusal("counterfactual dynamic.h5", 1),
            "lime-metrics: 'dynamic.h5': lacks attn.hook_route of layer 2, but the router of layer "
            "2 reads all layers below; capture again with --sites values,attn.hook_route --layers "
            "all\n");
}

TEST_F(CounterfactualCommandTest, RefusesRoutersAndNumbersThatDoNotExist) {
  write_lime();
  EXPECT_EQ(refusal("counterfactual lime.h5 --router identiy", 2),
            "lime-metrics: --router: expected trained, identity, last-J, first-J, top-K, unsigned, "
            "permuted, random, mean, shuffled or cut-L with J, K >= 1, L >= 0, got 'identiy'; see "
            "lime-metrics counterfactual --help\n");
  EXPECT_EQ(refusal("counterfactual lime.h5 --router cut-3", 1),
            "lime-metrics: --router: cut-3 must name a layer from 0 to 2\n");
  EXPECT_THAT(refusal("counterfactual lime.h5 --draws 0", 2),
              HasSubstr("--draws: must be from 1 to 10000, got 0"));
  EXPECT_THAT(refusal("counterfactual lime.h5 --preset seq-vcr", 2),
              HasSubstr("preset: must be lime-code or raw"));
  EXPECT_THAT(refusal("counterfactual lime.h5 --folds 1", 2), HasSubstr("--folds: must be >= 2"));
  EXPECT_THAT(refusal("counterfactual lime.h5 --alpha 0", 2), HasSubstr("alpha"));
  EXPECT_THAT(refusal("counterfactual lime.h5 --layer 9", 1), HasSubstr("layer 9 does not exist"));
}

}  // namespace
}  // namespace lime
