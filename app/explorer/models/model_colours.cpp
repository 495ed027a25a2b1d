// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/model_colours.h"

#include <set>

namespace lime::explorer {

bool ModelColours::join(const QStringList& names) {
  std::set<int> joined;
  for (const QString& name : names) {
    if (knows(name)) joined.insert(of(name));
  }
  int number = 0;
  if (joined.empty()) {
    const std::set<int> taken(numbers_.cbegin(), numbers_.cend());
    while (taken.contains(number)) ++number;
  } else {
    number = *joined.begin();
  }
  for (int& other : numbers_) {
    if (joined.contains(other)) other = number;
  }
  for (const QString& name : names) numbers_.insert(name, number);
  return joined.size() > 1;
}

}  // namespace lime::explorer
