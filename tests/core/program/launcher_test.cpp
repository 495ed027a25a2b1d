// SPDX-License-Identifier: Apache-2.0
#include "core/program/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "core/errors.h"
#include "core/threads/thread_pool.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Variables = std::map<std::string, std::string>;

EnvironmentFn environment(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found != variables.end() ? std::optional(found->second) : std::nullopt;
  };
}

std::optional<LaunchPlace> place_in(const Variables& variables) {
  return launch_place(environment(variables));
}

/// Returns "2/5 of SLURM_PROCID", or "whole".
std::string share_in(const Variables& variables) {
  const auto launched = launched_share(environment(variables));
  if (!launched) return "whole";
  return fmt::format("{}/{} of {}", launched->share.index, launched->share.count, launched->source);
}

TEST(LaunchPlaceTest, ReadsWhatEachLauncherLeaves) {
  const auto torchrun = place_in(
      {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}});
  ASSERT_TRUE(torchrun);
  EXPECT_EQ(torchrun->launcher, Launcher::kTorchrun);
  EXPECT_EQ(torchrun->rank, 3);
  EXPECT_EQ(torchrun->size, 4);
  EXPECT_EQ(torchrun->local_rank, 1);
  EXPECT_EQ(torchrun->local_size, 2);
  const auto srun =
      place_in({{"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}});
  ASSERT_TRUE(srun);
  EXPECT_EQ(srun->launcher, Launcher::kSlurm);
  EXPECT_EQ(srun->rank, 5);
  EXPECT_EQ(srun->local_rank, 1);
  EXPECT_TRUE(place_in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}));
  EXPECT_TRUE(place_in({{"MV2_COMM_WORLD_RANK", "1"}, {"MV2_COMM_WORLD_SIZE", "2"}}));
  EXPECT_TRUE(place_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}));
}

TEST(LaunchPlaceTest, CountsTheTasksOfSlurmOnThisMachine) {
  const auto tasks_of = [](const std::string& list, int machine) {
    return place_in({{"SLURM_PROCID", "5"},
                     {"SLURM_STEP_NUM_TASKS", "9"},
                     {"SLURM_STEP_TASKS_PER_NODE", list},
                     {"SLURM_NODEID", std::to_string(machine)}})
        ->local_size;
  };
  EXPECT_EQ(tasks_of("9", 0), 9);
  EXPECT_EQ(tasks_of("4(x2),1", 0), 4);
  EXPECT_EQ(tasks_of("4(x2),1", 1), 4);
  EXPECT_EQ(tasks_of("4(x2),1", 2), 1);
  EXPECT_EQ(tasks_of("4(x2),1", 3), 0);
  EXPECT_EQ(tasks_of("many", 0), 0);
}

TEST(LaunchPlaceTest, TakesMpirunForTheLauncherInsideOfSlurm) {
  // On other nodes Open MPI starts one daemon each, with srun.
  const auto place = place_in({{"SLURM_PROCID", "1"},
                               {"SLURM_STEP_NUM_TASKS", "2"},
                               {"OMPI_COMM_WORLD_RANK", "6"},
                               {"OMPI_COMM_WORLD_SIZE", "8"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 6);
  EXPECT_EQ(place->size, 8);
}

TEST(LaunchPlaceTest, IsNothingForOneProcess) {
  EXPECT_FALSE(place_in({}));
  EXPECT_FALSE(place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  // A batch script of Slurm runs once, however many tasks its job has.
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));
}

TEST(LaunchPlaceTest, NamesTheVariableThatCannotBe) {
  EXPECT_THAT(
      [] {
        place_in({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}});
      },
      ThrowsMessage<InvalidArgument>("PMI_RANK: must be a whole number from 0 to 1, got '2'"));
}

TEST(LaunchedShareTest, IsThatOfTheProcess) {
  EXPECT_EQ(share_in({}), "whole");
  EXPECT_EQ(share_in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}),
            "1/4 of OMPI_COMM_WORLD_RANK");
}

TEST(LaunchedShareTest, IsThatOfTheTaskOfAJobArray) {
  Variables array = {{"SLURM_ARRAY_TASK_ID", "14"},
                     {"SLURM_ARRAY_TASK_COUNT", "3"},
                     {"SLURM_ARRAY_TASK_MIN", "10"},
                     {"SLURM_ARRAY_TASK_MAX", "14"},
                     {"SLURM_ARRAY_TASK_STEP", "2"}};
  EXPECT_EQ(share_in(array), "2/3 of SLURM_ARRAY_TASK_ID");
  EXPECT_FALSE(place_in(array)) << "trainings of an array do not talk to each other";
  // The variables that Slurm sets in a task's batch script change nothing.
  array["SLURM_PROCID"] = "0";
  array["SLURM_NTASKS"] = "2";
  EXPECT_EQ(share_in(array), "2/3 of SLURM_ARRAY_TASK_ID");
  array["SLURM_PROCID"] = "1";
  array["SLURM_STEP_NUM_TASKS"] = "2";
  EXPECT_EQ(share_in(array), "5/6 of SLURM_ARRAY_TASK_ID and SLURM_PROCID");
}

TEST(LaunchedShareTest, RefusesArraysWithGaps) {
  EXPECT_THAT(
      [] {
        share_in({{"SLURM_ARRAY_TASK_ID", "3"},
                  {"SLURM_ARRAY_TASK_COUNT", "2"},
                  {"SLURM_ARRAY_TASK_MIN", "3"},
                  {"SLURM_ARRAY_TASK_MAX", "7"}});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr(
          "must be numbered without gaps to share work, got 3 of 3 to 7; pass --shard I/N")));
}

TEST(ThreadsBesideNeighboursTest, DividesProcessorsThatNeighboursMayUseToo) {
  EXPECT_EQ(threads_beside_neighbours(environment({})), available_threads());
  const auto all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (available_threads() < all) GTEST_SKIP() << "needs a process that may run everywhere";
  const auto with = [](int local_size) {
    return threads_beside_neighbours(
        environment({{"OMPI_COMM_WORLD_RANK", "0"},
                     {"OMPI_COMM_WORLD_SIZE", "4096"},
                     {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)}}));
  };
  EXPECT_EQ(with(2), std::max(1, all / 2));
  EXPECT_EQ(with(4096), 1);
}

TEST(ThreadsBesideNeighboursTest, AreNoMoreThanSlurmGave) {
  const auto with = [](const Variables& variables) {
    return threads_beside_neighbours(environment(variables));
  };
  EXPECT_EQ(with({{"SLURM_CPUS_PER_TASK", "1"}}), 1);
  EXPECT_EQ(with({{"SLURM_CPUS_ON_NODE", "1"}}), 1);
  EXPECT_EQ(with({{"SLURM_CPUS_ON_NODE", "4096"}, {"SLURM_CPUS_PER_TASK", "4096"}}),
            available_threads());
  EXPECT_EQ(with({{"SLURM_PROCID", "1"},
                  {"SLURM_STEP_NUM_TASKS", "4"},
                  {"SLURM_STEP_TASKS_PER_NODE", "4"},
                  {"SLURM_CPUS_ON_NODE", "4"}}),
            1);
  // Processes that mpirun starts in a job share its CPUs.
  EXPECT_EQ(with({{"OMPI_COMM_WORLD_RANK", "0"},
                  {"OMPI_COMM_WORLD_SIZE", "2"},
                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                  {"SLURM_CPUS_ON_NODE", "2"}}),
            1);
}

}  // namespace
}  // namespace lime
