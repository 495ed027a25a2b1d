// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/gauge/gauge.h"

namespace lime {

extern const Gauge kValueScale;
extern const Gauge kValueRotation;
extern const Gauge kQueryKeyScale;
extern const Gauge kHeadPermutation;
extern const Gauge kUnitScale;
extern const Gauge kUnitPermutation;
extern const Gauge kExpertPermutation;
extern const Gauge kNormFold;
extern const Gauge kNormScale;
extern const Gauge kResidualRotation;
extern const Gauge kResidualPermutation;
extern const Gauge kRouteScale;
extern const Gauge kStreamPermutation;

}  // namespace lime
