// SPDX-License-Identifier: Apache-2.0
#include "analysis/lens/lens_analysis.h"

#include <Eigen/Cholesky>
#include <array>
#include <cmath>

#include "analysis/engine/capture_rows.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/parameters.h"
#include "core/program/suggest.h"

namespace lime {
namespace {

/// Measures of a sequence; the first five are the stored columns.
constexpr std::array kMeasures = {"kl_to_final", "entropy", "agreement",
                                  "loss",        "rank",    "accuracy"};
constexpr std::size_t kStored = 5;

/// The final norm and the output projection of a decoder.
struct OutputHead {
  DecoderSpec spec;
  Eigen::RowVectorXf weight, bias;  ///< of the norm; empty: none
  MatrixF projection;               ///< [vocab, hidden]

  /// Returns the logits of residual streams, [rows, vocab].
  MatrixF logits(MatrixF rows) const {
    if (spec.has_final_norm) {
      if (spec.norm.kind == NormKind::kLayerNorm) rows.colwise() -= rows.rowwise().mean().eval();
      const auto squares = rows.cast<double>().rowwise().squaredNorm().array();
      const Eigen::ArrayXd sizes = (squares / double(rows.cols()) + spec.norm.eps).sqrt();
      rows.array().colwise() /= sizes.cast<float>();
    }
    if (weight.size() > 0) rows.array().rowwise() *= weight.array();
    if (bias.size() > 0) rows.rowwise() += bias;
    MatrixF logits = rows * projection.transpose() / static_cast<float>(spec.logits_divisor);
    if (!spec.logits_softcap) return logits;
    const auto cap = static_cast<float>(*spec.logits_softcap);
    return (logits.array() / cap).tanh() * cap;
  }
};

/// @throws InvalidArgument  if the final norm does not read the last layer's residual stream.
OutputHead head_of(const std::filesystem::path& folder,
                   const std::vector<ChosenCapture>& captures) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const ModelConfig& config = checkpoint.config();
  config.require_head("lens");
  for (const ChosenCapture& capture : captures) {
    check_same_checkpoint(capture.reader, checkpoint);
    throw_if(!capture.reader.has("hidden", static_cast<int>(config.num_hidden_layers) - 1),
             "{}: lacks hidden of layer {}, the last one; capture again with --layers all",
             quoted_path(capture.reader), config.num_hidden_layers - 1);
  }
  OutputHead head{config.spec, {}, {}, {}};
  const Part head_part = config.tie_word_embeddings ? Part::kEmbedding : Part::kHead;
  for (const ParameterSpec& parameter : parameter_specs(config)) {
    throw_if(parameter.part == Part::kFinalRouter || parameter.part == Part::kProjectOut ||
                 config.routing == DepthRouting::kHyperConnections,
             "tuned: '{}' does not project the residual stream of its last layer; omit --tuned",
             config.name());
    if (parameter.part == head_part) head.projection = checkpoint.read_matrix(parameter.name);
    if (parameter.part != Part::kFinalNorm) continue;
    Eigen::RowVectorXf& values = parameter.index == 0 ? head.weight : head.bias;
    values.resize(config.hidden_size);
    checkpoint.read(parameter.name, {values.data(), static_cast<std::size_t>(values.size())});
  }
  if (config.spec.norm.kind == NormKind::kRmsPlusOne) head.weight.array() += 1.0F;
  return head;
}

/// Reads the first five measures of each token of a sequence.
using RowsOf = std::function<MatrixD(std::int64_t sequence)>;

/// Rows whose logits are computed at once.
constexpr Eigen::Index kBlockRows = 32;

/// Sums over the tokens of some sequences.
struct Moments {
  double count = 0.0;
  VectorD x, y;
  MatrixD xx, xy;

  void add(const MatrixD& from, const MatrixD& to) {
    if (count == 0.0) {
      x = y = VectorD::Zero(from.cols());
      xx = xy = MatrixD::Zero(from.cols(), from.cols());
    }
    count += static_cast<double>(from.rows());
    x += from.colwise().sum();
    y += to.colwise().sum();
    xx.noalias() += from.transpose() * from;
    xy.noalias() += from.transpose() * to;
  }
};

struct AffineMap {
  MatrixD matrix;
  VectorD offset;

  AffineMap(const Moments& sums, double ridge) {
    const VectorD mean = sums.x / sums.count;
    MatrixD covariance = sums.xx - sums.x * mean.transpose();
    covariance.diagonal().array() += ridge * covariance.trace() / static_cast<double>(mean.size());
    matrix = covariance.ldlt().solve(sums.xy - mean * sums.y.transpose());
    offset = sums.y / sums.count - matrix.transpose() * mean;
  }
  MatrixF apply(const MatrixF& rows) const {
    return ((rows.cast<double>() * matrix).rowwise() + offset.transpose()).cast<float>();
  }
};

struct Distribution {
  Eigen::ArrayXd logs;
  Eigen::Index largest = 0;

  explicit Distribution(const Eigen::Ref<const Eigen::RowVectorXf>& logits) {
    logs = logits.transpose().cast<double>().array() - double(logits.maxCoeff(&largest));
    logs -= std::log(logs.exp().sum());
  }
};

/// Returns what reads the measures of a tuned lens for the tokens of a sequence that have a next
/// one, in the order of the stored columns: of the logits of X A + b, the affine map from the
/// `hidden` states X of a layer to those of the last one, Y, with the least squared error,
///
///   A = (C + ridge tr(C) / hidden I)^-1 Xc^T Yc,    C = Xc^T Xc,    Xc, Yc: centred
///
/// Sequences with even and odd numbers are measured with the map fitted to the others; the map of
/// the last layer is the identity.
/// Source: Belrose et al. (2023), arXiv:2303.08112, who train the maps with the KL divergence.
RowsOf tuned_lens(const ChosenCapture& capture, int layer, const OutputHead& head, double ridge,
                  const UnitContext& context) {
  const std::int64_t count = capture.num_sequences;
  const int last = capture.reader.layers("hidden").back();
  const SequenceSource from = token_sequences(capture.reader, "hidden", layer, count);
  const SequenceSource to = token_sequences(capture.reader, "hidden", last, count);
  std::array<Moments, 2> others;  // for sequences with even and odd numbers
  context.pool.parallel_for(2, [&](std::int64_t parity) {
    MatrixF x, y;
    for (std::int64_t i = 1 - parity; i < count; i += 2) {
      throw_if_stopped(context.stop);
      from.read(i, x);
      to.read(i, y);
      others[static_cast<std::size_t>(parity)].add(x.cast<double>(), y.cast<double>());
    }
  });
  const std::array maps = {AffineMap(others[0], ridge), AffineMap(others[1], ridge)};
  return [=, &capture, &head](std::int64_t i) {
    MatrixF x, y;
    from.read(i, x);
    to.read(i, y);
    MatrixD measures(x.rows() - 1, kStored);
    const std::int64_t first = capture.reader.offsets()[static_cast<std::size_t>(i)];
    for (Eigen::Index begin = 0; begin < measures.rows(); begin += kBlockRows) {
      const Eigen::Index rows = std::min(kBlockRows, measures.rows() - begin);
      const AffineMap& map = maps[static_cast<std::size_t>(i % 2)];
      const MatrixF final = head.logits(y.middleRows(begin, rows));
      const MatrixF own = layer == last ? final : head.logits(map.apply(x.middleRows(begin, rows)));
      for (Eigen::Index r = 0; r < rows; ++r) {
        const Distribution q(own.row(r));
        const Distribution p(final.row(r));
        const auto next_row = static_cast<std::size_t>(first + begin + r + 1);
        const double right = q.logs(capture.reader.rows().token[next_row]);
        measures.row(begin + r) << std::max(0.0, (p.logs.exp() * (p.logs - q.logs)).sum()),
            -(q.logs.exp() * q.logs).sum(), q.largest == p.largest ? 1.0 : 0.0, -right,
            1.0 + double((q.logs > right).count());
      }
    }
    return measures;
  };
}

/// Returns what reads the stored logit lens of a sequence's tokens that have a next one.
RowsOf stored_lens(const ChosenCapture& capture, int layer) {
  const std::int64_t dim = capture.reader.dim(kLensSite, layer);
  throw_if<FormatError>(dim != static_cast<std::int64_t>(kStored),
                        "{}: {} must have {} values per token, got {}", quoted_path(capture.reader),
                        kLensSite, kStored, dim);
  const SequenceSource sequences =
      token_sequences(capture.reader, kLensSite, layer, capture.num_sequences);
  return [sequences](std::int64_t i) {
    MatrixF rows;
    sequences.read(i, rows);
    return MatrixD(rows.topRows(rows.rows() - 1).cast<double>());
  };
}

constexpr const char* kTunedSite = "tuned_lens";

struct LensShared {
  LensOptions options;
  std::vector<ChosenCapture> captures;
  std::optional<OutputHead> head;  ///< of the tuned lens
};

std::vector<ChosenCapture> open_lenses(const LensOptions& lens) {
  const CaptureSetOptions& options = lens.captures;
  std::vector<ChosenCapture> captures = open_without_parts(options);
  if (!lens.tuned.empty()) {
    for (ChosenCapture& capture : captures) {
      select_site(capture, "hidden", options);
      capture.parts.front().site = kTunedSite;
      capture.reader.set_alias(kTunedSite, "hidden");
      throw_if(capture.num_sequences < 2,
               "{}: --tuned needs at least 2 sequences, to fit the lens on others than it is "
               "measured on",
               quoted_path(capture.reader));
    }
    return captures;
  }
  for (ChosenCapture& capture : captures) {
    const std::vector<std::string>& sites = capture.reader.sites();
    throw_if(std::ranges::find(sites, kLensSite) == sites.end(),
             "{}: contains no logit lens (its sites: {}); capture again with --sites hidden,{}",
             quoted_path(capture.reader), join_words(sites), kLensSite);
    select_site(capture, kLensSite, options);
  }
  return captures;
}

std::vector<std::vector<double>> measure_sequences(std::int64_t count, const RowsOf& rows_of,
                                                   const UnitContext& context) {
  std::vector<std::vector<double>> values(kMeasures.size(),
                                          std::vector<double>(static_cast<std::size_t>(count)));
  context.pool.parallel_for(
      count,
      [&](std::int64_t i) {
        const MatrixD rows = rows_of(i);
        const auto at = static_cast<std::size_t>(i);
        for (std::size_t m = 0; m < kStored; ++m) {
          values[m][at] = rows.col(static_cast<Eigen::Index>(m)).mean();
        }
        values[kStored][at] = (rows.col(kStored - 1).array() == 1.0).cast<double>().mean();
      },
      context.stop);
  return values;
}

UnitResult measure_layer(const LensShared& shared, const LayerPlace& place,
                         const UnitContext& context) {
  const ChosenCapture& capture = shared.captures[place.capture];
  std::vector<std::vector<double>> values = measure_sequences(
      capture.num_sequences,
      shared.head ? tuned_lens(capture, place.layer, *shared.head, shared.options.ridge, context)
                  : stored_lens(capture, place.layer),
      context);
  RowSummaries summaries(shared.options.summary);
  UnitResult result;
  for (std::size_t m = 0; m < kMeasures.size(); ++m) {
    result.rows.push_back({{col::kMeasure, kMeasures[m]}, {col::kOver, "sequences"}});
    summaries.add_mean(result.rows.back(), m, values[m]);
    result.samples.push_back({.key = {{col::kMeasure, kMeasures[m]}},
                              .quantity = kMeasures[m],
                              .items = "sequences",
                              .values = std::move(values[m])});
  }
  summaries.fill(result.rows);
  return result;
}

void fill_report(Report& report, const LensShared& shared) {
  report.layout.ceiling = {};
  if (shared.captures.size() == 1) {
    report.layout.series = col::kMeasure;
  } else {
    report.layout.block = {col::kSite, col::kMeasure};
  }
  for (const ChosenCapture& capture : shared.captures) {
    report.notes.push_back(describe_sequences(capture));
  }
  report.notes.emplace_back(
      "next-token distribution of each layer's residual stream: KL(final || layer) and entropy in "
      "nats,");
  report.notes.emplace_back(
      "same most probable token as the final layer, loss (nats), rank and accuracy of the next "
      "token");
  if (shared.head) {
    report.notes.push_back(
        fmt::format("tuned lens: affine maps to the final hidden states by least squares (ridge "
                    "{:g}), fitted on the other half of the sequences",
                    shared.options.ridge));
  }
  report.legend = "cells: mean, standard deviation over sequences of their means over tokens" +
                  interval_legend(shared.options.summary);
}

}  // namespace

void LensOptions::describe(OptionList& list) {
  captures.describe_layers(list);
  captures.describe_skip(list);
  captures.describe_max_sequences(list);
  list.add("tuned", tuned,
           "checkpoint folder: tuned lens of the site hidden, affine maps to the final hidden "
           "states, fitted by least squares on other sequences than they are measured on");
  list.add("ridge", ridge,
           "ridge of the tuned lens, relative to the mean variance of a dimension, > 0");
  summary.describe(list);
}

void LensOptions::validate() const {
  captures.validate();
  check_option(ridge > 0.0, "ridge", "> 0", ridge);
  summary.validate("bootstrap");
}

Analysis prepare_lens(const LensOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<LensShared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_lenses(options);
  if (!options.tuned.empty()) shared->head = head_of(options.tuned, shared->captures);
  for (const ChosenCapture& capture : shared->captures) {
    check_token_sequences(capture.reader, capture.num_sequences, "the logit lens");
  }
  Analysis analysis = analysis_of("lens", options, shared->captures);
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    const ChosenCapture& capture = shared->captures[place.capture];
    unit.identity = capture.identity;
    unit.work = capture.num_sequences;
    unit.bytes = capture.num_sequences * std::ssize(kMeasures) * 16 +
                 summary_bytes(std::ssize(kMeasures), options.summary);
    if (shared->head) {
      const std::int64_t dim = shared->head->projection.cols();
      unit.bytes += 10 * dim * dim * 8;
      unit.bytes_per_thread = 32 * shared->head->projection.rows() * 16;
    }
    unit.bytes_per_thread += longest_sequence(capture.reader, capture.num_sequences) *
                             static_cast<std::int64_t>(kStored) * 12;
    unit.measure = [shared, place](const UnitContext& context) {
      return measure_layer(*shared, place, context);
    };
  });
  analysis.threads = UnitThreads::kInside;
  analysis.present = [shared](Report& report, auto) { fill_report(report, *shared); };
  return analysis;
}

}  // namespace lime
