// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "analysis/router/routers.h"
#include "checkpoint/model_config.h"
#include "core/matrix.h"
#include "store/capture_reader.h"

namespace lime {

/// Returns the units, one per layer, that measure the weight with which each part of the decoder
/// reads each source (docs/router.md):
///
///   A[read, source] = mean over tokens of the weight,    share = mean of |weight| / sum |weights|
///
/// Rows of kind `source_map` have, per read and source, weight, std (between tokens), interval (of
/// the mean, over sequences) and share; rows of kind `read` have, per read, the entropy of the
/// shares, and the share of source 0. `weighting` is none or values, keys or outputs: the weight
/// times the norm of the source at that token. `capture` must outlive the units.
/// @param count  sequences to use, the first ones
/// @throws InvalidArgument  if the capture lacks the site; names the flag of lime-capture.
std::vector<Unit> source_units(const CaptureReader& capture, const ModelConfig& config,
                               const std::string& label, std::int64_t count, std::uint64_t seed);

/// Returns the rows of kind `source_map` of a layer of a plain transformer, whose residual stream
/// contains every earlier output with weight 1.
std::vector<ResultRow> plain_source_rows(const ModelConfig& config, std::int64_t layer);

/// Returns the shares of the sources in the input of each part (q, k and v averaged) or, for keys
/// and values, of each layer, [inputs, sources]; NaN for what an input cannot read. Means over
/// `rows` of a capture with token-dependent weights, empty: all; equal shares for a plain
/// transformer.
MatrixD source_shares(const CaptureReader& capture, const ModelConfig& config,
                      std::span<const std::int64_t> rows = {}, const std::stop_token& stop = {});

/// Adds notes and maps of the shares to a report whose rows are those of source_units().
void fill_source_report(Report& report, const std::string& label, const ModelConfig& config);

}  // namespace lime
