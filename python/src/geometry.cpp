// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/geometry/clustered_mean.h"
#include "metrics/geometry/intrinsic_dimension.h"
#include "metrics/geometry/layer_change.h"
#include "metrics/geometry/layer_geometry.h"
#include "metrics/geometry/similarity.h"
#include "metrics/geometry/spectrum.h"
#include "metrics/geometry/token_profile.h"
#include "metrics/geometry/views.h"
#include "metrics/neighbors/neighbors.h"
#include "metrics/rows.h"
#include "metrics/summary.h"

namespace lime::python {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

double or_nan(const std::optional<double>& value) { return value.value_or(kUndefined); }

/// Sequences in the caller's memory as a source, and the first row of each.
struct MemorySequences {
  explicit MemorySequences(const std::vector<RowsF>& sequences) : rows(matrix_refs(sequences)) {
    for (const ConstMatrixRef& one : rows) offsets.push_back(offsets.back() + one.rows());
    source = {static_cast<std::int64_t>(rows.size()), [this](std::int64_t index, MatrixF& out) {
                out = rows[static_cast<std::size_t>(index)];
              }};
  }
  MemorySequences(const MemorySequences&) = delete;
  MemorySequences& operator=(const MemorySequences&) = delete;

  std::vector<ConstMatrixRef> rows;
  std::vector<std::int64_t> offsets = {0};
  SequenceSource source;
};

/// Returns one value of each sequence.
template <typename ValueOf>
nb::object per_sequence(const LayerGeometry& geometry, const ValueOf& value_of) {
  std::vector<double> values;
  for (const SequenceGeometry& one : geometry.sequences) values.push_back(value_of(one));
  return to_numpy(std::move(values));
}

template <typename ValueOf> void set_ranks(nb::dict& result, const ValueOf& value_of) {
  const auto rank = [](double SpectrumMeasures::*member) {
    return [member](const MeasuredSpectrum& spectrum) {
      return spectrum.ranks ? (*spectrum.ranks).*member : kUndefined;
    };
  };
  result["effective_rank"] = value_of(rank(&SpectrumMeasures::effective_rank));
  result["rankme"] = value_of(rank(&SpectrumMeasures::rankme));
  result["participation_ratio"] = value_of(
      [](const MeasuredSpectrum& spectrum) { return or_nan(spectrum.participation_ratio); });
  result["stable_rank"] = value_of(rank(&SpectrumMeasures::stable_rank));
  result["numerical_rank"] = value_of(rank(&SpectrumMeasures::numerical_rank));
}

nb::dict to_dict(const LayerGeometry& geometry, const LayerGeometryOptions& options) {
  nb::dict result;
  if (options.spectrum_of_rows) {
    set_ranks(result, [&](const auto& of) { return nb::cast(of(geometry.spectrum)); });
  }
  if (options.spectrum_of_sequences) {
    nb::dict ranks;
    set_ranks(ranks, [&](const auto& of) {
      return per_sequence(geometry, [&](const SequenceGeometry& one) { return of(one.spectrum); });
    });
    result["sequence_ranks"] = ranks;
  }
  if (options.similarity) {
    const auto add = [&](const char* name, std::optional<double> SequenceSimilarity::*member) {
      result[name] = per_sequence(geometry, [member](const SequenceGeometry& one) {
        return or_nan(one.similarity.*member);
      });
    };
    result["anisotropy"] = or_nan(geometry.directions.mean_cosine());
    result["anisotropy_centred"] = or_nan(geometry.centred_directions.mean_cosine());
    add("sequence_cosine", &SequenceSimilarity::mean_cosine);
    add("mean_token_similarity", &SequenceSimilarity::mean_token_similarity);
    add("rank_one_residual", &SequenceSimilarity::rank_one_residual);
    add("rank_one_residual_1inf", &SequenceSimilarity::rank_one_residual_1inf);
  }
  if (options.curvature) {
    result["curvature"] = per_sequence(
        geometry, [](const SequenceGeometry& one) { return or_nan(one.curvature.degrees); });
  }
  if (options.massive) {
    const auto add = [&](const char* name, double MassiveActivations::*member) {
      result[name] = per_sequence(
          geometry, [member](const SequenceGeometry& one) { return one.massive.*member; });
    };
    add("massive_share", &MassiveActivations::share);
    add("massive_token_share", &MassiveActivations::token_share);
    add("largest_to_median", &MassiveActivations::largest_ratio);
  }
  if (options.first_token) {
    const auto add = [&](const char* name, std::optional<double> FirstToken::*member) {
      result[name] = per_sequence(geometry, [member](const SequenceGeometry& one) {
        return or_nan(one.first_token.*member);
      });
    };
    add("first_norm_ratio", &FirstToken::norm_ratio);
    add("top_share", &FirstToken::top_share);
    add("top_share_rest", &FirstToken::top_share_rest);
  }
  if (options.spectrum_options.power_law) {
    const PowerLaw law = geometry.spectrum.power_law.value_or(
        PowerLaw{kUndefined, kUndefined, kUndefined, kUndefined});
    result["alpha_req"] = law.alpha;
    result["alpha_r2"] = law.r2;
    result["alpha_head"] = law.head;
    result["alpha_tail"] = law.tail;
  }
  return result;
}

nb::dict geometry(const std::vector<RowsF>& sequences, const std::optional<Column<double>>& centre,
                  bool rank_of_rows, bool rank_of_sequences, bool similarity, bool curvature,
                  bool massive, bool first_token,
                  std::optional<std::pair<std::int64_t, std::int64_t>> power_law,
                  const std::string& centering, double rankme_epsilon,
                  std::optional<double> rank_tolerance, double massive_threshold,
                  double massive_ratio, int threads) {
  LayerGeometryOptions options;
  options.spectrum_of_rows = rank_of_rows || power_law;
  options.spectrum_of_sequences = rank_of_sequences;
  options.similarity = similarity;
  options.curvature = curvature;
  options.massive = massive;
  options.first_token = first_token;
  options.centering = enum_value<Centering>(centering, "centering");
  options.spectrum_options = {.rankme_epsilon = rankme_epsilon, .rank_tolerance = rank_tolerance};
  if (power_law) {
    options.spectrum_options.power_law = PowerLawRange{power_law->first, power_law->second};
  }
  options.massive_options = {.threshold = massive_threshold, .ratio = massive_ratio};
  options.validate();
  const MemorySequences memory(sequences);
  const LayerGeometry measured =
      run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token& stop) {
        const VectorD mean = centre ? vector_of(*centre) : mean_of_rows(memory.source, pool, stop);
        return layer_geometry(memory.source, memory.offsets, mean, options, pool, {}, stop);
      });
  options.spectrum_of_rows = rank_of_rows;
  return to_dict(measured, options);
}

nb::dict dimension(const RowsF& rows, std::int64_t k, const std::string& two_nn_fit,
                   double two_nn_discard, const std::string& mle_average,
                   double duplicate_tolerance, int threads) {
  const IntrinsicDimensionOptions options = {
      .num_neighbors = k,
      .two_nn_fit = enum_value<TwoNnFit>(two_nn_fit, "two_nn_fit"),
      .two_nn_discard = two_nn_discard,
      .mle_average = enum_value<MleAverage>(mle_average, "mle_average"),
      .duplicate_tolerance = duplicate_tolerance};
  const ConstMatrixRef points = matrix_ref(rows);
  const IntrinsicDimension found =
      run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token& stop) {
        return intrinsic_dimension(points, options, pool, stop);
      });
  nb::dict result;
  result["two_nn"] = or_nan(found.two_nn);
  result["mle"] = or_nan(found.mle);
  result["gride"] = or_nan(found.gride);
  result["gride_scale"] = found.gride_scale;
  result["points"] = found.points;
  result["duplicates"] = found.duplicates;
  result["recall"] = found.recall;
  return result;
}

nb::dict views(const std::vector<RowsF>& sequences, std::int64_t num_views,
               const std::string& preset, const std::string& normalization, double temperature,
               std::int64_t permutations, double delta, std::uint64_t seed, int threads) {
  const ViewOptions options = {
      .preset = enum_value<ViewPreset>(preset, "view_preset"),
      .normalization = enum_value<EntropyNormalization>(normalization, "normalization"),
      .temperature = temperature,
      .permutations = permutations,
      .delta = delta};
  options.validate();
  const MemorySequences memory(sequences);
  ViewMeasures found =
      run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token& stop) {
        MatrixF rows(memory.source.count, memory.rows.front().cols());
        for (Eigen::Index i = 0; i < rows.rows(); ++i) {
          rows.row(i) =
              pooled_token(memory.rows[static_cast<std::size_t>(i)], false, options.token_preset());
        }
        return measure_views(rows, rows.rows() / num_views, options, seed, pool, stop);
      });
  nb::dict result;
  result["dime"] = mean_of(found.dime);
  result["infonce"] = to_numpy(std::move(found.infonce));
  result["lidar"] = found.lidar;
  return result;
}

ComparableRows prepare_rows(const RowsF& rows) {
  MatrixF copy = matrix_ref(rows);
  return run_with_threads(
      1, [&](ThreadPool&, const std::stop_token&) { return comparable_rows(std::move(copy)); });
}

/// CKA, debiased CKA and Procrustes distance; NaN where not computed.
nb::tuple compare_rows(const ComparableRows& x, const ComparableRows& y, bool with_procrustes) {
  const RowSimilarity similarity = run_with_threads(1, [&](ThreadPool&, const std::stop_token&) {
    return RowComparison().compare(x, y, with_procrustes);
  });
  return nb::make_tuple(similarity.cka, or_nan(similarity.cka_debiased), similarity.procrustes);
}

/// Block influence and angular distance.
nb::tuple change_of(const ComparableRows& x, const ComparableRows& y) {
  const LayerChange change =
      run_at_once([&](ThreadPool&, const std::stop_token&) { return layer_change(x, y); });
  return nb::make_tuple(change.influence.mean, change.angle.mean);
}

/// The rows of a layer at length 1 and their neighbours, as `lime-metrics similarity` compares
/// them.
struct Neighborhood {
  MatrixF points;
  NeighborGraph::Indices graph;
  std::vector<std::int32_t> nearest;
};

Neighborhood neighborhood_of(const ComparableRows& layer, std::int64_t k, int threads) {
  return run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token& stop) {
    Neighborhood found;
    found.points = layer.rows;
    for (Eigen::Index r = 0; r < found.points.rows(); ++r) {
      const double length = layer.lengths[r];
      if (length > 0.0) found.points.row(r) *= static_cast<float>(1.0 / length);
    }
    NeighborGraph graph =
        find_neighbors(found.points, k, {.search = NeighborSearch::kExact}, pool, stop);
    const auto first = graph.index.col(0);
    found.nearest.assign(first.begin(), first.end());
    found.graph = std::move(graph.index);
    return found;
  });
}

/// Mutual nearest neighbours, and the information imbalance from x to y.
nb::tuple compare_neighborhoods(const Neighborhood& x, const Neighborhood& y, int threads) {
  const auto [overlap, ranks] =
      run_with_threads(threads, [&](ThreadPool& pool, const std::stop_token&) {
        return std::pair(neighbor_overlap(x.graph, y.graph),
                         scaled_ranks(y.points, std::span(&x.nearest, 1), pool).front());
      });
  return nb::make_tuple(clustered_mean(overlap, {}).mean, clustered_mean(ranks, {}).mean);
}

nb::dict profile(const RowsF& rows) {
  TokenProfile found = token_profile(matrix_ref(rows));
  nb::dict result;
  result["norm"] = vector_to_numpy(std::move(found.norm));
  result["relative_norm"] = vector_to_numpy(std::move(found.relative_norm));
  result["next_cosine"] = vector_to_numpy(std::move(found.next_cosine));
  return result;
}

}  // namespace

void bind_geometry(nb::module_& module) {
  module.def("geometry", geometry, nb::arg("sequences"), nb::arg("centre").none(),
             nb::arg("rank_of_rows"), nb::arg("rank_of_sequences"), nb::arg("similarity"),
             nb::arg("curvature"), nb::arg("massive"), nb::arg("first_token"),
             nb::arg("power_law").none(), nb::arg("centering"), nb::arg("rankme_epsilon"),
             nb::arg("rank_tolerance").none(), nb::arg("massive_threshold"),
             nb::arg("massive_ratio"), nb::arg("threads"));
  module.def("intrinsic_dimension", dimension, nb::arg("rows"), nb::arg("k"), nb::arg("two_nn_fit"),
             nb::arg("two_nn_discard"), nb::arg("mle_average"), nb::arg("duplicate_tolerance"),
             nb::arg("threads"));
  module.def("views", views);
  module.def("draw_rows", [](std::int64_t total, std::int64_t count, std::uint64_t seed) {
    return to_numpy(draw_rows(total, count, seed));
  });
  nb::class_<ComparableRows>(module, "ComparableRows");
  module.def("comparable_rows", prepare_rows);
  module.def("compare_rows", compare_rows);
  module.def("change_of", change_of);
  nb::class_<Neighborhood>(module, "Neighborhood");
  module.def("neighborhood_of", neighborhood_of);
  module.def("compare_neighborhoods", compare_neighborhoods);
  module.def("token_profile", profile);
}

}  // namespace lime::python
