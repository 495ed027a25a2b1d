// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/capture_reader.h"
#include "store/capture_tools.h"
#include "store/sample_capture.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::ProgramRun;
using testing::run_command;
using testing::SampleCapture;
using testing::TemporaryFolder;

template <typename T>
void write_raw(const std::filesystem::path& path, const T* values, std::size_t count) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values),
             static_cast<std::streamsize>(count * sizeof(T)));
}

/// Returns a python3 that has h5py, or an empty text.
std::string find_python() {
  for (const std::string candidate : {"python3", "/usr/bin/python3"}) {
    if (run_command(candidate + " -c 'import h5py'").status == 0) return candidate;
  }
  return "";
}

class CapturePythonTest : public ::testing::TestWithParam<std::pair<StorageType, Compression>> {
 protected:
  void SetUp() override {
    if (python_.empty()) GTEST_SKIP() << "needs a python3 with h5py (Debian: python3-h5py)";
    std::tie(sample_.storage, sample_.compression) = GetParam();
    const auto expected = folder_ / "expected";
    std::filesystem::create_directory(expected);
    const std::vector<ActivationInfo> activations = sample_.plan().activations;
    for (std::size_t i = 0; i < activations.size(); ++i) {
      const MatrixF values = sample_.expected(i);
      write_raw(expected / fmt::format("{}-{}.f32", activations[i].site, activations[i].layer),
                values.data(), static_cast<std::size_t>(values.size()));
    }
    ASSERT_TRUE(sample_.write(folder_ / "capture.h5"));
    const RowTable rows = CaptureReader(folder_ / "capture.h5").rows();
    write_raw(expected / "sequence.i32", rows.sequence.data(), rows.sequence.size());
    write_raw(expected / "position.i32", rows.position.data(), rows.position.size());
    write_raw(expected / "token.i32", rows.token.data(), rows.token.size());
  }

  ProgramRun read(const std::filesystem::path& capture) const {
    return run_command(fmt::format("{} {} {} {}", python_,
                                   testing::source_file("tests/store/read_capture.py").string(),
                                   capture.string(), (folder_ / "expected").string()));
  }

  TemporaryFolder folder_;
  SampleCapture sample_;
  std::string python_ = find_python();
};

TEST_P(CapturePythonTest, ReadsTheMasterThroughItsVirtualDatasets) {
  const ProgramRun run = read(folder_ / "capture.h5");
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, ::testing::HasSubstr("read 4 datasets through virtual datasets"));
}

TEST_P(CapturePythonTest, ReadsTheMasterFromAnotherFolder) {
  // The paths of the virtual datasets are relative to the master, not to the reader.
  std::filesystem::create_directory(folder_ / "moved");
  std::filesystem::rename(folder_ / "capture.h5", folder_ / "moved/capture.h5");
  std::filesystem::rename(folder_ / "capture.shards", folder_ / "moved/capture.shards");
  const ProgramRun run = read(folder_ / "moved/capture.h5");
  EXPECT_EQ(run.status, 0) << run.errors;
}

TEST_P(CapturePythonTest, ReadsThePackedFile) {
  pack_capture(folder_ / "capture.h5", folder_ / "packed.h5");
  const ProgramRun run = read(folder_ / "packed.h5");
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, ::testing::HasSubstr("in one plain file"));
}

INSTANTIATE_TEST_SUITE_P(All, CapturePythonTest,
                         ::testing::Values(std::pair(StorageType::kFloat32, Compression::kNone),
                                           std::pair(StorageType::kFloat16, Compression::kNone),
                                           std::pair(StorageType::kFloat32, Compression::kDeflate),
                                           std::pair(StorageType::kFloat16, Compression::kDeflate)),
                         [](const auto& test) {
                           return std::string(enum_name(test.param.first)) +
                                  std::string(enum_name(test.param.second));
                         });

}  // namespace
}  // namespace lime
