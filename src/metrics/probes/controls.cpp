// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/controls.h"

#include <map>

#include "core/errors.h"
#include "core/random.h"

namespace lime {

std::vector<int> shuffled_labels(std::span<const int> classes, std::uint64_t seed) {
  std::vector<int> labels(classes.begin(), classes.end());
  Random(seed).shuffle(std::span<int>(labels));
  return labels;
}

std::vector<int> control_task_labels(std::span<const int> types, std::span<const int> classes,
                                     std::uint64_t seed) {
  if (types.size() != classes.size()) {
    throw InvalidArgument("control task: needs a type for each of {} rows, got {}", classes.size(),
                          types.size());
  }
  const Random random(seed);
  std::map<int, int> class_of_type;
  std::vector<int> labels;
  for (const int type : types) {
    const auto [place, is_new] = class_of_type.emplace(type, 0);
    if (is_new) {
      // The class of a random row has the class frequencies of the rows.
      Random own = random.fork(static_cast<std::uint64_t>(type));
      place->second = classes[static_cast<std::size_t>(own.below(classes.size()))];
    }
    labels.push_back(place->second);
  }
  return labels;
}

bool types_are_classes(std::span<const int> types, std::span<const int> classes) {
  std::map<int, int> type_of_class;
  std::map<int, int> class_of_type;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (type_of_class.emplace(classes[i], types[i]).first->second != types[i]) return false;
    if (class_of_type.emplace(types[i], classes[i]).first->second != classes[i]) return false;
  }
  return true;
}

MatrixF random_features(Eigen::Index num_rows, Eigen::Index dim, std::uint64_t seed) {
  Random random(seed);
  MatrixF rows(num_rows, dim);
  for (Eigen::Index i = 0; i < rows.size(); ++i) {
    rows.data()[i] = static_cast<float>(random.normal());
  }
  return rows;
}

}  // namespace lime
