// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qrgb.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/options.h"
#include "explorer/embeddings/embedding_set.h"

namespace lime::explorer {

/// The meaning of the colour of a point.
enum class EmbeddingColour { kClass, kToken, kPosition, kSequence };
constexpr auto names_of(EmbeddingColour) {
  using enum EmbeddingColour;
  return enum_table<EmbeddingColour>(
      {{kClass, "class"}, {kToken, "token"}, {kPosition, "position"}, {kSequence, "sequence"}});
}

/// The groups of the points of all models of a set, with the same names in all of them.
struct EmbeddingGroups {
  std::vector<std::string> names;             ///< empty: the colour is a number
  std::vector<std::vector<int>> group;        ///< [model][point], into names
  std::vector<std::vector<double>> fraction;  ///< [model][point], in [0, 1], where names is empty

  std::vector<int> pointsOf(std::size_t model, int group) const;
};

/// Returns the colour that says something of this set: classes if it has some, else positions.
EmbeddingColour usualColour(const EmbeddingSet& set);

/// Groups the points of a set. The most frequent tokens have names, the rest is "other".
EmbeddingGroups groupsOf(const EmbeddingSet& set, EmbeddingColour colour);

/// Returns the colour of a number, 0 for the smallest and 1 for the largest.
QRgb colourOf(double fraction, bool dark);
/// Returns the colour of each point of a model. @param dark  on a dark background
std::vector<QRgb> coloursOf(const EmbeddingGroups& groups, std::size_t model, bool dark);

}  // namespace lime::explorer
