// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace lime {

/// Passes items from one thread to another and blocks the producer while more than `max_bytes` are
/// queued. The queue stays bounded whatever the speeds of the two sides.
///
/// Thread-safe. Both sides count how long they waited, which identifies the slower one.
template <typename T> class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Adds an item that counts as `bytes`, waiting until there is room or the queue is empty.
  /// @return false if the queue was closed; the item is then dropped.
  bool push(T item, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    const auto start = std::chrono::steady_clock::now();
    room_.wait(lock, [&] { return closed_ || items_.empty() || bytes_ + bytes <= max_bytes_; });
    push_wait_ += std::chrono::steady_clock::now() - start;
    if (closed_) return false;
    bytes_ += bytes;
    items_.emplace_back(std::move(item), bytes);
    filled_.notify_one();
    return true;
  }

  /// Removes and returns the oldest item, waiting for one; nothing if closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    const auto start = std::chrono::steady_clock::now();
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    pop_wait_ += std::chrono::steady_clock::now() - start;
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front().first));
    bytes_ -= items_.front().second;
    items_.pop_front();
    room_.notify_one();
    return item;
  }

  /// Accepts no further items; queued ones can still be popped.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    room_.notify_all();
    filled_.notify_all();
  }

  /// Closes the queue and drops its items.
  void close_and_clear() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    items_.clear();
    bytes_ = 0;
    room_.notify_all();
    filled_.notify_all();
  }

  /// Returns the seconds that push() waited for room: the consumer is too slow.
  double push_wait_seconds() const {
    const std::scoped_lock lock(mutex_);
    return push_wait_.count();
  }
  /// Returns the seconds that pop() waited for items: the producer is too slow.
  double pop_wait_seconds() const {
    const std::scoped_lock lock(mutex_);
    return pop_wait_.count();
  }

 private:
  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<std::pair<T, std::size_t>> items_;
  std::size_t bytes_ = 0;
  bool closed_ = false;
  std::chrono::duration<double> push_wait_{0};
  std::chrono::duration<double> pop_wait_{0};
};

}  // namespace lime
