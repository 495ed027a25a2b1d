// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>

#include "store/capture_reader.h"
#include "store/capture_writer.h"
#include "support/test_data.h"

namespace lime {
namespace {

/// A dataset with so many chunks that they are queried individually instead of listed.
TEST(ChunkReaderTest, ReadsDatasetsOfVeryManyChunks) {
  const testing::TemporaryFolder folder;
  for (const auto& [storage, compression] :
       {std::pair(StorageType::kFloat32, Compression::kNone),
        std::pair(StorageType::kFloat16, Compression::kNone),
        std::pair(StorageType::kFloat32, Compression::kDeflate),
        std::pair(StorageType::kFloat16, Compression::kDeflate)}) {
    constexpr Eigen::Index kRows = 5000;
    constexpr Eigen::Index kDim = 256;
    CapturePlan plan;
    plan.info.storage = storage;
    plan.info.compression = compression;
    plan.activations = {{"hidden", 0, kDim, "blocks.0.hook_resid_post"}};
    const auto path = folder / "many.h5";
    CaptureWriter writer(path, plan, {.if_exists = IfExists::kReplace, .chunk_bytes = 1024});
    MatrixF rows(kRows, kDim);
    for (Eigen::Index r = 0; r < kRows; ++r) rows.row(r).setConstant(static_cast<float>(r % 2048));
    RowTable table;
    table.sequence.resize(kRows, 0);
    table.position.resize(kRows, 0);
    table.token.resize(kRows, 0);
    ShardWriter shard = writer.begin_shard(0, 0);
    const std::vector<Sequence> one(1);
    shard.add_sequences(one);
    shard.append_rows(table);
    shard.append(0, rows);
    shard.finish();
    writer.finish();
    const CaptureReader reader(path);
    EXPECT_EQ(reader.read_all("hidden", 0), rows);
    EXPECT_EQ(reader.read_rows("hidden", 0, 777, 3), rows.middleRows(777, 3));
  }
}

}  // namespace
}  // namespace lime
