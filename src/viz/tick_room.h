// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include "viz/figure.h"

// What ticks of a laid out axis have room for. The axis must have its size.

namespace lime {

/// How the texts at an axis' ticks are written; what comes later needs less room.
enum class TickForm { kLevel, kTurned, kCrowded };

/// The first form in which the texts at the ticks of `wanted` leave room for each other: level;
/// below a panel also turned upwards; else what the axis says where it is crowded.
TickForm fitting_form(const QCPAxis& axis, const FigureAxis& wanted);

/// How many ticks of a crowded axis one that is drawn stands for: at most ten are drawn, and no
/// more than have room. 1 where `wanted` has none.
int crowded_step(const QCPAxis& axis, const FigureAxis& wanted);

/// Gives `axis` the label and ticks of `wanted` in `form`; of a crowded axis every `step`-th.
void set_form(QCPAxis& axis, const FigureAxis& wanted, TickForm form, int step);

/// Takes ticks at round numbers away from a lower axis until their labels leave room for each
/// other; at least two are asked for.
void thin_out_numbers(QCPAxis& axis);

}  // namespace lime
