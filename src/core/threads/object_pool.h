// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace lime {

/// Lends objects, such as working memory, to calls that may run in several threads at once, and
/// keeps them for the next call: as many exist as calls ever ran at the same time. Thread-safe.
template <typename T> class ObjectPool {
 public:
  using Make = std::function<std::unique_ptr<T>()>;
  explicit ObjectPool(Make make = [] { return std::make_unique<T>(); }) : make_(std::move(make)) {}

  /// Owns an object until it returns it to the pool.
  class Lease {
   public:
    Lease(ObjectPool& pool, std::unique_ptr<T> object) : pool_(pool), object_(std::move(object)) {}
    ~Lease() {
      if (object_ == nullptr) return;
      const std::lock_guard lock(pool_.mutex_);
      pool_.idle_.push_back(std::move(object_));
    }
    Lease(Lease&&) noexcept = default;
    T& operator*() const { return *object_; }
    T* operator->() const { return object_.get(); }

   private:
    ObjectPool& pool_;
    std::unique_ptr<T> object_;
  };

  Lease borrow() {
    std::unique_lock lock(mutex_);
    if (idle_.empty()) {
      lock.unlock();
      return Lease(*this, make_());
    }
    std::unique_ptr<T> object = std::move(idle_.back());
    idle_.pop_back();
    return Lease(*this, std::move(object));
  }

 private:
  Make make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace lime
