// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/inputs.h"

#include <atomic>
#include <cmath>
#include <fstream>
#include <future>
#include <system_error>

#include "core/files/sha256.h"
#include "core/program/program.h"
#include "core/threads/thread_pool.h"
#include "core/threads/threads.h"
#include "store/capture_tools.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kProgressInterval{50};

std::int64_t total_size(std::span<const fs::path> files) {
  std::int64_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code unreadable;  // reported by the reader
    const std::uintmax_t size = fs::file_size(file, unreadable);
    if (!unreadable) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

std::vector<std::string> hash_files(std::span<const fs::path> files, int num_threads,
                                    const std::stop_token& stop, const ProgressFn& on_progress) {
  std::vector<std::string> hashes(files.size());
  std::atomic<std::int64_t> bytes_read = 0;
  const auto count = [&](std::int64_t bytes) {
    bytes_read += bytes;
    throw_if_stopped(stop);
  };
  // In parallel to this thread, which shows progress.
  const auto hash_all = [&] {
    ThreadPool(num_threads)
        .parallel_for(
            std::ssize(files),
            [&](std::int64_t i) {
              const auto index = static_cast<std::size_t>(i);
              hashes[index] = sha256_of_file(files[index], count);
            },
            stop);
  };
  auto hashing = start_thread([&] { return std::async(std::launch::async, hash_all); });
  const std::int64_t total = total_size(files);
  while (hashing.wait_for(kProgressInterval) != std::future_status::ready) {
    if (on_progress) on_progress({bytes_read, total, ""});
  }
  hashing.get();
  return hashes;
}

/// Wall-clock times are rounded to milliseconds.
double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  return std::round(std::chrono::duration<double>(to - from).count() * 1e3) / 1e3;
}

/// Returns the CPU model name reported by Linux; empty if it has none.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

AnalysisInput capture_input(const CaptureReader& capture, const std::string& label) {
  const std::filesystem::path& path = capture.path();
  AnalysisInput input{path.string(), label, {path}};
  const CaptureSummary summary = summarize_capture(path);
  input.files.insert(input.files.end(), summary.shards.begin(), summary.shards.end());
  input.identity = summary.identity_sha256;
  input.text_sha256 = capture.info().input_sha256;
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
                                      const std::stop_token& stop, const ProgressFn& on_progress) {
  std::vector<fs::path> files;
  for (const AnalysisInput& input : inputs) {
    if (input.sha256.empty()) files.insert(files.end(), input.files.begin(), input.files.end());
  }
  const std::vector<std::string> hashes = hash_files(files, num_threads, stop, on_progress);

  std::vector<ResultsInput> hashed;
  auto hash = hashes.cbegin();
  for (const AnalysisInput& input : inputs) {
    if (!input.sha256.empty()) {
      hashed.push_back({input.path, input.sha256, input.label, input.text_sha256});
      continue;
    }
    const auto end = hash + static_cast<std::ptrdiff_t>(input.files.size());
    const bool is_one_file = input.files.size() == 1;
    const std::string digest =
        is_one_file ? *hash : sha256_of(fmt::format("{}", fmt::join(hash, end, "\n")));
    hashed.push_back({input.path, digest, input.label, input.text_sha256});
    hash = end;
  }
  return hashed;
}

Provenance::Provenance(int num_threads) : num_threads_(num_threads) {}

void Provenance::lap(const char* name) {
  const Clock::time_point now = Clock::now();
  laps_[name] = seconds_between(last_, now);
  last_ = now;
}

Json Provenance::to_json() const {
  Json seconds = Json::object();
  seconds["total"] = seconds_between(start_, Clock::now());
  seconds.update(laps_);
  Json provenance = Json::object();
  provenance["tool"] = tool_version();
  provenance["command"] = program_command();
  provenance["created_utc"] = utc_timestamp();
  provenance["compiler"] = __VERSION__;
  provenance["eigen"] =
      fmt::format("{}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  if (std::string name = processor_name(); !name.empty()) provenance["machine"] = std::move(name);
  provenance["threads"] = num_threads_;
  provenance["seconds"] = std::move(seconds);
  return provenance;
}

}  // namespace lime
