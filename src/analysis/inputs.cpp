// SPDX-License-Identifier: Apache-2.0
#include "analysis/inputs.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "core/sha256.h"
#include "core/thread_pool.h"
#include "store/capture_tools.h"

namespace lime {

AnalysisInput capture_input(const CaptureReader& capture, const std::string& label) {
  const std::filesystem::path& path = capture.path();
  AnalysisInput input{path.string(), label, {path}};
  for (const std::filesystem::path& shard : summarize_capture(path).shards) {
    input.files.push_back(shard);
  }
  return input;
}

std::vector<AnalysisInput> capture_inputs(std::span<const ChosenCapture> captures) {
  std::vector<AnalysisInput> inputs;
  for (const ChosenCapture& capture : captures) {
    inputs.push_back(capture_input(capture.reader, capture.label));
  }
  return inputs;
}

std::vector<ResultsInput> hash_inputs(std::span<const AnalysisInput> inputs, int num_threads,
                                      std::stop_token stop) {
  std::vector<const std::filesystem::path*> files;
  for (const AnalysisInput& input : inputs) {
    if (!input.sha256.empty()) continue;
    for (const std::filesystem::path& file : input.files) files.push_back(&file);
  }
  std::vector<std::string> hashes(files.size());
  ThreadPool(num_threads)
      .parallel_for(
          static_cast<std::int64_t>(files.size()),
          [&](std::int64_t i) {
            const auto index = static_cast<std::size_t>(i);
            hashes[index] = sha256_of_file(*files[index]);
          },
          std::move(stop));

  std::vector<ResultsInput> hashed;
  auto hash = hashes.begin();
  for (const AnalysisInput& input : inputs) {
    if (!input.sha256.empty()) {
      hashed.push_back({input.path, input.sha256, input.label});
      continue;
    }
    const auto end = hash + static_cast<std::ptrdiff_t>(input.files.size());
    const bool is_one_file = input.files.size() == 1;
    const std::string digest =
        is_one_file ? *hash : sha256_of(fmt::format("{}", fmt::join(hash, end, "\n")));
    hashed.push_back({input.path, digest, input.label});
    hash = end;
  }
  return hashed;
}

}  // namespace lime
