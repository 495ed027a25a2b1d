// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/capture.h"
#include "capture/capture_setup.h"
#include "core/program/progress.h"
#include "model/decoders/decoder.h"

namespace lime {

/// The decoder of a capture, loaded on first use: errors in the input are reported first.
class LoadedModel {
 public:
  /// @param checkpoint  must outlive this.
  /// @param on_load     of the weights, in bytes.
  /// @throws InvalidArgument  for an invalid device, or more devices than layers.
  LoadedModel(const CaptureOptions& options, const Checkpoint& checkpoint,
              const CaptureTuning& tuning, ProgressFn on_load);

  /// Returns the decoder with the router edits of `setup`, or with random weights.
  /// @throws InvalidArgument  if the device has too little memory for the weights.
  const Decoder& decoder(const CaptureSetup& setup);

  CapturePlace place();
  const std::vector<c10::Device>& devices() const { return options_.devices; }

 private:
  const Checkpoint& checkpoint_;
  const ProgressFn on_load_;
  const DecoderOptions options_;
  const std::optional<std::uint64_t> random_seed_;  ///< draws the weights
  const bool tries_batches_;
  std::optional<Decoder> decoder_;
};

/// Reports which batch would fit; call after the memory of the failed pass has been freed.
/// @throws InvalidArgument
[[noreturn]] void fail_out_of_memory(const CaptureSetup& setup, const Decoder& decoder);

/// Returns the warnings and the stages of the loaded model in addition to the preview of `setup`.
CapturePreview preview_of(const CaptureSetup& setup, const Checkpoint& checkpoint,
                          const Decoder& decoder);

}  // namespace lime
