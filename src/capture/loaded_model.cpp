// SPDX-License-Identifier: Apache-2.0
#include "capture/loaded_model.h"

#include <c10/util/Exception.h>

#include "capture/capture_sizes.h"
#include "model/decoders/stage_plan.h"

namespace lime {

LoadedModel::LoadedModel(const CaptureOptions& options, const Checkpoint& checkpoint,
                         const CaptureTuning& tuning, ProgressFn on_load)
    : checkpoint_(checkpoint),
      on_load_(std::move(on_load)),
      options_{.devices = parse_devices(options.device, tuning.neighbour), .dtype = options.dtype},
      random_seed_(options.random_weights ? std::optional(options.seed) : std::nullopt),
      tries_batches_(!options_.devices.front().is_cpu() || tuning.tries_batches) {
  plan_stages(decoder_sizes(checkpoint.config()), static_cast<int>(options_.devices.size()));
}

const Decoder& LoadedModel::decoder(const CaptureSetup& setup) {
  if (decoder_) return *decoder_;
  try {
    decoder_.emplace(random_seed_ ? Decoder(checkpoint_.config(), *random_seed_, options_)
                                  : load_decoder(checkpoint_, options_, on_load_));
  } catch (const c10::OutOfMemoryError&) {
    throw InvalidArgument(
        OptionName("device"),
        "'{}' has too little memory for the weights in {}; use a narrower --dtype or "
        "another --device",
        devices_text(options_.devices), enum_name(options_.dtype));
  }
  apply_router_edits(setup.edits.routes, *decoder_);
  return *decoder_;
}

CapturePlace LoadedModel::place() {
  CapturePlace place{.devices = options_.devices};
  if (tries_batches_) {
    place.largest_batch = [this](const CaptureSetup& setup, std::int64_t most) {
      return lime::largest_batch(setup, decoder(setup), most);
    };
  }
  return place;
}

void fail_out_of_memory(const CaptureSetup& setup, const Decoder& decoder) {
  const std::int64_t fitting =
      largest_batch(setup, decoder, setup.batch_size - setup.smallest_batch);
  const std::string remedy =
      fitting > 0
          ? fmt::format("{} would fit: pass --batch-size {}, or auto", fitting, fitting)
          : "fewer do not fit either: use a narrower --dtype, fewer --layers or shorter sequences";
  throw InvalidArgument(
      OptionName("device"),
      "'{}' has too little memory for passes of {} sequences of up to {} tokens; {}",
      devices_text(decoder.options().devices), setup.batch_size, setup.input.longest(), remedy);
}

CapturePreview preview_of(const CaptureSetup& setup, const Checkpoint& checkpoint,
                          const Decoder& decoder) {
  CapturePreview preview = setup.preview;
  preview.warnings.insert(preview.warnings.begin(), checkpoint.warnings().begin(),
                          checkpoint.warnings().end());
  for (const DecoderStage& stage : decoder.stages()) {
    preview.stages.push_back(
        {stage.device.str(), stage.layers.first, stage.layers.end() - 1, stage.weight_bytes});
  }
  return preview;
}

}  // namespace lime
