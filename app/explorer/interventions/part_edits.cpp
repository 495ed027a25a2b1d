// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/part_edits.h"

#include <cmath>

namespace lime::explorer {

QString partText(const PartEdit& edit, int layer_base) {
  const int layer = edit.layer + layer_base;
  switch (edit.part) {
    case DecoderPart::kAttention: return u"attention of layer %1"_s.arg(layer);
    case DecoderPart::kMlp: return u"MLP of layer %1"_s.arg(layer);
    case DecoderPart::kLayer: return u"attention and MLP of layer %1"_s.arg(layer);
    case DecoderPart::kHead: break;
  }
  return u"head %1 of layer %2"_s.arg(edit.head + layer_base).arg(layer);
}

QString actionText(const PartEdit& edit, int layer_base) {
  QString action = u"Scale"_s;
  if (edit.scale == 0.0) action = u"Skip"_s;
  if (edit.is_patched) action = u"Patch"_s;
  if (edit.changes_nothing()) action = u"Restore"_s;
  return action + u' ' + partText(edit, layer_base);
}

Json partsToJson(const PartsByCheckpoint& edits) {
  Json json = Json::object();
  for (const auto& [path, own] : edits) {
    for (const PartEdit& edit : own) {
      json[path].push_back({{"part", enum_name(edit.part)},
                            {"layer", edit.layer},
                            {"head", edit.head},
                            {"scale", edit.scale},
                            {"patched", edit.is_patched}});
    }
  }
  return json;
}

PartsByCheckpoint partsFromJson(const Json& json) {
  throw_if<FormatError>(!json.is_object(), "session: parts must be an object, got {}",
                        printable(json.dump()));
  PartsByCheckpoint edits;
  try {
    for (const auto& [path, own] : json.items()) {
      for (const Json& edit : own) {
        const auto part = find_enum<DecoderPart>(edit.at("part").get<std::string>());
        const double scale = edit.at("scale").get<double>();
        throw_if<FormatError>(!part || !std::isfinite(scale),
                              "session: parts must have a known name and a scale, got {}",
                              printable(edit.dump()));
        edits[path].push_back({*part, edit.at("layer").get<int>(), edit.value("head", 0), scale,
                               edit.value("patched", false)});
      }
    }
  } catch (const Json::exception& error) {
    throw FormatError("session: parts must be edits by checkpoint, got: {}", error.what());
  }
  return edits;
}

PartEdits::PartEdits() {
  using One = const PartEdit&;
  const auto state = [](One edit) {
    if (edit.is_patched) return u"patched"_s;
    return edit.scale == 0.0 ? u"skipped"_s : scaleText(edit.scale);
  };
  setTable(firstColumns([this](One edit) { return partText(edit, layer_base_); }, state,
                        u"Factor of the output of the part, or patched: that in the second text"_s),
           {});
}

void PartEdits::setLayerBase(int layer_base) {
  if (layer_base == layer_base_) return;
  layer_base_ = layer_base;
  updateRows(rows());
}

void PartEdits::enter(const PartEdit& edit) {
  PartEdit scaled = edit;
  scaled.is_patched = false;
  Q_EMIT scaleEntered(scaled);
}

}  // namespace lime::explorer
