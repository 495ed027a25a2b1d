// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/engine/capture_set.h"
#include "analysis/engine/comparison.h"
#include "analysis/engine/run_options.h"
#include "core/matrix.h"
#include "core/program/progress.h"
#include "core/threads/thread_pool.h"
#include "store/results/columns.h"

namespace lime {

/// A matrix that belongs to a result but does not fit into its rows, e.g. an embedding.
struct NamedMatrix {
  std::string name;
  MatrixD values;
};

struct UnitResult {
  /// The metric's own columns. The unit's key is put in front of each.
  std::vector<ResultRow> rows;
  std::vector<Samples> samples;
  std::vector<NamedMatrix> matrices;
};

struct UnitContext {
  ThreadPool& pool;        ///< the unit's own; results must not depend on its number of threads
  ProgressFn on_progress;  ///< counts up to the unit's `work`
  std::stop_token stop;    ///< if requested, the unit throws Interrupted; it is run again later

  void report(std::int64_t done, std::int64_t total) const {
    if (on_progress) on_progress({done, total, ""});
  }
};

/// A piece of an analysis that is computed on its own: most often one layer of one site of one
/// capture. It must depend on nothing but the inputs and options, and on no other unit.
struct Unit {
  /// Key of the unit, e.g. {"label": "LIMe", "site": "values", "layer": 3}; the first columns of
  /// its rows. No two units have the same.
  ResultRow key = {};
  std::string where;  ///< names it in errors: "'lime.h5': site 'values', layer 3"
  /// Identity of the items of its samples, see Samples::identity. If it is known in advance,
  /// captures that cannot be compared are refused before the computation.
  std::string identity = {};
  std::int64_t work = 1;  ///< items that the progress counts, >= 1
  /// Peak memory in bytes, plus bytes_per_thread for each thread of its pool.
  std::int64_t bytes = 0;
  std::int64_t bytes_per_thread = 0;
  std::function<UnitResult(const UnitContext&)> measure;
};

/// Selects whether units run in parallel, one thread each, or in sequence with all threads inside.
enum class UnitThreads { kAcross, kInside };

/// A layer of one site of one of several captures.
struct LayerPlace {
  std::size_t capture = 0;  ///< index
  std::string site = {};
  int layer = 0;
};

/// Returns the unit of one layer of one site of a capture, with key and where only.
Unit layer_unit(const ChosenCapture& capture, const std::string& site, int layer);

/// Returns such a unit of every layer of every capture. @param complete  sets the rest.
std::vector<Unit> layer_units(std::span<const ChosenCapture> captures,
                              const std::function<void(Unit&, const LayerPlace&)>& complete);

/// Returns kAcross if there are enough units for all threads.
UnitThreads threads_for(std::span<const Unit> units, const RunOptions& run);

}  // namespace lime
