// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

namespace lime::explorer {

/// Returns the path of a file that does not exist in the last folder: "capture.h5", "capture-2.h5".
QString freeName(const QString& name, const QString& extension);

}  // namespace lime::explorer
