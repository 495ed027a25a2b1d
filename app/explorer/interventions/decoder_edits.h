// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "checkpoint/router_layout.h"
#include "explorer/interventions/part_edits.h"

namespace lime::explorer {

/// The edits of a decoder that the explorer can make.
struct DecoderEdits {
  std::vector<RouterEdit> routes = {};
  std::vector<PartEdit> parts = {};

  bool isEmpty() const { return routes.empty() && parts.empty(); }
  /// Returns whether a part takes its output from the second text.
  bool patches() const { return std::ranges::any_of(parts, &PartEdit::is_patched); }
  bool operator==(const DecoderEdits&) const = default;
};

/// The capture of the second text in files of edits and copied commands.
inline const QString kPatchFile = u"second.h5"_s;

/// Returns the values of --edit that make these edits: "skip mlp layers=3".
/// @param patch_file  capture of the second text
QStringList editTexts(const DecoderEdits& edits, const QString& patch_file = kPatchFile);

/// Writes edits as a file of --edit: in the format of routers, if there are no others.
std::string editsFile(const DecoderEdits& edits, const QString& patch_file = kPatchFile);
/// Reads such a file. @throws IoError; FormatError  naming an edit of other activations
DecoderEdits readEditsFile(const std::filesystem::path& path);

/// Checks that the model has the routes, layers and heads. @throws InvalidArgument
void checkEdits(const DecoderEdits& edits, const ModelConfig& config);

/// Returns the options of lime-capture that store of the second text what patches read:
/// {"--sites", "hook_mlp_out", "--layers", "1,3"}.
QStringList patchedSites(const DecoderEdits& edits);

}  // namespace lime::explorer
