// SPDX-License-Identifier: Apache-2.0
#pragma once

// Times a kernel and the library routines that compute the same, in turns.

#include <functional>
#include <string>
#include <vector>

namespace lime {

/// A way to compute something.
struct Contender {
  std::string name;
  std::function<void()> run;
};

/// A kernel of ours and the library routines that could replace it.
struct Comparison {
  std::string kernel;  ///< what is computed
  std::string shape;   ///< of the operands
  Contender ours;
  std::vector<Contender> peers;
};

struct TurnOptions {
  int turns = 5;
  /// Minimum CPU time per turn; short kernels run several times.
  double min_seconds = 0.02;
};

/// Prints a row per peer: the median CPU time per call of both, and the median over the turns of
/// their ratio, with its extremes. Each contender runs once before the first turn.
void print_comparison(const Comparison& comparison, const TurnOptions& options);
void print_comparison_header();

/// Comparisons of the kernels that need no LibTorch: eigenvalues, Gram matrices, probes,
/// neighbours.
std::vector<Comparison> compare_metric_kernels();
/// Comparisons of the products of forward and backward passes.
std::vector<Comparison> compare_model_kernels();

}  // namespace lime
