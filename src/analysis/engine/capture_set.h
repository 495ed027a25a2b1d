// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/matched_length.h"
#include "analysis/engine/skipped_dimensions.h"
#include "checkpoint/tokenizer.h"
#include "core/layer_selection.h"
#include "store/capture_reader.h"

namespace lime {

class Checkpoint;

/// Selects captures, sites and layers for a metric.
struct CaptureSetOptions {
  std::vector<std::filesystem::path> captures = {"capture.h5"};
  std::vector<std::string> label;
  LayerSelection layer;           ///< all by default
  std::vector<std::string> site;  ///< empty: all but attention patterns
  /// Tokens omitted at the beginning of every sequence, >= 0; of analyses with describe_skip().
  std::int64_t skip_tokens = 0;
  /// Tokens to which all sequences are cut, after skip_tokens; unset: all. Of the same analyses.
  std::optional<MatchedLength> match_length;
  /// Rows of at least this multiple of a layer's median norm are omitted, > 1; unset: none.
  std::optional<double> skip_massive;
  SkippedDimensions skip_dims;  ///< dimensions omitted; none by default
  std::optional<std::int64_t> max_sequences;
  /// Whether to note rows that carry most of the trace of a layer, which reads a part of every
  /// layer first. For callers that show no notes; no option.
  bool notes_massive_rows = true;

  void describe_inputs(OptionList& list);
  void describe(OptionList& list);
  void describe_skip(OptionList& list);
  /// Describes only `match_length`.
  void describe_match_length(OptionList& list);
  /// Describes only `skip_tokens` and `match_length`, for metrics that are no functions of whole
  /// rows.
  void describe_skip_tokens(OptionList& list);
  /// Describes only `skip_massive` and `skip_dims`.
  void describe_skip_outliers(OptionList& list);
  /// Describes layers and labels, for metrics of one site.
  void describe_layers(OptionList& list);
  void describe_max_sequences(OptionList& list);
  /// @throws InvalidArgument  if labels and captures differ in number, or a label is duplicated.
  void validate() const;
};

/// `--site paper`: the values that attention reads, which the LIMe code measures
/// (value_wrapper.py): `routed_values` of a decoder that mixes them, else `values`.
inline constexpr const char* kPaperSite = "paper";

/// Returns false for sites of attention, routers and the logit lens, which have metrics of their
/// own.
bool is_representation(const std::string& site);

/// Returns true if attention reads other values than the output of W_V, as in a LIMe.
bool reads_other_values(const CaptureReader& capture);

/// An open capture with its selected sites and layers.
struct ChosenCapture {
  struct Part {
    std::string site;  ///< as in results; the reader accepts this name, also kPaperSite
    std::vector<int> layers;
  };
  std::string label;
  CaptureReader reader;
  std::vector<Part> parts = {};    ///< in the order of the options, else of the capture
  std::int64_t num_sequences = 0;  ///< used: all, or the first `max_sequences`
  std::string identity = {};       ///< of the tokens of these sequences, equal for the same text
  std::vector<std::string> notes = {};  ///< what the options omit of it
  bool notes_massive_rows = true;       ///< as in the options
};

/// Opens the captures and selects their sites and layers.
/// @throws InvalidArgument  if a capture lacks a site or layer; names it and the existing ones.
std::vector<ChosenCapture> open_captures(const CaptureSetOptions& options);

/// Selects one site of a capture and the layers of `options`. @throws InvalidArgument
void select_site(ChosenCapture& capture, const std::string& site, const CaptureSetOptions& options);

std::vector<ChosenCapture> open_without_parts(const CaptureSetOptions& options);

/// Returns "LIMe: 20 sequences, 352 tokens, lime.h5 (the first of 2000 sequences)" with the site of
/// kPaperSite, and whether the capture was interrupted. Rows must be tokens.
std::string describe_sequences(const ChosenCapture& capture);

/// Leaves out the sequences of fewer than two tokens, of which no metric of whole sequences has a
/// value, and notes their number.
/// @param num_views  sequences that are views of one text, which is left out with all of them
/// @throws InvalidArgument  if rows are not whole sequences of tokens, or no sequence is left.
void skip_short_sequences(ChosenCapture& capture, std::string_view metric,
                          std::int64_t num_views = 1);

/// Reads the tokenizer of a checkpoint, for the texts of the tokens in `captures`.
/// @throws InvalidArgument  if a capture was made with another tokenizer.
std::unique_ptr<Tokenizer> tokenizer_of(const std::filesystem::path& checkpoint,
                                        std::span<const ChosenCapture> captures);

void require_positive(std::string_view option, const std::optional<std::int64_t>& number);

bool all_distinct(const std::vector<std::string>& names);

/// @throws InvalidArgument  if `capture` was made with another checkpoint.
void check_same_checkpoint(const CaptureReader& capture, const Checkpoint& checkpoint);

/// Returns default labels: the file name, or the folder name of `capture.h5`; else the path.
std::vector<std::string> default_labels(const std::vector<std::filesystem::path>& paths);

}  // namespace lime
