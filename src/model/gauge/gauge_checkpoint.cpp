// SPDX-License-Identifier: Apache-2.0
#include "model/gauge/gauge_checkpoint.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "checkpoint/tokenizer/tokenizer_files.h"
#include "core/files/atomic_file.h"
#include "core/json.h"
#include "core/program/program.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// A hidden folder beside the final one, which is removed unless it was renamed.
class PartialFolder {
 public:
  explicit PartialFolder(const fs::path& output)
      : output_(output),
        path_(output.parent_path() /
              fmt::format(".{}.part-{}-{}", output.filename().string(), host_name(), ::getpid())) {
    make_folder(path_);
  }
  ~PartialFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const fs::path& path() const { return path_; }

  void commit() const {
    std::error_code error;
    fs::rename(path_, output_, error);
    if (error) {
      throw IoError("'{}': cannot be created: {}", output_.string(), describe_errno(error.value()));
    }
  }

 private:
  fs::path output_;
  fs::path path_;
};

at::Tensor logits_in_double(const Checkpoint& checkpoint, std::span<const std::int32_t> tokens) {
  const at::NoGradGuard no_grad;
  const at::Tensor ids =
      at::empty({1, static_cast<std::int64_t>(tokens.size())}, at::TensorOptions(at::kLong));
  std::ranges::copy(tokens, ids.data_ptr<std::int64_t>());
  const Decoder decoder = load_decoder(checkpoint, {.dtype = ComputeType::kFloat64});
  return decoder.forward(ids).logits.clone();
}

/// Writes the files of the tokenizer and of generation that a checkpoint has.
void write_other_files(const fs::path& folder, const Checkpoint& checkpoint) {
  for (const auto& [name, content] : tokenizer_files(checkpoint.path())) {
    write_file_atomically(folder / name, content);
  }
  const fs::path config = checkpoint.files().config;
  const fs::path generation = config.parent_path() / "generation_config.json";
  if (config.filename() != "config.json" || !path_exists(generation)) return;
  write_file_atomically(folder / "generation_config.json", MappedFile(generation).text());
}

void write_weights(const fs::path& folder, const GaugeWeights& weights) {
  std::vector<TensorView> views;
  for (const GaugeWeights::Entry& entry : weights.entries()) {
    const std::span<const double> values(entry.tensor.data_ptr<double>(),
                                         static_cast<std::size_t>(entry.tensor.numel()));
    views.push_back({entry.spec.name, Dtype::kF64, entry.spec.shape, std::as_bytes(values)});
  }
  ModelConfig config = weights.config();
  config.torch_dtype = "float64";
  write_checkpoint(folder, config, views);
}

void write_record(const fs::path& folder, const GaugeRequest& request, const Checkpoint& checkpoint,
                  const GaugeProof& proof) {
  const Json strength =
      find_gauge(request.transform).has_strength ? Json(request.strength.value_or(1.0)) : Json();
  const Json json = {{"format", "lime-gauge/1"},
                     {"transform", request.transform},
                     {"strength", strength},
                     {"seed", request.seed},
                     {"checkpoint_sha256", checkpoint.sha256()},
                     {"tokens", proof.num_tokens},
                     {"largest_logit", proof.largest_logit},
                     {"largest_difference", proof.difference},
                     {"tool", tool_version()}};
  write_file_atomically(folder / "gauge.json", json.dump(2) + "\n");
}

GaugeProof prove(const at::Tensor& original, const at::Tensor& transformed,
                 const GaugeRequest& request) {
  const GaugeProof proof{.num_tokens = original.size(0) * original.size(1),
                         .largest_logit = original.abs().max().item<double>(),
                         .difference = (original - transformed).abs().max().item<double>()};
  // NaN is not within the tolerance.
  const bool is_exact = proof.difference <= kGaugeTolerance * proof.largest_logit;
  if (is_exact && proof.largest_logit > 0.0) return proof;
  throw NumericalError(
      "gauge: logits after '{}' must differ by rounding only, at most {:g} of the largest, got "
      "{:g} "
      "of {:g}; use a smaller --strength or another --seed",
      request.transform, kGaugeTolerance, proof.difference, proof.largest_logit);
}

}  // namespace

std::vector<std::int32_t> random_ids(const ModelConfig& config, std::int64_t count,
                                     std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(
        static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(config.vocab_size))));
  }
  return ids;
}

GaugeProof write_gauged_checkpoint(const Checkpoint& checkpoint, const GaugeRequest& request,
                                   std::span<const std::int32_t> ids, const fs::path& output) {
  checkpoint.config().require_head("gauge");
  throw_if(path_exists(output), OptionName("output"),
           "'{}' exists; delete it, or write to another folder", output.string());
  const at::NoGradGuard no_grad;
  const fs::path folder = output.has_filename() ? output : output.parent_path();
  const PartialFolder partial(fs::absolute(folder));
  {
    GaugeWeights weights(checkpoint);
    apply_gauge(request, weights);
    write_weights(partial.path(), weights);
  }
  const at::Tensor original = logits_in_double(checkpoint, ids);
  const at::Tensor transformed = logits_in_double(Checkpoint::open(partial.path()), ids);
  const GaugeProof proof = prove(original, transformed, request);
  write_other_files(partial.path(), checkpoint);
  write_record(partial.path(), request, checkpoint, proof);
  partial.commit();
  return proof;
}

}  // namespace lime
