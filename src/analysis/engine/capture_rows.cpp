// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/capture_rows.h"

#include <cmath>
#include <numeric>

#include "analysis/engine/capture_set.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Size of a block's buffer, unless one sequence alone needs more.
constexpr std::int64_t kBlockBytes = std::int64_t{48} << 20;

std::int64_t head_dim_of(const CaptureReader& capture, const std::string& site, int layer,
                         std::int64_t heads) {
  const std::int64_t dim = capture.dim(site, layer);
  if (dim % heads == 0) return dim / heads;
  throw FormatError("'{}': {} of layer {} have {} dimensions, not a multiple of {} key-value heads",
                    capture.path().string(), site, layer, dim, heads);
}

std::string without_spaces(const std::string& name) {
  const std::size_t first = name.find_first_not_of(' ');
  if (first == std::string::npos) return name;
  return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

/// The class that `requested` names, to the letter or but for the spaces around it.
std::int16_t find_class(const std::vector<std::string>& names, const std::string& requested,
                        const std::string& path) {
  const auto exact = std::ranges::find(names, requested);
  if (exact != names.end()) return static_cast<std::int16_t>(exact - names.begin());
  std::vector<std::int16_t> similar;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (without_spaces(names[i]) == without_spaces(requested)) {
      similar.push_back(static_cast<std::int16_t>(i));
    }
  }
  if (similar.size() == 1) return similar.front();
  throw_if(names.empty(), OptionName("class"),
           "'{}' has no classes, got '{}'; capture again with --only, or omit --class", path,
           printable(requested));
  throw InvalidArgument(OptionName("class"), "unknown class in '{}' (its classes: '{}'), got '{}'",
                        path, printable(fmt::format("{}", fmt::join(names, "', '"))),
                        printable(requested));
}

/// The class of every row, and the names of the classes.
ClassRows all_rows(const CaptureReader& capture) {
  ClassRows rows;
  rows.row.resize(static_cast<std::size_t>(capture.num_rows()));
  std::iota(rows.row.begin(), rows.row.end(), 0);
  rows.class_id.assign(rows.row.size(), -1);
  const CaptureInfo& info = capture.info();
  if (!info.class_names.empty()) {
    rows.class_names = info.class_names;
    rows.class_id = capture.rows().class_id;
  } else if (info.rows != RowKind::kTokens) {
    const std::vector<Sequence>& sequences = capture.sequences();
    const bool labelled =
        std::ranges::any_of(sequences, [](const Sequence& s) { return s.label >= 0; });
    if (!labelled) return rows;
    rows.class_names = {"bad", "good"};
    for (std::size_t i = 0; i < rows.row.size(); ++i) {
      const auto sequence = static_cast<std::size_t>(capture.rows().sequence[i]);
      rows.class_id[i] = sequences[sequence].label;
    }
  }
  return rows;
}

void keep_classes(ClassRows& rows, const CaptureReader& capture,
                  const std::vector<std::string>& requested) {
  if (requested.empty()) return;
  const std::string path = capture.path().string();
  std::vector<bool> selected(rows.class_names.size(), false);
  for (const std::string& name : requested) {
    const std::int16_t id = find_class(rows.class_names, name, path);
    throw_if(rows.count(id) == 0, OptionName("class"), "'{}' contains no rows of class '{}'", path,
             printable(name));
    selected[static_cast<std::size_t>(id)] = true;
  }
  keep_rows(rows, [&](std::size_t i) {
    return rows.class_id[i] >= 0 && selected[static_cast<std::size_t>(rows.class_id[i])];
  });
}

void keep_first_of_each(ClassRows& rows, std::int64_t most) {
  std::vector<std::int64_t> seen(rows.class_names.size() + 1, 0);
  keep_rows(rows, [&](std::size_t i) {
    return seen[static_cast<std::size_t>(rows.class_id[i] + 1)]++ < most;
  });
}

void keep_sample(ClassRows& rows, std::int64_t most, std::uint64_t seed) {
  std::vector<std::int64_t> order(rows.row.size());
  std::iota(order.begin(), order.end(), 0);
  Random random(seed);
  random.shuffle(std::span(order));
  std::vector<bool> selected(rows.row.size(), false);
  for (std::int64_t i = 0; i < most; ++i) {
    selected[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  }
  keep_rows(rows, [&](std::size_t i) { return selected[i]; });
}

}  // namespace

std::vector<SiteLayer> layers_of_site(const std::string& site, std::int64_t last_layer) {
  std::vector<SiteLayer> layers;
  for (int layer = 0; layer <= last_layer; ++layer) layers.push_back({site, layer});
  return layers;
}

ValueBlocks::ValueBlocks(const CaptureReader& capture, std::vector<SiteLayer> sources,
                         std::int64_t num_key_value_heads, std::int64_t num_sequences)
    : capture_(capture),
      sources_(std::move(sources)),
      num_heads_(num_key_value_heads),
      head_dim_(head_dim_of(capture, sources_.front().site, sources_.front().layer, num_heads_)) {
  for (const auto& [site, layer] : sources_) {
    if (head_dim_of(capture, site, layer, num_heads_) == head_dim_) continue;
    throw FormatError("'{}': {} of layers {} and {} differ in width", capture.path().string(), site,
                      sources_.front().layer, layer);
  }
  const std::int64_t row_bytes = make_buffer().bytes_for(1);
  const std::vector<std::int64_t>& offsets = capture.offsets();
  for (std::int64_t sequence = 0; sequence < num_sequences; ++sequence) {
    const std::int64_t first = offsets[static_cast<std::size_t>(sequence)];
    const std::int64_t rows = offsets[static_cast<std::size_t>(sequence) + 1] - first;
    if (blocks_.empty() || (blocks_.back().num_rows + rows) * row_bytes > kBlockBytes) {
      blocks_.push_back({sequence, 0, first, 0});
    }
    ++blocks_.back().num_sequences;
    blocks_.back().num_rows += rows;
    largest_block_ = std::max(largest_block_, blocks_.back().num_rows);
  }
}

ValueBuffer ValueBlocks::make_buffer() const {
  return ValueBuffer(std::ssize(sources_), num_heads_, head_dim_);
}

std::int64_t ValueBlocks::bytes() const { return make_buffer().bytes_for(largest_block_); }

std::int64_t ValueBlocks::bytes_per_thread() const {
  return largest_block_ * num_heads_ * head_dim_ * static_cast<std::int64_t>(sizeof(float));
}

void ValueBlocks::read(const Block& block, ValueBuffer& buffer, ThreadPool& pool,
                       const std::stop_token& stop) const {
  buffer.resize(block.num_rows);
  pool.parallel_for(
      std::ssize(sources_),
      [&](std::int64_t i) {
        const SiteLayer& source = sources_[static_cast<std::size_t>(i)];
        const MatrixF rows =
            capture_.read_rows(source.site, source.layer, block.first_row, block.num_rows);
        check_finite(rows, capture_, fmt::format("{} of layer {}", source.site, source.layer),
                     [&](std::int64_t row) { return block.first_row + row; });
        buffer.set_rows(i, 0, rows);
      },
      stop);
}

TokenRange ValueBlocks::tokens_of(const Block& block, std::int64_t sequence) const {
  const std::vector<std::int64_t>& offsets = capture_.offsets();
  const std::int64_t first = offsets[static_cast<std::size_t>(sequence)];
  return {first - block.first_row, offsets[static_cast<std::size_t>(sequence) + 1] - first};
}

std::string quoted_path(const CaptureReader& capture) {
  return "'" + capture.path().string() + "'";
}

void check_same_tokens(const CaptureReader& a, const CaptureReader& b, std::string_view why) {
  if (a.offsets() == b.offsets() && a.rows().token == b.rows().token &&
      a.rows().position == b.rows().position) {
    return;
  }
  throw InvalidArgument("{} and {}: contain different tokens, but {}", quoted_path(a),
                        quoted_path(b), why);
}

std::optional<std::pair<Eigen::Index, Eigen::Index>> first_not_finite(const MatrixF& rows) {
  if (rows.allFinite()) return std::nullopt;
  for (Eigen::Index i = 0; i < rows.size(); ++i) {
    if (!std::isfinite(rows.data()[i])) return std::pair(i / rows.cols(), i % rows.cols());
  }
  return std::nullopt;
}

void check_finite(const MatrixF& rows, const CaptureReader& capture, std::string_view what,
                  const std::function<std::int64_t(std::int64_t)>& row_of) {
  const auto place = first_not_finite(rows);
  if (!place) return;
  const auto [row, dim] = *place;
  const auto at = static_cast<std::size_t>(row_of(row));
  throw InvalidArgument(
      "{} must be finite, got {} in sequence {}, position {}, dimension {}; check the model for "
      "overflow, or capture in a wider type",
      what, rows(row, dim), capture.rows().sequence[at], capture.rows().position[at], dim);
}

std::int64_t num_tokens(const CaptureReader& capture, std::int64_t sequence) {
  const auto i = static_cast<std::size_t>(sequence);
  return capture.offsets()[i + 1] - capture.offsets()[i];
}

std::int64_t num_sequences_used(const CaptureReader& capture,
                                std::optional<std::int64_t> max_sequences) {
  const std::int64_t all = capture.num_sequences();
  return max_sequences ? std::min(all, *max_sequences) : all;
}

void check_whole_sequences(const CaptureReader& capture, std::string_view metric) {
  const CaptureInfo& info = capture.info();
  throw_if(info.rows != RowKind::kTokens,
           "{}: contains one row per sequence (--rows {}), but {} needs every token of a sequence; "
           "capture again with --rows tokens",
           quoted_path(capture), enum_name(info.rows), metric);
  std::vector<std::string> words;
  for (const std::string& word : info.class_names) words.push_back(single_quoted(word));
  throw_if(
      !words.empty(),
      "{}: contains only some tokens ({}), but {} needs every token of a sequence; capture again "
      "without --only",
      quoted_path(capture), printable(join_words(words)), metric);
  throw_if(capture.num_sequences() == 0, "{}: contains no sequences", quoted_path(capture));
}

std::int64_t num_short_sequences(const CaptureReader& capture, std::int64_t count) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) found += num_tokens(capture, i) < kFewestTokens ? 1 : 0;
  return found;
}

std::string note_of_short(std::string_view label, std::int64_t count, std::string_view what) {
  return fmt::format("{}: skipped {} {}{} of fewer than {} tokens", label, count, what,
                     count == 1 ? "" : "s", kFewestTokens);
}

SequenceSource token_sequences(const CaptureReader& capture, const std::string& site, int layer,
                               std::int64_t count) {
  return {count, [&capture, site, layer](std::int64_t index, MatrixF& rows) {
            const std::int64_t first = capture.offsets()[static_cast<std::size_t>(index)];
            rows.resize(num_tokens(capture, index), capture.dim(site, layer));
            capture.read_rows(site, layer, first, rows.rows(),
                              {rows.data(), static_cast<std::size_t>(rows.size())});
          }};
}

std::int64_t longest_sequence(const CaptureReader& capture, std::int64_t count) {
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < count; ++i) longest = std::max(longest, num_tokens(capture, i));
  return longest;
}

void ClassRowsOptions::validate() const {
  require_positive("max_per_class", max_per_class);
  require_positive("max_rows", max_rows);
}

std::int64_t ClassRows::count(std::int16_t id) const { return std::ranges::count(class_id, id); }

std::string ClassRows::counts_text() const {
  std::vector<std::string> counts;
  for (std::size_t id = 0; id < class_names.size(); ++id) {
    const std::int64_t rows = count(static_cast<std::int16_t>(id));
    if (rows > 0) counts.push_back(fmt::format("'{}' {}", printable(class_names[id]), rows));
  }
  return fmt::format("{}", fmt::join(counts, ", "));
}

ClassRows select_class_rows(const CaptureReader& capture, const ClassRowsOptions& options) {
  options.validate();
  ClassRows rows = all_rows(capture);
  keep_classes(rows, capture, options.classes);
  if (options.max_per_class) keep_first_of_each(rows, *options.max_per_class);
  rows.available = rows.size();
  if (options.max_rows && rows.size() > *options.max_rows) {
    keep_sample(rows, *options.max_rows, options.seed);
  }
  return rows;
}

MatrixF read_class_rows(const CaptureReader& capture, const std::string& site, int layer,
                        const ClassRows& rows) {
  const bool is_all = rows.size() == capture.num_rows();
  MatrixF selected =
      is_all ? capture.read_all(site, layer) : MatrixF(rows.size(), capture.dim(site, layer));
  std::size_t next = is_all ? rows.row.size() : 0;
  for (std::int64_t first = 0; first < capture.num_rows() && next < rows.row.size();
       first += kClassReadRows) {
    const std::int64_t last = std::min(first + kClassReadRows, capture.num_rows());
    if (rows.row[next] >= last) continue;
    const MatrixF block = capture.read_rows(site, layer, first, last - first);
    for (; next < rows.row.size() && rows.row[next] < last; ++next) {
      selected.row(static_cast<Eigen::Index>(next)) = block.row(rows.row[next] - first);
    }
  }
  check_finite(selected, capture, "rows",
               [&](std::int64_t row) { return rows.row[static_cast<std::size_t>(row)]; });
  return selected;
}

}  // namespace lime
