// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "core/errors.h"
#include "store/capture_layout.h"
#include "store/capture_reader.h"
#include "store/capture_tools.h"
#include "store/hdf5/hdf5_file.h"
#include "store/sample_capture.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::SampleCapture;
using testing::TemporaryFolder;

/// Chunks of 1 KiB cross shards and batches; 64 KiB contain a whole shard.
struct Case {
  const char* name;
  SampleCapture sample;
  bool packed;
};

class CaptureRoundTripTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    sample_ = GetParam().sample;
    path_ = folder_ / "capture.h5";
    ASSERT_TRUE(sample_.write(path_));
    if (!GetParam().packed) return;
    const auto packed = folder_ / "packed.h5";
    pack_capture(path_, packed);
    std::filesystem::remove_all(folder_ / "capture.shards");
    std::filesystem::rename(packed, path_);
  }

  TemporaryFolder folder_;
  SampleCapture sample_;
  std::filesystem::path path_;
};

TEST_P(CaptureRoundTripTest, HidesRowsAndDimensions) {
  CaptureReader reader(path_);
  const std::vector<std::int64_t> offsets = reader.offsets();
  const RowTable table = reader.rows();
  std::vector<bool> hides(static_cast<std::size_t>(reader.num_rows()), false);
  std::vector<Eigen::Index> kept;
  for (std::size_t r = 0; r < hides.size(); ++r) {
    hides[r] = r % 7 == 3 || r % 11 == 0;
    if (!hides[r]) kept.push_back(static_cast<Eigen::Index>(r));
  }
  const auto [site, layer, dim, hook] = sample_.plan().activations.front();
  reader.hide_rows(hides);
  reader.hide_dimensions(site, layer, {0});
  EXPECT_TRUE(reader.hides_anything());
  EXPECT_FALSE(reader.has_statistics(site, layer));
  ASSERT_EQ(reader.num_rows(), std::ssize(kept));
  EXPECT_EQ(reader.dim(site, layer), dim - 1);
  EXPECT_EQ(reader.activation(site, layer).dim, dim - 1);
  const MatrixF all = sample_.expected(0);
  const MatrixF shown = all(kept, Eigen::seqN(1, dim - 1));
  EXPECT_EQ(reader.read_all(site, layer), shown);
  // From within a run of rows to within another.
  const std::int64_t count = reader.num_rows() - 3;
  EXPECT_EQ(reader.read_rows(site, layer, 2, count), shown.middleRows(2, count));
  MatrixF buffer(count, dim - 1);
  reader.read_rows(site, layer, 2, count, {buffer.data(), static_cast<std::size_t>(buffer.size())});
  EXPECT_EQ(buffer, shown.middleRows(2, count));
  ASSERT_EQ(reader.rows().size(), std::ssize(kept));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(reader.rows().token[i], table.token[static_cast<std::size_t>(kept[i])]);
  }
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    std::int64_t hidden = 0;
    for (std::int64_t r = offsets[s]; r < offsets[s + 1]; ++r) {
      hidden += hides[static_cast<std::size_t>(r)] ? 1 : 0;
    }
    EXPECT_EQ(reader.offsets()[s + 1] - reader.offsets()[s], offsets[s + 1] - offsets[s] - hidden);
  }
}

TEST_P(CaptureRoundTripTest, HidesSequences) {
  CaptureReader reader(path_);
  const std::vector<std::int64_t> offsets = reader.offsets();
  const auto [site, layer, dim, hook] = sample_.plan().activations.front();
  const auto all = static_cast<std::size_t>(reader.num_sequences());
  const MatrixF last = reader.read_sequence(site, layer, reader.num_sequences() - 1);
  const std::int32_t last_number = reader.rows().sequence.back();
  std::vector<bool> hides(all, true);
  hides[0] = hides[all - 1] = false;
  reader.hide_sequences(hides);
  ASSERT_EQ(reader.num_sequences(), 2);
  EXPECT_EQ(reader.offsets()[1], offsets[1]);
  EXPECT_EQ(reader.read_sequence(site, layer, 1), last);
  EXPECT_EQ(reader.rows().sequence.back(), last_number) << "the stored number";
  EXPECT_EQ(reader.sequences().size(), all);
  EXPECT_FALSE(reader.has_statistics(site, layer)) << "which include the others";
}

TEST_P(CaptureRoundTripTest, KeepsEveryRow) {
  const CaptureReader reader(path_);
  ASSERT_EQ(reader.num_rows(), sample_.num_rows());
  const std::vector<ActivationInfo> activations = sample_.plan().activations;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    const auto& [site, layer, dim, hook] = activations[i];
    const MatrixF expected = sample_.expected(i);
    EXPECT_EQ(reader.read_all(site, layer), expected);
    EXPECT_EQ(reader.dim(site, layer), dim);
    EXPECT_EQ(reader.activation(site, layer).hook, hook);
    for (std::int64_t first = 0; first < reader.num_rows(); first += 7) {
      const std::int64_t count = std::min<std::int64_t>(23, reader.num_rows() - first);
      EXPECT_EQ(reader.read_rows(site, layer, first, count), expected.middleRows(first, count));
    }
  }
}

TEST_P(CaptureRoundTripTest, KeepsRowsAndSequences) {
  const CaptureReader reader(path_);
  EXPECT_EQ(reader.num_sequences(), sample_.num_sequences());
  std::int64_t row = 0;
  for (std::int64_t s = 0; s < sample_.num_sequences(); ++s) {
    const auto index = static_cast<std::size_t>(s);
    EXPECT_EQ(reader.offsets()[index], row);
    const Sequence expected = sample_.sequence(s);
    EXPECT_EQ(reader.sequences()[index].text, expected.text);
    EXPECT_EQ(reader.sequences()[index].label, expected.label);
    EXPECT_EQ(reader.sequences()[index].pair, expected.pair);
    EXPECT_EQ(reader.sequences()[index].task, expected.task);
    const RowTable rows = sample_.rows(s);
    for (std::size_t i = 0; i < rows.sequence.size(); ++i, ++row) {
      const auto r = static_cast<std::size_t>(row);
      EXPECT_EQ(reader.rows().sequence[r], rows.sequence[i]);
      EXPECT_EQ(reader.rows().position[r], rows.position[i]);
      EXPECT_EQ(reader.rows().token[r], rows.token[i]);
      if (sample_.with_classes) {
        EXPECT_EQ(reader.rows().class_id[r], rows.class_id[i]);
      }
    }
    EXPECT_EQ(reader.read_sequence("values", 0, s).rows(), sample_.rows_of(s));
  }
  EXPECT_EQ(reader.offsets().back(), row);
  EXPECT_EQ(reader.read_row_table().token, reader.rows().token);
  EXPECT_EQ(std::ssize(reader.read_sequence_table()), sample_.num_sequences());
  EXPECT_THAT(reader.sequence_columns(), ElementsAre("label", "offset", "pair", "task", "text"));
}

TEST_P(CaptureRoundTripTest, KeepsAttributes) {
  const CaptureReader reader(path_);
  const CaptureInfo expected = sample_.plan().info;
  const CaptureInfo& info = reader.info();
  EXPECT_EQ(info.tool, expected.tool);
  EXPECT_EQ(info.command, expected.command);
  EXPECT_EQ(info.created_utc, expected.created_utc);
  EXPECT_EQ(reader.config(), expected.config);
  EXPECT_EQ(info.options, expected.options);
  EXPECT_EQ(info.checkpoint_sha256, expected.checkpoint_sha256);
  EXPECT_EQ(info.seed, expected.seed);
  EXPECT_EQ(info.storage, expected.storage);
  EXPECT_EQ(info.rows, expected.rows);
  EXPECT_EQ(info.prepended, expected.prepended);
  EXPECT_EQ(info.first_ids, expected.first_ids);
  EXPECT_EQ(info.first_tokens, expected.first_tokens);
  EXPECT_EQ(info.class_names, expected.class_names);
  EXPECT_EQ(info.task_names, expected.task_names);
  EXPECT_EQ(info.extra, expected.extra);
  const Json attributes = reader.attributes();
  EXPECT_EQ(attributes.at("format"), "lime-capture");
  EXPECT_EQ(attributes.at("seed"), expected.seed);
  EXPECT_EQ(attributes.at("config"), dump_json(expected.config));
  EXPECT_EQ(attributes.at("sites"), Json({"values", "hidden"}));
  EXPECT_TRUE(reader.complete());
  EXPECT_THAT(reader.sites(), ElementsAre("values", "hidden"));
  EXPECT_THAT(reader.layers("hidden"), ElementsAre(0, 1));
}

TEST_P(CaptureRoundTripTest, KnowsItsSitesAndTheirAliases) {
  CaptureReader reader(path_);
  EXPECT_TRUE(reader.has("hidden"));
  EXPECT_FALSE(reader.has("keys"));
  EXPECT_FALSE(reader.has("paper"));
  reader.set_alias("paper", "values");
  EXPECT_TRUE(reader.has("paper"));
}

TEST_P(CaptureRoundTripTest, KeepsStatisticsAndRouter) {
  const CaptureReader reader(path_);
  RunningStatistics expected;
  for (int shard = 0; shard < sample_.num_shards; ++shard) {
    RunningStatistics part;
    for (int i = 0; i < sample_.sequences_per_shard; ++i) {
      part.add(sample_.activations(1, shard * sample_.sequences_per_shard + i));
    }
    expected.merge(part);
  }
  const RunningStatistics statistics = reader.statistics("values", 1);
  EXPECT_EQ(statistics.count, sample_.num_rows());
  EXPECT_EQ(statistics.mean, expected.mean);
  EXPECT_EQ(statistics.m2, expected.m2);
  EXPECT_EQ(reader.rms_per_head("values", 1), expected.rms_per_head(2));
  EXPECT_TRUE(reader.has_statistics("hidden", 0));
  EXPECT_FALSE(reader.has_statistics("hidden", 7));
  EXPECT_THAT(reader.router_layers(), ElementsAre(1));
  EXPECT_EQ(reader.router(1), sample_.plan().router.at(1));
}

TEST_P(CaptureRoundTripTest, VerifiesAndSummarizes) {
  EXPECT_THAT(verify_capture(path_), IsEmpty());
  const CaptureSummary summary = summarize_capture(path_);
  EXPECT_EQ(summary.num_rows, sample_.num_rows());
  EXPECT_EQ(summary.num_sequences, sample_.num_sequences());
  EXPECT_EQ(summary.activations.size(), 4U);
  EXPECT_EQ(summary.shards.size(), GetParam().packed ? 0U : 3U);
  EXPECT_GT(summary.bytes_on_disk, sample_.num_rows() * 40 * 2);
}

TEST_P(CaptureRoundTripTest, ReadsInManyThreads) {
  const CaptureReader reader(path_);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const MatrixF expected = sample_.expected(t);
      const ActivationInfo what = sample_.plan().activations[t];
      for (int i = 0; i < 20; ++i) {
        if (reader.read_all(what.site, what.layer) != expected) ++wrong[t];
        if (reader.rows().size() != sample_.num_rows()) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

class PackedCaptureTest : public CaptureRoundTripTest {};

TEST_P(PackedCaptureTest, IsAnOrdinaryFileToHdf5) {
  const Hdf5File file(path_);
  const std::vector<ActivationInfo> activations = sample_.plan().activations;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    const std::string name = activation_path(activations[i].site, activations[i].layer);
    EXPECT_EQ(file.read_matrix(name), sample_.expected(i)) << name;
  }
}

constexpr SampleCapture kDeflatedFloat32 = {.compression = Compression::kDeflate};
constexpr SampleCapture kDeflatedFloat16 = {.storage = StorageType::kFloat16,
                                            .compression = Compression::kDeflate};

const auto kName = [](const auto& test) { return std::string(test.param.name); };

const auto kPacked =
    ::testing::Values(Case{"Float32Packed", {}, true},
                      Case{"Float16Packed", {.storage = StorageType::kFloat16}, true},
                      Case{"DeflatedFloat32Packed", kDeflatedFloat32, true},
                      Case{"DeflatedFloat16Packed", kDeflatedFloat16, true});

INSTANTIATE_TEST_SUITE_P(Packed, CaptureRoundTripTest, kPacked, kName);
INSTANTIATE_TEST_SUITE_P(Packed, PackedCaptureTest, kPacked, kName);
INSTANTIATE_TEST_SUITE_P(
    Shards, CaptureRoundTripTest,
    ::testing::Values(Case{"Float32Shards", {}, false},
                      Case{"Float16Shards", {.storage = StorageType::kFloat16}, false},
                      Case{"LargeChunks", {.with_classes = false, .chunk_bytes = 1 << 16}, false},
                      Case{"DeflatedFloat32Shards", kDeflatedFloat32, false},
                      Case{"DeflatedFloat16Shards", kDeflatedFloat16, false},
                      Case{"DeflatedLargeChunks",
                           {.compression = Compression::kDeflate, .chunk_bytes = 1 << 16},
                           false}),
    kName);

TEST(CaptureReaderTest, NamesWhatThereIs) {
  const TemporaryFolder folder;
  const auto path = folder / "run.h5";
  SampleCapture sample;
  sample.write(path);
  const CaptureReader reader(path);
  const auto message_of = [](const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no exception");
  };
  const std::string name = "store: '" + path.string() + "'";
  EXPECT_EQ(message_of([&] { reader.read_all("keys", 0); }),
            name + " has no site 'keys' (available: values, hidden)");
  EXPECT_EQ(message_of([&] { reader.read_all("values", 9); }),
            name + " has no layer 9 of site 'values' (available: 0-1)");
  EXPECT_EQ(message_of([&] { reader.statistics("keys", 0); }),
            name + " has no statistics of 'keys' in layer 0 (available: hidden, values)");
  EXPECT_EQ(message_of([&] { reader.router(0); }),
            name + " has no router of layer 0 (available: 1)");
  EXPECT_THROW(reader.read_rows("values", 0, -1, 1), InvalidArgument);
  EXPECT_THROW(reader.read_rows("values", 0, 0, reader.num_rows() + 1), InvalidArgument);
  EXPECT_THROW(reader.read_rows("values", 0, reader.num_rows() + 5, 0), InvalidArgument);
  std::vector<float> small(3);
  EXPECT_THROW(reader.read_rows("values", 0, 0, 2, small), InvalidArgument);
}

TEST(CaptureReaderTest, ReadsWhatAnotherToolHasRepacked) {
  // The same datasets contiguous, as written by h5repack -l CONTI: no chunks to read directly.
  const TemporaryFolder folder;
  const auto path = folder / "run.h5";
  SampleCapture sample;
  sample.write(path);
  const auto packed = folder / "packed.h5";
  pack_capture(path, packed);
  const auto repacked = folder / "repacked.h5";
  const testing::ProgramRun run = testing::run_command("h5repack -f NONE -l CONTI " +
                                                       packed.string() + " " + repacked.string());
  if (run.status != 0) GTEST_SKIP() << "needs h5repack of hdf5-tools: " << run.errors;
  const CaptureReader reader(repacked);
  EXPECT_EQ(reader.read_all("hidden", 1), sample.expected(3));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(reader.read_rows("hidden", 1, 0, 2, stop.get_token()), Interrupted);
}

}  // namespace
}  // namespace lime
