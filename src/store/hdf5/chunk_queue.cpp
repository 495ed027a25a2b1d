// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/chunk_queue.h"

#include <utility>

#include "core/threads/threads.h"

namespace lime {
namespace {

/// One being compressed and one waiting.
constexpr std::size_t kChunksPerThread = 2;

}  // namespace

ChunkQueue::ChunkQueue(int num_threads) {
  start_threads(
      threads_, num_threads, [this](int) { work(); }, [this] { release(); });
}

ChunkQueue::~ChunkQueue() {
  release();
  for (std::thread& thread : threads_) thread.join();
}

void ChunkQueue::release() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  wake_.notify_all();
}

void ChunkQueue::push(std::vector<std::byte> values, std::size_t value_bytes, Write write) {
  while (waiting_.size() >= kChunksPerThread * threads_.size()) write_oldest();
  std::packaged_task<StoredChunk()> task([values = std::move(values), value_bytes]() mutable {
    return compressed(std::move(values), value_bytes);
  });
  waiting_.push_back({task.get_future(), std::move(write)});
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  wake_.notify_one();
}

void ChunkQueue::finish() {
  while (!waiting_.empty()) write_oldest();
}

std::int64_t ChunkQueue::most_bytes(int num_threads, std::int64_t chunk_bytes) {
  // A worker needs memory for the shuffled chunk in addition to the chunk.
  constexpr auto kBuffers = static_cast<std::int64_t>(kChunksPerThread) + 1;
  return kBuffers * num_threads * chunk_bytes;
}

void ChunkQueue::write_oldest() {
  Waiting oldest = std::move(waiting_.front());
  waiting_.pop_front();
  oldest.write(oldest.chunk.get());
}

void ChunkQueue::work() {
  for (;;) {
    std::packaged_task<StoredChunk()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace lime
