// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qrgb.h>

#include <string>
#include <vector>

#include "explorer/models/cloud_set.h"
#include "viz/figure.h"

namespace lime::explorer {

/// What the colour of a point says.
enum class CloudColour { kClass, kToken, kPosition, kSequence };

/// Groups of the points of all models of a set, named alike in all of them.
struct CloudGroups {
  std::vector<std::string> names;             ///< empty: the colour is a number
  std::vector<std::vector<int>> group;        ///< [model][point], into names
  std::vector<std::vector<double>> fraction;  ///< [model][point], in [0, 1], where names is empty
};

/// Of tokens the commonest have names, the rest is "other".
CloudGroups groupsOf(const CloudSet& set, CloudColour colour);

/// @param dark  on a dark ground.
std::vector<QRgb> coloursOf(const CloudGroups& groups, std::size_t model, bool dark);

/// The clouds of one layer as a figure, a panel per model that has it.
Figure cloudsFigure(const CloudSet& set, const CloudGroups& groups, const std::string& site,
                    int layer, int layer_base);

}  // namespace lime::explorer
