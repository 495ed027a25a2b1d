// SPDX-License-Identifier: Apache-2.0
// Compares with scikit-learn and PyTorch: tests/golden/make_probe_goldens.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "core/threads/thread_pool.h"
#include "metrics/probes/adam_probe.h"
#include "metrics/probes/folds.h"
#include "metrics/probes/probe.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAreArray;

const Json& golden() {
  static const Json json = read_json_file(testing::golden_file("probes.json"));
  return json;
}

MatrixF matrix(const Json& values, Eigen::Index cols) {
  const auto flat = values.get<std::vector<float>>();
  return Eigen::Map<const MatrixF>(flat.data(), static_cast<Eigen::Index>(flat.size()) / cols,
                                   cols);
}

MatrixF rows_of(const Json& item) { return matrix(item.at("rows"), item.at("dim").get<int>()); }

std::vector<int> ints(const Json& values) { return values.get<std::vector<int>>(); }

FoldKind kind_of(const Json& item) {
  return enum_value<FoldKind>(item.at("kind").get<std::string>(), "kind");
}

TEST(ProbeGoldenTest, FitsEqualScikitLearn) {
  ThreadPool pool(2);
  for (const Json& item : golden().at("fits")) {
    const MatrixF rows = rows_of(item);
    const std::vector<int> classes = ints(item.at("classes"));
    for (const Json& expected : item.at("results")) {
      const std::string where =
          fmt::format("{} x {}, {}", rows.rows(), rows.cols(), expected.at("c").dump());
      const LogisticTask task{.classes = classes,
                              .train = {},
                              .num_classes = item.at("num_classes").get<int>(),
                              .c = expected.at("c").get<double>()};
      const LogisticOptions options{.scaling = expected.at("standardize").get<bool>()
                                                   ? FeatureScaling::kStandardize
                                                   : FeatureScaling::kNone,
                                    .tolerance = 1e-10};
      const LogisticFit fit = fit_logistic(rows, {&task, 1}, options, pool).front();
      const auto objective = expected.at("objective").get<double>();
      EXPECT_NEAR(fit.objective, objective, 1e-8 * objective) << where;
      EXPECT_TRUE(fit.converged) << where << " gradient " << fit.gradient_norm;
      const auto flat = expected.at("coefficients").get<std::vector<double>>();
      const MatrixD coefficients = Eigen::Map<const MatrixD>(
          flat.data(), static_cast<Eigen::Index>(flat.size()) / rows.cols(), rows.cols());
      ASSERT_EQ(fit.coefficients.rows(), coefficients.rows());
      EXPECT_LE((fit.coefficients - coefficients).norm(), 1e-4 * coefficients.norm()) << where;
      const auto intercepts = expected.at("intercepts").get<std::vector<double>>();
      const auto size = static_cast<Eigen::Index>(intercepts.size());
      VectorD difference = fit.intercepts - Eigen::Map<const VectorD>(intercepts.data(), size);
      // Softmax is invariant to a constant added to all intercepts, which are not penalised.
      if (size > 1) difference.array() -= difference.mean();
      EXPECT_LE(difference.norm(), 1e-4 * (1.0 + fit.intercepts.norm())) << where;
    }
  }
}

TEST(ProbeGoldenTest, FoldsScoreAsInScikitLearn) {
  ThreadPool pool(2);
  const Json& item = golden().at("cross_validation");
  const MatrixF rows = rows_of(item);
  const std::vector<int> classes = ints(item.at("classes"));
  for (const Json& expected : item.at("results")) {
    const Folds folds =
        make_folds(classes, ints(item.at("groups")),
                   {.kind = kind_of(expected), .seed = expected.at("seed").get<std::uint64_t>()});
    const ProbeResult probe = cross_validate({rows, classes, 3}, folds, {}, pool);
    ASSERT_EQ(probe.folds.size(), 5U);
    for (std::size_t f = 0; f < 5; ++f) {
      EXPECT_EQ(probe.folds[f].accuracy, expected.at("accuracy")[f].get<double>());
      EXPECT_NEAR(probe.folds[f].log_loss, expected.at("log_loss")[f].get<double>(), 1e-6);
      const MatrixD confusion = probe.folds[f].confusion.cast<double>();
      EXPECT_THAT(std::vector<double>(confusion.data(), confusion.data() + 9),
                  ElementsAreArray(expected.at("confusion")[f].get<std::vector<double>>()));
    }
  }
}

TEST(ProbeGoldenTest, FoldsAreThoseOfScikitLearn) {
  for (const Json& expected : golden().at("folds")) {
    const Folds folds = make_folds(ints(expected.at("classes")), ints(expected.at("groups")),
                                   {.kind = kind_of(expected),
                                    .num_folds = expected.at("num_folds").get<int>(),
                                    .shuffle = expected.at("shuffle").get<bool>(),
                                    .seed = expected.at("seed").get<std::uint64_t>()});
    EXPECT_THAT(folds.fold_of_row, ElementsAreArray(ints(expected.at("fold_of_row"))))
        << expected.at("kind") << " shuffle " << expected.at("shuffle");
  }
}

TEST(ProbeGoldenTest, AdamStepsAsPyTorch) {
  const Json& item = golden().at("adam");
  const MatrixF rows = rows_of(item);
  const std::vector<int> classes = ints(item.at("classes"));
  const std::vector<int> order = ints(item.at("order"));
  LinearLayer layer{matrix(item.at("weight"), 9), matrix(item.at("bias"), 3).transpose()};
  AdamTraining training(layer, {.batch_size = item.at("batch_size").get<int>()});
  for (const Json& accuracy : item.at("accuracy")) {
    EXPECT_NEAR(training.run({rows, classes, 3}, order), accuracy.get<double>(), 1e-12);
  }
  // Twelve float32 steps with sums in another order.
  EXPECT_LE((layer.weight - matrix(item.at("final_weight"), 9)).cwiseAbs().maxCoeff(), 2e-6);
  EXPECT_LE((layer.bias.transpose() - matrix(item.at("final_bias"), 3)).cwiseAbs().maxCoeff(),
            2e-6);
}

}  // namespace
}  // namespace lime
