// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/embeddings_file.h"

namespace lime {

/// Turns, mirrors and moves each layer of a site onto the one before it, so that points can be
/// followed from layer to layer: t-SNE is free in all three. Distances stay as they are, up to one
/// factor per layer, which gives all layers the first one's size.
void align_layers(CaptureEmbeddings& capture);

}  // namespace lime
