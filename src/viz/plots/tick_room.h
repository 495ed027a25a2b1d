// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <qcustomplot.h>

#include "viz/figure.h"

// Selection of tick labels that fit an axis after layout. The axis must have its final size.

namespace lime {

/// Style of tick labels; later ones need less room.
enum class TickForm { kLevel, kTurned, kCrowded };

/// Returns the first form in which the labels of `wanted` do not overlap: level; below a panel also
/// rotated; else the reduced labels of crowded axes.
TickForm fitting_form(const QCPAxis& axis, const FigureAxis& wanted);

/// Returns n such that every n-th tick of a crowded axis is drawn: at most ten, and only as many as
/// fit. 1 if `wanted` has none.
int crowded_step(const QCPAxis& axis, const FigureAxis& wanted);

/// Sets the label and ticks of `wanted` in `form`; on a crowded axis every `step`-th tick.
void set_form(QCPAxis& axis, const FigureAxis& wanted, TickForm form, int step);

/// Removes ticks of a lower axis until their labels do not overlap; requests at least two.
void thin_out_numbers(QCPAxis& axis);

}  // namespace lime
