// SPDX-License-Identifier: Apache-2.0
#include "train/processes/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/errors.h"

namespace lime {
namespace {

using ::testing::ThrowsMessage;
using Variables = std::map<std::string, std::string>;

std::optional<ProcessPlace> place_in(const Variables& variables) {
  return process_place([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found != variables.end() ? std::optional(found->second) : std::nullopt;
  });
}

TEST(ProcessPlaceTest, ReadsWhatEachStarterLeaves) {
  const auto torchrun = place_in({{"RANK", "3"},
                                  {"WORLD_SIZE", "4"},
                                  {"LOCAL_RANK", "1"},
                                  {"MASTER_ADDR", "node1"},
                                  {"MASTER_PORT", "1234"},
                                  {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  ASSERT_TRUE(torchrun);
  EXPECT_EQ(torchrun->rank, 3);
  EXPECT_EQ(torchrun->size, 4);
  EXPECT_EQ(torchrun->local_rank, 1);
  EXPECT_EQ(torchrun->address, "node1");
  EXPECT_EQ(torchrun->port, 1234);
  EXPECT_TRUE(torchrun->has_external_store);

  const auto srun = place_in({{"SLURM_PROCID", "1"},
                              {"SLURM_STEP_NUM_TASKS", "2"},
                              {"SLURM_STEP_NODELIST", "gpu[07-09,12],x1"},
                              {"SLURM_JOB_ID", "20007"}});
  ASSERT_TRUE(srun);
  EXPECT_EQ(srun->rank, 1);
  EXPECT_EQ(srun->address, "gpu07");
  EXPECT_EQ(srun->port, 15007);
  EXPECT_FALSE(srun->has_external_store);

  const auto mpirun = place_in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  ASSERT_TRUE(mpirun);
  EXPECT_EQ(mpirun->address, "127.0.0.1");
  EXPECT_EQ(mpirun->port, 29500);
  EXPECT_TRUE(place_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}));
}

TEST(ProcessPlaceTest, IsNothingForOneProcess) {
  EXPECT_FALSE(place_in({}));
  EXPECT_FALSE(place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  // A batch script of Slurm runs once, however many tasks its job has.
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));
}

TEST(ProcessPlaceTest, NamesTheVariableThatCannotBe) {
  EXPECT_THAT(
      [] {
        place_in({{"RANK", "2"}, {"WORLD_SIZE", "2"}});
      },
      ThrowsMessage<InvalidArgument>("RANK: must be a whole number from 0 to 1, got '2'"));
  EXPECT_THAT(
      [] {
        place_in({{"RANK", "0"}, {"WORLD_SIZE", "two"}});
      },
      ThrowsMessage<InvalidArgument>(
          "WORLD_SIZE: must be a whole number from 1 to 1048576, got 'two'"));
}

TEST(ShareOfRowsTest, CoversAllRowsOnce) {
  for (const std::int64_t total : {0, 1, 2, 7, 16}) {
    std::int64_t next = 0;
    for (int rank = 0; rank < 3; ++rank) {
      const RowShare share = share_of_rows(total, rank, 3);
      EXPECT_EQ(share.first, next);
      next += share.count;
    }
    EXPECT_EQ(next, total);
  }
}

}  // namespace
}  // namespace lime
