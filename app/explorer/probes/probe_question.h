// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// The target of a probe: the class of a token, or the good sentence of a minimal pair.
enum class ProbeQuestion { kSeparability, kBlimp };

/// Returns the metric of lime-metrics: "separability", "blimp".
std::string metricOf(ProbeQuestion question);

/// Returns whether a capture has representations with the labels of a question.
bool canProbe(const CaptureReader& capture, ProbeQuestion question);

}  // namespace lime::explorer
