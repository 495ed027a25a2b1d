// SPDX-License-Identifier: Apache-2.0
#include "capture/activation_collector.h"

#include <ATen/ATen.h>

#include <cstring>
#include <numeric>

#include "core/threads/threads.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

constexpr std::int64_t kTileRows = 128;
/// Rows read together: enough that the sums of a column are seldom reloaded, few enough for the CPU
/// to prefetch each row.
constexpr std::int64_t kGroupRows = 8;
constexpr std::int64_t kStripe = 32;  // columns whose sums stay in registers over a group
/// Cost per value of the statistics and the copy, counting a memory access as one operation.
constexpr std::int64_t kOperationsPerValue = 8;

/// Rows of one sequence.
struct TileSource {
  const float* rows = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
  std::int64_t dim = 0;
  float* copy = nullptr;  // contiguous, or null

  const float* row(std::int64_t index) const { return rows + index * stride; }
};

/// Adds columns [column, column + Width) of rows [first, first + count) to sums of x - s and of (x
/// - s)^2, with s the tile's first row.
template <std::int64_t Width>
void add_stripe(const TileSource& tile, std::int64_t first, std::int64_t count, std::int64_t column,
                double* sum, double* square) {
  std::array<double, Width> sums;
  std::array<double, Width> squares;
  std::copy_n(sum + column, Width, sums.begin());
  std::copy_n(square + column, Width, squares.begin());
  const float* const shift = tile.rows + column;
  for (std::int64_t r = first; r < first + count; ++r) {
    const float* const row = tile.row(r) + column;
    if (tile.copy != nullptr) {
      std::memcpy(tile.copy + r * tile.dim + column, row, Width * sizeof(float));
    }
    for (std::size_t j = 0; j < Width; ++j) {
      const double deviation = static_cast<double>(row[j]) - static_cast<double>(shift[j]);
      sums[j] += deviation;
      squares[j] += deviation * deviation;
    }
  }
  std::copy_n(sums.begin(), Width, sum + column);
  std::copy_n(squares.begin(), Width, square + column);
}

/// Computes mean and m2 of a tile's columns; copies the tile at the same time.
void tile_moments(const TileSource& tile, double* mean, double* m2) {
  std::fill_n(mean, tile.dim, 0.0);
  std::fill_n(m2, tile.dim, 0.0);
  for (std::int64_t first = 0; first < tile.count; first += kGroupRows) {
    const std::int64_t count = std::min(kGroupRows, tile.count - first);
    std::int64_t column = 0;
    for (; column + kStripe <= tile.dim; column += kStripe) {
      add_stripe<kStripe>(tile, first, count, column, mean, m2);
    }
    for (; column < tile.dim; ++column) add_stripe<1>(tile, first, count, column, mean, m2);
  }
  const auto count = static_cast<double>(tile.count);
  for (std::int64_t j = 0; j < tile.dim; ++j) {
    const double sum = mean[j];
    mean[j] = static_cast<double>(tile.rows[j]) + sum / count;
    // Rounding may leave a tiny negative number; NaN must stay.
    const double rest = m2[j] - sum * sum / count;
    m2[j] = rest < 0.0 ? 0.0 : rest;
  }
}

bool is_key_or_value(HookKind kind) {
  return kind == HookKind::kK || kind == HookKind::kV || kind == HookKind::kRoutedK ||
         kind == HookKind::kRoutedV;
}

}  // namespace

ActivationRows::ActivationRows(const at::Tensor& activation)
    : tensor_(activation.detach().to(at::kCPU, at::kFloat)) {
  throw_if(tensor_.dim() != 3 && tensor_.dim() != 4,
           "capture: an activation must have 3 or 4 dimensions, got {}", tensor_.dim());
  const bool rows_are_dense =
      tensor_.stride(-1) == 1 && (tensor_.dim() == 3 || tensor_.stride(2) == tensor_.size(3));
  if (!rows_are_dense) tensor_ = tensor_.contiguous();
  batch_ = tensor_.size(0);
  seq_ = tensor_.size(1);
  dim_ = tensor_.size(2) * (tensor_.dim() == 4 ? tensor_.size(3) : 1);
  sequence_stride_ = tensor_.stride(0);
  row_stride_ = tensor_.stride(1);
  data_ = tensor_.data_ptr<float>();
}

at::Tensor pattern_by_query(const at::Tensor& pattern, std::int64_t num_keys) {
  const std::int64_t missing = num_keys - pattern.size(3);
  throw_if(missing < 0, "capture: a pattern must have at most {} keys, got {}", num_keys,
           pattern.size(3));
  return at::constant_pad_nd(pattern.detach().transpose(1, 2), {0, missing});
}

void RowAccumulator::add(const ActivationRows& rows, std::span<const std::int64_t> lengths,
                         float* copy, RunningStatistics& statistics) {
  tiles_.clear();
  std::int64_t num_rows = 0;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (std::int64_t start = 0; start < lengths[s]; start += kTileRows) {
      const std::int64_t count = std::min(kTileRows, lengths[s] - start);
      tiles_.push_back({static_cast<std::int64_t>(s), start, count, num_rows});
      num_rows += count;
    }
  }
  const std::int64_t dim = rows.dim();
  moments_.resize(tiles_.size() * static_cast<std::size_t>(2 * dim));
  for_each_tile(static_cast<std::int64_t>(tiles_.size()), kTileRows * dim * kOperationsPerValue,
                [&] {
                  return [&](std::int64_t i) {
                    const Tile& tile = tiles_[static_cast<std::size_t>(i)];
                    double* const mean = moments_.data() + i * 2 * dim;
                    tile_moments({.rows = rows.row(tile.sequence, tile.position),
                                  .stride = rows.row_stride(),
                                  .count = tile.count,
                                  .dim = dim,
                                  .copy = copy == nullptr ? nullptr : copy + tile.row * dim},
                                 mean, mean + dim);
                  };
                });
  const auto size = static_cast<std::size_t>(dim);
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const double* const mean = moments_.data() + i * 2 * size;
    statistics.merge(tiles_[i].count, {mean, size}, {mean + size, size});
  }
}

void mean_rows(const ActivationRows& rows, std::span<const std::vector<std::uint8_t>> counts,
               float* to) {
  const std::int64_t dim = rows.dim();
  const std::int64_t values = rows.seq() * dim;
  for_each_block(
      static_cast<std::int64_t>(counts.size()), values, [&](std::int64_t begin, std::int64_t end) {
        VectorD sum(dim);
        for (std::int64_t s = begin; s < end; ++s) {
          const std::vector<std::uint8_t>& counted = counts[static_cast<std::size_t>(s)];
          sum.setZero();
          for (std::size_t t = 0; t < counted.size(); ++t) {
            if (counted[t] == 0) continue;
            sum += Eigen::Map<const Eigen::VectorXf>(rows.row(s, static_cast<std::int64_t>(t)), dim)
                       .cast<double>();
          }
          const auto number = std::accumulate(counted.begin(), counted.end(), 0.0);
          Eigen::Map<Eigen::VectorXf>(to + s * dim, dim) = (sum / number).cast<float>();
        }
      });
}

std::int64_t CaptureBatch::num_tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

ActivationCollector::ActivationCollector(const std::vector<CapturePoint>& points,
                                         const ModelConfig& config, const Settings& settings,
                                         ShardWriterThread& writer)
    : settings_(settings), writer_(writer) {
  for (const CapturePoint& point : points) {
    Target& target = targets_.emplace_back();
    target.place = point;
    target.statistics.site = point.site;
    target.statistics.layer = point.point.layer;
    if (is_key_or_value(point.point.kind)) target.statistics.num_heads = config.num_key_value_heads;
  }
}

void ActivationCollector::begin_window(const CaptureWindow& window, RowTable rows) {
  window_ = &window;
  rows_ = std::move(rows);
  if (rows_.size() == 0) return;
  writer_.push([table = rows_](ShardWriter& shard) { shard.append_rows(table); });
}

void ActivationCollector::begin_batch(const CaptureBatch& batch) { batch_ = &batch; }

void ActivationCollector::end_window() {
  if (!pools()) return;
  const std::int64_t count = window_->range.count;
  for (Target& target : targets_) {
    if (!target.place.activation) continue;
    float* const pooled = (*target.pooled)->data();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t original =
          window_->duplicate_of[static_cast<std::size_t>(i)] - window_->range.first;
      if (original == i) continue;
      std::copy_n(pooled + original * target.place.dim, target.place.dim,
                  pooled + i * target.place.dim);
    }
    writer_.append(*target.place.activation, count, target.place.dim, std::move(*target.pooled));
    target.pooled.reset();
  }
}

std::vector<ShardStatistics> ActivationCollector::take_statistics() {
  std::vector<ShardStatistics> all;
  for (Target& target : targets_) {
    all.push_back(target.statistics);
    target.statistics.statistics = RunningStatistics();
  }
  return all;
}

void ActivationCollector::receive(std::size_t point, const at::Tensor& activation, bool is_kept) {
  Target& target = targets_[point];
  const ActivationRows rows(activation);
  const bool keeps_tokens = target.place.activation && !pools() && rows_.size() > 0;
  const bool sends_all = keeps_tokens && is_kept && can_send_all(rows);
  std::optional<RowPool::Lease> buffer;
  if (keeps_tokens && !sends_all) {
    buffer.emplace(writer_.borrow_rows(static_cast<std::size_t>(rows_.size() * rows.dim())));
  }
  float* const copy = buffer && settings_.keeps_all_tokens ? (*buffer)->data() : nullptr;
  accumulator_.add(rows, batch_->lengths, copy, target.statistics.statistics);
  if (!settings_.allow_nan) check_finite(target);
  if (buffer) send_rows(target, rows, std::move(*buffer));
  if (sends_all) {
    writer_.append(*target.place.activation, {rows.row(0, 0), rows_.size(), rows.dim()},
                   std::make_shared<const at::Tensor>(rows.tensor()));
  }
  if (target.place.activation && pools()) pool_rows(target, rows);
}

/// The activation's memory is what will be written: no padding, no other order.
bool ActivationCollector::can_send_all(const ActivationRows& rows) const {
  return settings_.keeps_all_tokens && rows.is_one_matrix() &&
         rows_.size() == rows.batch() * rows.seq() &&
         batch_->num_tokens() == rows.batch() * rows.seq();
}

void ActivationCollector::send_rows(const Target& target, const ActivationRows& rows,
                                    RowPool::Lease buffer) {
  if (!settings_.keeps_all_tokens) {
    float* to = buffer->data();
    for (std::size_t i = 0; i < rows_.sequence.size(); ++i, to += rows.dim()) {
      const std::int64_t sequence = rows_.sequence[i] - window_->range.first;
      std::copy_n(rows.row(sequence, rows_.position[i]), rows.dim(), to);
    }
  }
  writer_.append(*target.place.activation, rows_.size(), rows.dim(), std::move(buffer));
}

void ActivationCollector::pool_rows(Target& target, const ActivationRows& rows) {
  const std::size_t count = batch_->sequences.size();
  if (!target.pooled) {
    target.pooled.emplace(
        writer_.borrow_rows(static_cast<std::size_t>(window_->range.count * target.place.dim)));
  }
  if (settings_.rows == RowKind::kMean) {
    means_.resize(count * static_cast<std::size_t>(target.place.dim));
    mean_rows(rows, batch_->counts, means_.data());
  }
  for (std::size_t s = 0; s < count; ++s) {
    const auto place = static_cast<std::int64_t>(s);
    const float* const row = settings_.rows == RowKind::kMean
                                 ? means_.data() + place * target.place.dim
                                 : rows.row(place, batch_->lengths[s] - 1);
    const std::int64_t slot = batch_->sequences[s] - window_->range.first;
    std::copy_n(row, target.place.dim, (*target.pooled)->data() + slot * target.place.dim);
  }
}

void ActivationCollector::check_finite(const Target& target) const {
  const RunningStatistics& statistics = target.statistics.statistics;
  if (statistics.mean.allFinite() && statistics.m2.allFinite()) return;
  throw NumericalError(
      "capture: {} must be finite, it is not in sequences {} to {}; check the weights, use a wider "
      "--dtype, or pass --allow-nan",
      hook_name(target.place.point), *std::ranges::min_element(batch_->sequences),
      *std::ranges::max_element(batch_->sequences));
}

namespace {

/// Values from here on become infinity when rounded to float16.
constexpr float kHalfOverflow = 65520.0F;

void refuse_half_overflow(const Eigen::Map<const MatrixF>& rows, const ActivationInfo& activation) {
  const auto sizes = rows.array().abs();
  if (!(sizes >= kHalfOverflow && sizes.isFinite()).any()) return;
  throw NumericalError(
      "capture: {} must stay below {} to be stored as float16, got {}; use --store float32",
      activation.hook, kHalfOverflow, sizes.maxCoeff<Eigen::PropagateNumbers>());
}

}  // namespace

ShardWriterThread::ShardWriterThread(CaptureWriter& writer, std::size_t max_waiting_bytes)
    : writer_(writer),
      queue_(max_waiting_bytes),
      thread_(start_thread([this] { return std::thread([this] { write(); }); })) {}

ShardWriterThread::~ShardWriterThread() {
  queue_.close_and_clear();
  if (thread_.joinable()) thread_.join();
}

RowPool::Lease ShardWriterThread::borrow_rows(std::size_t size) {
  RowPool::Lease rows = buffers_.borrow();
  rows->resize(size);
  return rows;
}

void ShardWriterThread::begin(int shard, std::int64_t first_sequence,
                              std::vector<Sequence> sequences) {
  enqueue([this, shard, first_sequence, sequences = std::move(sequences)] {
    shard_.emplace(writer_.begin_shard(shard, first_sequence));
    shard_->add_sequences(sequences);
  });
}

void ShardWriterThread::append(std::size_t activation, std::int64_t num_rows, std::int64_t dim,
                               RowPool::Lease values) {
  const Eigen::Map<const MatrixF> rows(values->data(), num_rows, dim);
  append(activation, rows, std::make_shared<const RowPool::Lease>(std::move(values)));
}

void ShardWriterThread::append(std::size_t activation, const Eigen::Map<const MatrixF>& rows,
                               std::shared_ptr<const void> owner) {
  const std::size_t bytes = static_cast<std::size_t>(rows.size()) * sizeof(float);
  const auto task = [this, activation, rows, owner = std::move(owner)] {
    const CapturePlan& plan = writer_.plan();
    if (plan.info.storage == StorageType::kFloat16) {
      refuse_half_overflow(rows, plan.activations[activation]);
    }
    shard_->append(activation, rows, owner);
  };
  enqueue(task, bytes);
}

void ShardWriterThread::end(std::vector<ShardStatistics> statistics) {
  enqueue([this, statistics = std::move(statistics)] {
    for (const ShardStatistics& entry : statistics) {
      shard_->set_statistics(entry.site, entry.layer, entry.statistics, entry.num_heads);
    }
    shard_->finish();
    shard_.reset();
  });
}

void ShardWriterThread::push(std::function<void(ShardWriter& shard)> task) {
  enqueue([this, task = std::move(task)] { task(*shard_); });
}

void ShardWriterThread::enqueue(std::function<void()> task, std::size_t bytes) {
  if (queue_.push(std::move(task), bytes)) return;
  if (thread_.joinable()) thread_.join();
  std::rethrow_exception(error_);
}

void ShardWriterThread::finish() {
  queue_.close();
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(error_);
}

void ShardWriterThread::write() {
  try {
    while (const auto task = queue_.pop()) (*task)();
  } catch (...) {
    error_ = std::current_exception();
    queue_.close_and_clear();
  }
  shard_.reset();
}

}  // namespace lime
