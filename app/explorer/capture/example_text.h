// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "explorer/models/text.h"

namespace lime::explorer {

/// Returns an English text for a first capture: enough sequences for intervals, one per line.
QString exampleText();

}  // namespace lime::explorer
