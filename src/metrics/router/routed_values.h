// SPDX-License-Identifier: Apache-2.0
#pragma once

// The headers of src/analysis that include this one get their own includes with the renames.
#include "metrics/router/cancellation_index.h"
#include "metrics/router/layer_router.h"
#include "metrics/router/routed_attention.h"
#include "metrics/router/spectrum_calculator.h"
#include "metrics/router/value_buffer.h"
#include "metrics/router/value_router.h"
