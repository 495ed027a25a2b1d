// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/outlier_rows.h"

#include <cmath>
#include <map>
#include <numeric>

#include "analysis/engine/capture_rows.h"
#include "core/threads/thread_pool.h"
#include "core/threads/threads.h"
#include "core/utf8.h"
#include "metrics/collapse/collapse_verdict.h"
#include "metrics/rows.h"

namespace lime {
namespace {

/// Rows at which norms are computed at once.
constexpr std::int64_t kBlockRows = 2048;
/// Norm ratio from which a row is massive for the notes, and the share of the trace.
constexpr double kNoteRatio = 4.0;
constexpr double kNoteShare = 0.5;

std::int64_t rows_used(const ChosenCapture& capture) {
  return capture.reader.offsets()[static_cast<std::size_t>(capture.num_sequences)];
}

/// Returns the squared norms of the first `count` rows of a layer.
std::vector<double> squared_norms(const CaptureReader& reader, const std::string& site, int layer,
                                  std::int64_t count) {
  std::vector<double> norms;
  for (std::int64_t first = 0; first < count; first += kBlockRows) {
    const MatrixF rows = reader.read_rows(site, layer, first, std::min(kBlockRows, count - first));
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      norms.push_back(rows.row(r).cast<double>().squaredNorm());
    }
  }
  return norms;
}

/// Returns the lower median; 0 for none.
double median_of(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// A selected layer of a capture.
struct Place {
  const ChosenCapture* capture;
  std::string site;
  int layer;
};

std::vector<Place> places_of(std::span<const ChosenCapture> captures) {
  std::vector<Place> places;
  for (const ChosenCapture& capture : captures) {
    for (const auto& [site, layers] : capture.parts) {
      if (!is_representation(site)) continue;
      for (const int layer : layers) places.push_back({&capture, site, layer});
    }
  }
  return places;
}

using Marks = std::vector<bool>;

Marks massive_rows(const Place& place, double ratio) {
  const std::vector<double> norms =
      squared_norms(place.capture->reader, place.site, place.layer, rows_used(*place.capture));
  const double least = ratio * ratio * median_of(norms);
  Marks marks(norms.size(), false);
  for (std::size_t r = 0; r < norms.size(); ++r) marks[r] = least > 0.0 && norms[r] >= least;
  return marks;
}

/// "148 of 12288 rows omitted (norm >= 4 x median): 117 token 260 ' the', 24 ...".
std::string note_on_rows(const ChosenCapture& capture, const Marks& marks, double ratio) {
  const RowTable& table = capture.reader.rows();
  std::map<std::int32_t, std::int64_t> counts;
  for (std::size_t r = 0; r < marks.size(); ++r) {
    if (marks[r]) ++counts[table.token[r]];
  }
  std::vector<std::pair<std::int64_t, std::int32_t>> order;
  for (const auto& [token, count] : counts) order.emplace_back(-count, token);
  std::ranges::sort(order);
  constexpr std::size_t kNamed = 5;
  std::string tokens;
  const CaptureInfo& info = capture.reader.info();
  for (std::size_t i = 0; i < std::min(order.size(), kNamed); ++i) {
    const auto [count, token] = order[i];
    tokens += fmt::format("{}{} of token {}", i == 0 ? "" : ", ", -count, token);
    for (std::size_t k = 0; k < std::min(info.first_ids.size(), info.first_tokens.size()); ++k) {
      if (info.first_ids[k] != token) continue;
      tokens += fmt::format(" '{}'", printable(info.first_tokens[k]));
      break;
    }
  }
  if (order.size() > kNamed) tokens += fmt::format(", {} other tokens", order.size() - kNamed);
  return fmt::format("{}: {} of {} rows omitted, norm >= {:g} times the median of a layer{}{}",
                     capture.label, std::ranges::count(marks, true), marks.size(), ratio,
                     tokens.empty() ? "" : ": ", tokens);
}

void check_rows_left(const ChosenCapture& capture, const Marks& marks, double ratio) {
  const std::vector<std::int64_t>& offsets = capture.reader.offsets();
  const bool is_whole =
      capture.reader.info().rows == RowKind::kTokens && capture.reader.info().class_names.empty();
  if (!is_whole) return;
  for (std::int64_t s = 0; s < capture.num_sequences; ++s) {
    const auto first = marks.begin() + offsets[static_cast<std::size_t>(s)];
    const auto last = marks.begin() + offsets[static_cast<std::size_t>(s) + 1];
    throw_if(std::count(first, last, false) < 2, OptionName("skip_massive"),
             "must leave every sequence at least 2 rows, but {} of {} rows of sequence {} of '{}' "
             "have {:g} times the median norm; use a larger ratio",
             std::count(first, last, true), last - first, s, capture.reader.path().string(), ratio);
  }
}

/// Returns the `count` dimensions of a layer with the largest mean square, ascending.
std::vector<int> largest_dimensions(const Place& place, std::int64_t count) {
  const CaptureReader& reader = place.capture->reader;
  VectorD squares = VectorD::Zero(reader.dim(place.site, place.layer));
  const std::int64_t used = rows_used(*place.capture);
  for (std::int64_t first = 0; first < used; first += kBlockRows) {
    const MatrixF rows =
        reader.read_rows(place.site, place.layer, first, std::min(kBlockRows, used - first));
    for (Eigen::Index r = 0; r < rows.rows(); ++r) {
      squares += rows.row(r).transpose().cast<double>().cwiseAbs2();
    }
  }
  std::vector<int> order(static_cast<std::size_t>(squares.size()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return squares[a] > squares[b]; });
  order.resize(static_cast<std::size_t>(count));
  std::ranges::sort(order);
  return order;
}

std::vector<int> dimensions_of(const Place& place, const SkippedDimensions& dimensions) {
  const std::int64_t dim = place.capture->reader.dim(place.site, place.layer);
  std::vector<int> skipped;
  if (dimensions.is_list()) {
    std::vector<int> all(static_cast<std::size_t>(dim));
    std::iota(all.begin(), all.end(), 0);
    // Dimensions are listed like layers, but its message would speak of layers.
    for (const int dimension : all) {
      if (dimensions.list().contains(dimension)) skipped.push_back(dimension);
    }
    throw_if(skipped.empty(), OptionName("skip_dims"),
             "site '{}' of '{}' has dimensions 0 to {} in layer {}, got {}", place.site,
             place.capture->reader.path().string(), dim - 1, place.layer, dimensions.to_string());
  } else if (dimensions.count() < dim) {
    skipped = largest_dimensions(place, dimensions.count());
  }
  throw_if(skipped.empty() || std::ssize(skipped) >= dim, OptionName("skip_dims"),
           "must leave at least one of the {} dimensions of site '{}' in layer {}, got {}", dim,
           place.site, place.layer, dimensions.to_string());
  return skipped;
}

/// Returns the share of the trace of rows with at least kNoteRatio times the median norm, and their
/// number.
std::pair<double, std::int64_t> massive_share(const std::vector<double>& norms) {
  const double least = kNoteRatio * kNoteRatio * median_of(norms);
  double massive = 0.0;
  double all = 0.0;
  std::int64_t count = 0;
  for (const double norm : norms) {
    all += norm;
    if (!(least > 0.0) || norm < least) continue;
    massive += norm;
    ++count;
  }
  return {all > 0.0 ? massive / all : 0.0, count};
}

/// Massive tokens of a layer, and their share of the trace.
struct NamedLayer {
  MassiveSummary massive;
  double share = 0.0;
  double largest_ratio = 0.0;
};

NamedLayer name_massive(const Place& place) {
  const CaptureReader& reader = place.capture->reader;
  const std::vector<double> norms =
      squared_norms(reader, place.site, place.layer, rows_used(*place.capture));
  const double median = median_of(norms);
  NamedLayer named;
  named.share = massive_share(norms).first;
  std::vector<MassiveToken> massive;
  for (std::size_t r = 0; r < norms.size(); ++r) {
    if (!(median > 0.0) || norms[r] < kNoteRatio * kNoteRatio * median) continue;
    MassiveToken& token = massive.emplace_back();
    token.row = static_cast<std::int64_t>(r);
    token.ratio = std::sqrt(norms[r] / median);
    named.largest_ratio = std::max(named.largest_ratio, token.ratio);
    const MatrixF row = reader.read_rows(place.site, place.layer, token.row, 1);
    Eigen::Index dimension = 0;
    row.row(0).cwiseAbs().maxCoeff(&dimension);
    token.dimension = static_cast<int>(dimension);
    token.value = static_cast<double>(row(0, dimension));
  }
  const RowTable& table = reader.rows();
  named.massive = summarize_massive(massive, table.token, table.position);
  return named;
}

bool same_tokens(const NamedLayer& a, const NamedLayer& b) {
  return a.massive.token == b.massive.token && a.massive.position == b.massive.position &&
         a.massive.dimension == b.massive.dimension && a.massive.count > 0 && b.massive.count > 0;
}

std::string name_text(const CaptureInfo& info, std::int32_t token) {
  for (std::size_t k = 0; k < std::min(info.first_ids.size(), info.first_tokens.size()); ++k) {
    if (info.first_ids[k] == token) return fmt::format(" '{}'", printable(info.first_tokens[k]));
  }
  return "";
}

/// Describes the layers [first, last] of one site, whose massive tokens are the same.
std::string line_of(std::span<const Place> places, std::span<const NamedLayer> layers) {
  const NamedLayer* largest = &layers.front();
  const Place* at = &places.front();
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (layers[i].massive.largest <= largest->massive.largest) continue;
    largest = &layers[i];
    at = &places[i];
  }
  const MassiveSummary& massive = largest->massive;
  const int first = places.front().layer;
  const int last = places.back().layer;
  std::string names;  // of what most of them share
  if (2 * massive.token_count > massive.count) {
    names += fmt::format(", {} of them token {}{}", massive.token_count, massive.token,
                         name_text(at->capture->reader.info(), massive.token));
  }
  if (2 * massive.position_count > massive.count) {
    names += fmt::format(", {} at position {}", massive.position_count, massive.position);
  }
  return fmt::format(
      "{}, {}, {}: massive tokens: {} of {} rows{}, {} with their largest magnitude in dimension "
      "{} (up to {:.0f}, {:.1f} times the median norm, {:.0f} % of the trace, in layer {})",
      at->capture->label, at->site,
      first == last ? fmt::format("layer {}", first) : fmt::format("layers {}-{}", first, last),
      massive.count, rows_used(*at->capture), names, massive.dimension_count, massive.dimension,
      massive.largest, largest->largest_ratio, 100.0 * largest->share, at->layer);
}

}  // namespace

std::vector<std::string> names_of_massive_tokens(std::span<const ChosenCapture> captures) {
  const std::vector<Place> places = places_of(captures);
  std::vector<NamedLayer> layers(places.size());
  ThreadPool pool(available_threads());
  pool.parallel_for(std::ssize(places), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    layers[at] = name_massive(places[at]);
  });
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < places.size();) {
    std::size_t end = first + 1;
    while (end < places.size() && places[end].capture == places[first].capture &&
           places[end].site == places[first].site && same_tokens(layers[first], layers[end])) {
      ++end;
    }
    if (layers[first].massive.count > 0) {
      lines.push_back(line_of(std::span(places).subspan(first, end - first),
                              std::span(layers).subspan(first, end - first)));
    }
    first = end;
  }
  if (lines.empty()) lines.emplace_back("massive tokens: no row has 4 times the median norm");
  return lines;
}

namespace {

/// Returns the rows of each capture that are massive in one of the places, and adds the notes.
std::vector<Marks> massive_in(const std::vector<Place>& places,
                              std::vector<ChosenCapture>& captures, double ratio) {
  std::vector<Marks> found(places.size());
  ThreadPool pool(available_threads());
  pool.parallel_for(std::ssize(places), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    found[at] = massive_rows(places[at], ratio);
  });
  std::map<std::string, Marks> by_text;  // captures of the same text keep the same rows
  for (std::size_t i = 0; i < places.size(); ++i) {
    Marks& marks = by_text[places[i].capture->identity];
    if (marks.empty()) marks.assign(found[i].size(), false);
    for (std::size_t r = 0; r < found[i].size(); ++r) marks[r] = marks[r] || found[i][r];
  }
  std::vector<Marks> massive;
  for (ChosenCapture& capture : captures) {
    massive.push_back(by_text[capture.identity]);
    massive.back().resize(static_cast<std::size_t>(rows_used(capture)), false);
    check_rows_left(capture, massive.back(), ratio);
    capture.notes.push_back(note_on_rows(capture, massive.back(), ratio));
  }
  return massive;
}

}  // namespace

void skip_massive_rows(std::vector<ChosenCapture>& captures, double ratio) {
  std::vector<Marks> massive = massive_in(places_of(captures), captures, ratio);
  for (std::size_t i = 0; i < captures.size(); ++i) {
    massive[i].resize(static_cast<std::size_t>(captures[i].reader.num_rows()), false);
    captures[i].reader.hide_rows(massive[i]);
  }
}

std::vector<std::vector<bool>> massive_rows_by(const std::string& site,
                                               std::vector<ChosenCapture>& captures, double ratio) {
  std::vector<Place> places;
  for (const ChosenCapture& capture : captures) {
    const std::size_t before = places.size();
    for (const ChosenCapture::Part& part : capture.parts) {
      for (const int layer : part.layers) {
        if (capture.reader.has(site, layer)) places.push_back({&capture, site, layer});
      }
    }
    throw_if(places.size() == before, OptionName("skip_massive"),
             "'{}' has no site {} in the selected layers, and massive tokens are detected by its "
             "norms; capture with --sites {} too",
             capture.reader.path().string(), site, site);
  }
  return massive_in(places, captures, ratio);
}

void skip_dimensions(std::vector<ChosenCapture>& captures, const SkippedDimensions& dimensions) {
  if (dimensions.is_none()) return;
  for (ChosenCapture& capture : captures) {
    std::string note;
    for (const Place& place : places_of({&capture, 1})) {
      const std::vector<int> skipped = dimensions_of(place, dimensions);
      capture.reader.hide_dimensions(place.site, place.layer, skipped);
      if (dimensions.is_list()) continue;
      note += fmt::format("{}{} {}: {}", note.empty() ? "" : "; ", place.site, place.layer,
                          layers_to_string(skipped));
    }
    capture.notes.push_back(
        fmt::format("{}: dimensions omitted: {}", capture.label,
                    dimensions.is_list() ? dimensions.to_string() : "by layer, " + note));
  }
}

std::vector<std::string> notes_on_massive_rows(std::span<const ChosenCapture> captures) {
  std::vector<Place> places = places_of(captures);
  std::erase_if(places, [](const Place& place) { return !place.capture->notes_massive_rows; });
  std::vector<std::pair<double, std::int64_t>> found(places.size());
  ThreadPool pool(available_threads());
  pool.parallel_for(std::ssize(places), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const Place& place = places[at];
    try {
      const std::int64_t count = std::min(kBlockRows, rows_used(*place.capture));
      found[at] =
          massive_share(squared_norms(place.capture->reader, place.site, place.layer, count));
    } catch (const Error&) {
      found[at] = {};  // the measurement itself reports what cannot be read
    }
  });
  std::vector<std::string> notes;
  for (const ChosenCapture& capture : captures) {
    for (const ChosenCapture::Part& part : capture.parts) {
      std::vector<int> layers;
      std::pair<double, std::int64_t> largest{};
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i].capture != &capture || places[i].site != part.site) continue;
        if (found[i].first <= kNoteShare) continue;
        layers.push_back(places[i].layer);
        largest = std::max(largest, found[i]);
      }
      if (layers.empty()) continue;
      notes.push_back(fmt::format(
          "{}, {}: in layer{} {} a few rows carry more than half of the trace (up to {:.0f} %), "
          "measured on the first {} rows; omit them with --skip-massive {:g}, and see lime-metrics "
          "collapse",
          capture.label, part.site, layers.size() > 1 ? "s" : "", layers_to_string(layers),
          100.0 * largest.first, std::min(kBlockRows, rows_used(capture)), kNoteRatio));
    }
  }
  return notes;
}

}  // namespace lime
