// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/engine/capture_set.h"

namespace lime {

/// Hides the rows whose norm is at least `ratio` times the median norm of a selected layer, in all
/// layers, so that layers and captures of the same text keep the same rows. Adds to the notes of
/// each capture how many rows of which tokens. Reads every selected layer once.
/// @throws InvalidArgument  if fewer than two rows of a sequence remain.
void skip_massive_rows(std::vector<ChosenCapture>& captures, double ratio);

/// Returns which rows of each capture skip_massive_rows() would hide, by the norms of `site` in the
/// selected layers that have it. Adds the same notes.
/// @throws InvalidArgument  as it, or if a capture has `site` in no selected layer.
std::vector<std::vector<bool>> massive_rows_by(const std::string& site,
                                               std::vector<ChosenCapture>& captures, double ratio);

/// Hides dimensions of the selected layers, and adds to the notes which.
/// @throws InvalidArgument  if a dimension does not exist, or none remains.
void skip_dimensions(std::vector<ChosenCapture>& captures, const SkippedDimensions& dimensions);

/// Returns lines that name the massive tokens of each selected layer, rows of at least 4 times the
/// median norm: how many, which token, position and dimension; consecutive layers with the same
/// ones share a line. Reads every selected layer once.
std::vector<std::string> names_of_massive_tokens(std::span<const ChosenCapture> captures);

/// Returns a line for each capture in which a few rows carry more than half of the trace of a
/// layer, and the option that omits them; judged by the first rows of each layer.
std::vector<std::string> notes_on_massive_rows(std::span<const ChosenCapture> captures);

}  // namespace lime
