// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embedding_groups.h"

#include <QString>
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "explorer/models/text.h"
#include "store/embeddings_file.h"
#include "viz/class_colours.h"
#include "viz/colour.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kMaxTokens = 6;  // with a colour of their own

std::string plain(const std::string& name) {
  return name.size() > 1 && name.front() == ' ' ? name.substr(1) : name;
}

/// Numbers names as they come.
int numberOf(std::vector<std::string>& names, const std::string& name) {
  if (!contains(names, name)) names.push_back(name);
  return static_cast<int>(std::ranges::find(names, name) - names.begin());
}

void groupByClass(const EmbeddingSet& set, EmbeddingGroups& groups) {
  const auto nameOf = [](const EmbeddedModel& model, std::int16_t id) {
    return id < 0 ? "other" : plain(model.points.class_names[static_cast<std::size_t>(id)]);
  };
  // The classes that have rows, in the order of the captures' classes, as figures do.
  for (const EmbeddedModel& model : set.models) {
    const std::vector<std::int16_t>& ids = model.points.table.class_id;
    for (const std::int16_t id : std::set(ids.begin(), ids.end())) {
      if (id >= 0) numberOf(groups.names, nameOf(model, id));
    }
  }
  for (const EmbeddedModel& model : set.models) {
    std::vector<int>& group = groups.group.emplace_back();
    for (const std::int16_t id : model.points.table.class_id) {
      group.push_back(numberOf(groups.names, nameOf(model, id)));
    }
  }
}

void groupByToken(const EmbeddingSet& set, EmbeddingGroups& groups) {
  std::map<std::int32_t, std::int64_t> count;
  for (const EmbeddedModel& model : set.models) {
    for (const std::int32_t token : model.points.table.token) ++count[token];
  }
  std::vector<std::pair<std::int64_t, std::int32_t>> common;
  for (const auto& [token, times] : count) common.emplace_back(-times, token);
  std::sort(common.begin(), common.end());
  std::map<std::int32_t, int> number;
  for (std::size_t i = 0; i < std::min(common.size(), kMaxTokens); ++i) {
    const std::int32_t token = common[i].second;
    QString name = u"#%1"_s.arg(token);
    for (const EmbeddedModel& model : set.models) {
      if (model.sentences) name = model.sentences->tokenText(token);
    }
    number[token] = static_cast<int>(groups.names.size());
    groups.names.push_back(plain(name.toStdString()));
  }
  const auto other = static_cast<int>(groups.names.size());
  if (common.size() > kMaxTokens) groups.names.emplace_back("other");
  for (const EmbeddedModel& model : set.models) {
    std::vector<int>& group = groups.group.emplace_back();
    for (const std::int32_t token : model.points.table.token) {
      const auto at = number.find(token);
      group.push_back(at == number.end() ? other : at->second);
    }
  }
}

void gradeBy(const EmbeddingSet& set, std::vector<std::int32_t> RowTable::*column,
             EmbeddingGroups& groups) {
  std::int32_t most = 1;
  for (const EmbeddedModel& model : set.models) {
    for (const std::int32_t value : model.points.table.*column) most = std::max(most, value);
  }
  for (const EmbeddedModel& model : set.models) {
    std::vector<double>& fraction = groups.fraction.emplace_back();
    for (const std::int32_t value : model.points.table.*column) {
      fraction.push_back(static_cast<double>(value) / most);
    }
  }
}

QRgb rgb(Colour colour) { return qRgb(colour.red, colour.green, colour.blue); }

}  // namespace

std::vector<int> EmbeddingGroups::pointsOf(std::size_t model, int number) const {
  std::vector<int> points;
  for (int i = 0; i < std::ssize(group[model]); ++i) {
    if (group[model][static_cast<std::size_t>(i)] == number) points.push_back(i);
  }
  return points;
}

EmbeddingColour usualColour(const EmbeddingSet& set) {
  for (const EmbeddedModel& model : set.models) {
    const std::vector<std::int16_t>& ids = model.points.table.class_id;
    if (std::ranges::any_of(ids, [](std::int16_t id) { return id >= 0; })) {
      return EmbeddingColour::kClass;
    }
  }
  return set.models.empty() ? EmbeddingColour::kClass : EmbeddingColour::kPosition;
}

EmbeddingGroups groupsOf(const EmbeddingSet& set, EmbeddingColour colour) {
  EmbeddingGroups groups;
  if (colour == EmbeddingColour::kClass) groupByClass(set, groups);
  if (colour == EmbeddingColour::kToken) groupByToken(set, groups);
  if (colour == EmbeddingColour::kPosition) gradeBy(set, &RowTable::position, groups);
  if (colour == EmbeddingColour::kSequence) gradeBy(set, &RowTable::sequence, groups);
  return groups;
}

QRgb colourOf(double fraction, bool dark) {
  // The lightest tenth is lost on white, the darkest on black.
  const double place = dark ? 0.2 + 0.8 * fraction : 0.9 * fraction;
  return rgb(heatmap_colour(HeatmapPalette::kViridis, place));
}

std::vector<QRgb> coloursOf(const EmbeddingGroups& groups, std::size_t model, bool dark) {
  std::vector<QRgb> colours;
  if (groups.names.empty()) {
    for (const double fraction : groups.fraction[model]) {
      colours.push_back(colourOf(fraction, dark));
    }
    return colours;
  }
  std::vector<QRgb> palette;
  for (const std::size_t colour : class_colours(groups.names)) {
    palette.push_back(colour == kMutedColour
                          ? qRgb(140, 140, 140)
                          : rgb(colour_of_group(ClassPalette::kOkabeIto, colour, dark)));
  }
  for (const int group : groups.group[model]) {
    colours.push_back(palette[static_cast<std::size_t>(group)]);
  }
  return colours;
}

}  // namespace lime::explorer
