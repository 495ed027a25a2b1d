// SPDX-License-Identifier: Apache-2.0
#include "analysis/lens/lens_analysis.h"

#include "analysis/engine/capture_rows.h"
#include "analysis/engine/outlier_rows.h"
#include "analysis/lens/lens_results.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/parameters.h"
#include "core/program/suggest.h"
#include "metrics/lens/tuned_lens.h"

namespace lime {
namespace {

constexpr auto kStored = static_cast<std::size_t>(kLensMeasures);

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
  const DecoderSpec& spec = config.spec;
  OutputHead head{.norm = OutputHead::Norm::kNone,
                  .eps = spec.norm.eps,
                  .weight = {},
                  .bias = {},
                  .projection = {},
                  .divisor = spec.logits_divisor,
                  .softcap = spec.logits_softcap};
  if (spec.has_final_norm) {
    head.norm = spec.norm.kind == NormKind::kLayerNorm ? OutputHead::Norm::kLayerNorm
                                                       : OutputHead::Norm::kRms;
  }
  const Part head_part = config.tie_word_embeddings ? Part::kEmbedding : Part::kHead;
  for (const ParameterSpec& parameter : parameter_specs(config)) {
    throw_if(parameter.part == Part::kFinalRouter || parameter.part == Part::kProjectOut ||
                 config.routing == DepthRouting::kHyperConnections,
             OptionName("tuned"),
             "'{}' does not project the residual stream of its last layer; omit --tuned",
             config.name());
    const bool is_bias = parameter.index == 1;
    if (parameter.part == head_part && !is_bias) {
      head.projection = checkpoint.read_matrix(parameter.name);
    }
    const bool is_norm = parameter.part == Part::kFinalNorm;
    if (!is_norm && !(parameter.part == Part::kHead && is_bias)) continue;
    Eigen::RowVectorXf& values = !is_norm  ? head.projection_bias
                                 : is_bias ? head.bias
                                           : head.weight;
    values.resize(parameter.shape.front());
    checkpoint.read(parameter.name, {values.data(), static_cast<std::size_t>(values.size())});
  }
  if (spec.norm.kind == NormKind::kRmsPlusOne) head.weight.array() += 1.0F;
  return head;
}

/// Rows of one capture that are not measured.
class SkippedRows {
 public:
  SkippedRows(const CaptureReader& capture, const std::vector<bool>& skipped)
      : offsets_(capture.offsets()), skipped_(skipped) {}

  /// Returns the rows of a sequence that are measured, of the first rows of it.
  template <typename Matrix> Matrix without(Matrix rows, std::int64_t sequence) const {
    if (skipped_.empty()) return rows;
    Eigen::Index kept = 0;
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      const auto at = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(sequence)] + r);
      if (!skipped_[at]) rows.row(kept++) = rows.row(r);
    }
    rows.conservativeResize(kept, Eigen::NoChange);
    return rows;
  }

 private:
  const std::vector<std::int64_t>& offsets_;
  const std::vector<bool>& skipped_;  ///< of each row; empty: none
};

/// Reads the first five measures of each token of a sequence.
using RowsOf = std::function<MatrixD(std::int64_t sequence)>;

/// Rows whose logits are computed at once.
constexpr Eigen::Index kBlockRows = 32;

/// Returns what reads the measures of a tuned lens for the tokens of a sequence that have a next
/// one, in the order of the stored columns: of the logits of an AffineMap from the `hidden` states
/// of a layer to those of the last one.
///
/// Sequences with even and odd numbers are measured with the map fitted to the others; the map of
/// the last layer is the identity.
/// Source: Belrose et al. (2023), arXiv:2303.08112, who train the maps with the KL divergence.
RowsOf tuned_lens(const ChosenCapture& capture, int layer, const OutputHead& head, double ridge,
                  const SkippedRows& skipped, const UnitContext& context) {
  const std::int64_t count = capture.num_sequences;
  const int last = capture.reader.layers("hidden").back();
  const SequenceSource from = token_sequences(capture.reader, "hidden", layer, count);
  const SequenceSource to = token_sequences(capture.reader, "hidden", last, count);
  std::array<AffineMoments, 2> others;  // for sequences with even and odd numbers
  context.pool.parallel_for(2, [&](std::int64_t parity) {
    MatrixF x, y;
    for (std::int64_t i = 1 - parity; i < count; i += 2) {
      throw_if_stopped(context.stop);
      from.read(i, x);
      to.read(i, y);
      others[static_cast<std::size_t>(parity)].add(skipped.without(x, i), skipped.without(y, i));
    }
  });
  const std::array maps = {AffineMap(others[0], ridge), AffineMap(others[1], ridge)};
  return [=, &capture, &head](std::int64_t i) {
    MatrixF x, y;
    from.read(i, x);
    to.read(i, y);
    MatrixD measures(x.rows() - 1, kStored);
    const std::span<const std::int32_t> tokens(capture.reader.rows().token);
    const std::int64_t first = capture.reader.offsets()[static_cast<std::size_t>(i)];
    for (Eigen::Index begin = 0; begin < measures.rows(); begin += kBlockRows) {
      const Eigen::Index rows = std::min(kBlockRows, measures.rows() - begin);
      const AffineMap& map = maps[static_cast<std::size_t>(i % 2)];
      const MatrixF final = head.logits(y.middleRows(begin, rows));
      const MatrixF own = layer == last ? final : head.logits(map.apply(x.middleRows(begin, rows)));
      measures.middleRows(begin, rows) =
          lens_measures(own, final,
                        tokens.subspan(static_cast<std::size_t>(first + begin + 1),
                                       static_cast<std::size_t>(rows)));
    }
    return measures;
  };
}

/// Returns what reads the stored logit lens of a sequence's tokens that have a next one.
RowsOf stored_lens(const ChosenCapture& capture, int layer) {
  const std::int64_t dim = capture.reader.dim(kLensSite, layer);
  throw_if<FormatError>(dim < static_cast<std::int64_t>(kStored),
                        "{}: {} must have at least {} values per token, got {}",
                        quoted_path(capture.reader), kLensSite, kStored, dim);
  const SequenceSource sequences =
      token_sequences(capture.reader, kLensSite, layer, capture.num_sequences);
  return [sequences](std::int64_t i) {
    MatrixF rows;
    sequences.read(i, rows);
    return MatrixD(rows.topLeftCorner(rows.rows() - 1, kStored).cast<double>());
  };
}

constexpr const char* kTunedSite = "tuned_lens";

struct LensShared {
  LensOptions options;
  std::vector<ChosenCapture> captures;
  std::optional<OutputHead> head;          ///< of the tuned lens
  std::vector<std::vector<bool>> skipped;  ///< rows of each capture that are not measured
};

std::vector<ChosenCapture> open_lenses(const LensOptions& lens) {
  const CaptureSetOptions& options = lens.captures;
  std::vector<ChosenCapture> captures = open_without_parts(options);
  if (!lens.tuned.empty()) {
    for (ChosenCapture& capture : captures) {
      select_site(capture, "hidden", options);
      capture.parts.front().site = kTunedSite;
      capture.reader.set_alias(kTunedSite, "hidden");
      skip_short_sequences(capture, "the logit lens");
      throw_if(capture.num_sequences < 2,
               "{}: --tuned needs at least 2 sequences: one to fit the lens, one to measure it",
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
    skip_short_sequences(capture, "the logit lens");
  }
  return captures;
}

LensItems measure_sequences(std::int64_t count, const RowsOf& rows_of, const SkippedRows& skipped,
                            const UnitContext& context) {
  LensItems items(count);
  context.pool.parallel_for(
      count, [&](std::int64_t i) { items.set(i, skipped.without(rows_of(i), i)); }, context.stop);
  return items;
}

UnitResult measure_layer(const LensShared& shared, const LayerPlace& place,
                         const UnitContext& context) {
  const ChosenCapture& capture = shared.captures[place.capture];
  const SkippedRows skipped(capture.reader, shared.skipped[place.capture]);
  const RowsOf rows_of = shared.head ? tuned_lens(capture, place.layer, *shared.head,
                                                  shared.options.ridge, skipped, context)
                                     : stored_lens(capture, place.layer);
  return lens_result(measure_sequences(capture.num_sequences, rows_of, skipped, context),
                     shared.options.summary);
}

void fill_report(Report& report, const LensShared& shared) {
  std::vector<std::string> inputs;
  for (const ChosenCapture& capture : shared.captures) {
    inputs.push_back(describe_sequences(capture));
  }
  fill_lens_report(report, inputs, shared.options.summary);
  if (!shared.head) return;
  report.notes.push_back(
      fmt::format("tuned lens: affine maps to the final hidden states by least squares (ridge "
                  "{:g}), fitted on the other half of the sequences",
                  shared.options.ridge));
}

}  // namespace

void LensOptions::describe(OptionList& list) {
  captures.describe_layers(list);
  captures.describe_skip_tokens(list);
  list.add("skip_massive", captures.skip_massive,
           "measure, and fit the tuned lens, without the tokens whose hidden states have at least "
           "this multiple of the median norm in a selected layer, > 1; needs the site hidden");
  captures.describe_max_sequences(list);
  list.add("tuned", tuned,
           "checkpoint: tuned lens of the site hidden, affine maps to the final hidden "
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
  shared->skipped.resize(shared->captures.size());
  if (options.captures.skip_massive) {
    shared->skipped = massive_rows_by("hidden", shared->captures, *options.captures.skip_massive);
  }
  Analysis analysis = analysis_of("lens", options, shared->captures);
  if (options.captures.skip_massive) {
    // Rows are not hidden, so that they would be reported as dominating.
    analysis.notes.clear();
    for (const ChosenCapture& capture : shared->captures) {
      std::ranges::copy(capture.notes, std::back_inserter(analysis.notes));
    }
  }
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    const ChosenCapture& capture = shared->captures[place.capture];
    unit.identity = capture.identity;
    unit.work = capture.num_sequences;
    unit.bytes = capture.num_sequences * kNumLensMeasures * 16 +
                 summary_bytes(kNumLensMeasures, options.summary);
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
