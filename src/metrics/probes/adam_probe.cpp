// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/adam_probe.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "metrics/rows.h"

namespace lime {
namespace {

/// torch.optim.Adam for one tensor with default betas and epsilon, in float32.
class Adam {
 public:
  Adam(Eigen::Index size, double learning_rate)
      : mean_(Eigen::ArrayXf::Zero(size)),
        square_(Eigen::ArrayXf::Zero(size)),
        learning_rate_(learning_rate) {}

  template <typename Values, typename Gradient>
  void step(Values&& values, const Gradient& gradient) {
    constexpr double kBeta1 = 0.9;
    constexpr double kBeta2 = 0.999;
    constexpr float kEpsilon = 1e-8F;
    ++steps_;
    mean_ += static_cast<float>(1.0 - kBeta1) * (gradient - mean_);
    square_ =
        static_cast<float>(kBeta2) * square_ + static_cast<float>(1.0 - kBeta2) * gradient.square();
    const double step = learning_rate_ / (1.0 - std::pow(kBeta1, steps_));
    const auto correction = static_cast<float>(std::sqrt(1.0 - std::pow(kBeta2, steps_)));
    values -= static_cast<float>(step) * mean_ / (square_.sqrt() / correction + kEpsilon);
  }

 private:
  Eigen::ArrayXf mean_, square_;
  double learning_rate_;
  int steps_ = 0;
};

MatrixF logits_of(const LinearLayer& layer, const MatrixF& batch) {
  MatrixF logits = batch * layer.weight.transpose();
  logits.rowwise() += layer.bias.transpose();
  return logits;
}

std::int64_t count_right(const MatrixF& logits, const ProbeData& data,
                         std::span<const int> indices) {
  std::int64_t right = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Eigen::Index best = 0;
    logits.row(static_cast<Eigen::Index>(i)).maxCoeff(&best);
    if (best == data.classes[static_cast<std::size_t>(indices[i])]) ++right;
  }
  return right;
}

/// Computes the gradient of the mean cross-entropy with respect to the logits, in place.
void to_logit_gradient(MatrixF& logits, const ProbeData& data, std::span<const int> indices) {
  const auto count = static_cast<float>(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    auto row = logits.row(static_cast<Eigen::Index>(i));
    row = (row.array() - row.maxCoeff()).exp().matrix();
    row /= row.sum();
    row[data.classes[static_cast<std::size_t>(indices[i])]] -= 1.0F;
    row /= count;
  }
}

/// Calls f(indices) for each batch of `order`; the last may be smaller.
template <typename F> void for_batches(std::span<const int> order, int batch_size, const F& f) {
  const auto size = static_cast<std::size_t>(batch_size);
  for (std::size_t first = 0; first < order.size(); first += size) {
    f(order.subspan(first, std::min(size, order.size() - first)));
  }
}

LinearLayer initial_layer(int num_classes, Eigen::Index dim, Random& random) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(dim));
  LinearLayer layer{MatrixF(num_classes, dim), Eigen::VectorXf(num_classes)};
  const auto draw = [&] { return static_cast<float>(random.uniform(-bound, bound)); };
  std::generate_n(layer.weight.data(), layer.weight.size(), draw);
  std::generate_n(layer.bias.data(), layer.bias.size(), draw);
  return layer;
}

AdamProbeFold run_fold(const ProbeData& data, const Folds& folds, int fold,
                       const AdamProbeOptions& options, const std::stop_token& stop) {
  std::vector<int> train, test;
  for (std::size_t i = 0; i < folds.fold_of_row.size(); ++i) {
    (folds.fold_of_row[i] == fold ? test : train).push_back(static_cast<int>(i));
  }
  if (train.empty()) throw InvalidArgument("probe: a fold has no training rows");
  Random random = Random(options.seed).fork(static_cast<std::uint64_t>(fold));
  LinearLayer layer = initial_layer(data.num_classes, data.rows.cols(), random);
  AdamTraining training(layer, options);
  AdamProbeFold result;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    throw_if_stopped(stop);
    random.shuffle(std::span<int>(train));
    result.train_accuracy = training.run(data, train);
  }
  std::int64_t right = 0;
  double sum = 0.0;
  int batches = 0;
  for_batches(test, options.batch_size, [&](std::span<const int> indices) {
    const std::int64_t of_batch =
        count_right(logits_of(layer, gather_rows(data.rows, indices)), data, indices);
    right += of_batch;
    sum += static_cast<double>(of_batch) / static_cast<double>(indices.size());
    ++batches;
  });
  result.num_train = static_cast<std::int64_t>(train.size());
  result.num_test = static_cast<std::int64_t>(test.size());
  result.accuracy = batches == 0 ? 0.0 : sum / batches;
  result.row_accuracy =
      test.empty() ? 0.0 : static_cast<double>(right) / static_cast<double>(test.size());
  return result;
}

}  // namespace

struct AdamTraining::State {
  Adam weight, bias;
};

AdamTraining::AdamTraining(LinearLayer& layer, const AdamProbeOptions& options)
    : layer_(layer),
      options_(options),
      state_(std::make_unique<State>(State{Adam(layer.weight.size(), options.learning_rate),
                                           Adam(layer.bias.size(), options.learning_rate)})) {}
AdamTraining::~AdamTraining() = default;

double AdamTraining::run(const ProbeData& data, std::span<const int> order) {
  std::int64_t right = 0;
  for_batches(order, options_.batch_size, [&](std::span<const int> indices) {
    const MatrixF batch = gather_rows(data.rows, indices);
    MatrixF logits = logits_of(layer_, batch);
    right += count_right(logits, data, indices);
    to_logit_gradient(logits, data, indices);
    const MatrixF weight_gradient = logits.transpose() * batch;
    const Eigen::VectorXf bias_gradient = logits.colwise().sum().transpose();
    const Eigen::Map<const Eigen::ArrayXf> flat(weight_gradient.data(), weight_gradient.size());
    state_->weight.step(Eigen::Map<Eigen::ArrayXf>(layer_.weight.data(), layer_.weight.size()),
                        flat);
    state_->bias.step(layer_.bias.array(), bias_gradient.array());
  });
  return static_cast<double>(right) / static_cast<double>(order.size());
}

void AdamProbeOptions::validate() const {
  check_option(learning_rate > 0.0 && std::isfinite(learning_rate), "learning_rate",
               "> 0 and finite", learning_rate);
  if (epochs < 1) throw InvalidArgument(OptionName("epochs"), "must be > 0, got {}", epochs);
  if (batch_size < 1)
    throw InvalidArgument(OptionName("batch_size"), "must be > 0, got {}", batch_size);
}

std::vector<AdamProbeFold> cross_validate_adam(const ProbeData& data, const Folds& folds,
                                               const AdamProbeOptions& options, ThreadPool& pool,
                                               const std::stop_token& stop) {
  options.validate();
  throw_if(folds.num_rows() != data.rows.rows(), "probe: needs a fold for each of {} rows, got {}",
           data.rows.rows(), folds.num_rows());
  std::vector<AdamProbeFold> results(static_cast<std::size_t>(folds.num_folds));
  pool.parallel_for(
      folds.num_folds,
      [&](std::int64_t fold) {
        results[static_cast<std::size_t>(fold)] =
            run_fold(data, folds, static_cast<int>(fold), options, stop);
      },
      stop);
  return results;
}

}  // namespace lime
