// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace lime {

/// Lends scratch memory to calls that may run in several threads at once, and keeps it for the next
/// call: as many objects exist as calls ever ran side by side. Thread-safe.
template <typename Scratch>
class ScratchPool {
 public:
  explicit ScratchPool(std::function<std::unique_ptr<Scratch>()> make) : make_(std::move(make)) {}

  /// Scratch memory until the end of its life.
  class Lease {
   public:
    Lease(ScratchPool& pool, std::unique_ptr<Scratch> scratch)
        : pool_(pool), scratch_(std::move(scratch)) {}
    ~Lease() { pool_.give_back(std::move(scratch_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Scratch& operator*() const { return *scratch_; }
    Scratch* operator->() const { return scratch_.get(); }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

  Lease borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Scratch> scratch = std::move(idle_.back());
        idle_.pop_back();
        return Lease(*this, std::move(scratch));
      }
    }
    return Lease(*this, make_());
  }

 private:
  void give_back(std::unique_ptr<Scratch> scratch) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

  std::function<std::unique_ptr<Scratch>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

}  // namespace lime
