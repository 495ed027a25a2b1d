// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capture/capture_sizes.h"
#include "checkpoint/parse_model_config.h"
#include "core/errors.h"
#include "core/json.h"
#include "store/capture_writer.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::size_t kQueue = std::size_t{512} << 20;

ModelConfig small_model(const std::string& decoder = "llama") {
  Json config = {{"model_type", decoder},   {"hidden_size", 64},
                 {"num_hidden_layers", 3},  {"num_attention_heads", 4},
                 {"intermediate_size", 96}, {"num_key_value_heads", 2},
                 {"vocab_size", 128},       {"max_position_embeddings", 4096},
                 {"rms_norm_eps", 1e-5}};
  return parse_model_config(config, "config");
}

CaptureLoad usual_load() {
  CaptureLoad load;
  load.longest = 1024;
  load.bytes_per_token = 8192;
  load.num_datasets = 4;
  return load;
}

/// Returns slightly more than the memory of a batch with the smallest queue.
ByteSize just_enough_for(const CaptureLoad& load, std::int64_t batch) {
  const MemoryPlan all = plan_capture_memory(small_model(), load, batch, 32 * kMebibyte, {});
  return {all.memory.total() + 4 * kMebibyte};
}

std::string refusal(const CaptureLoad& load, std::int64_t batch, ByteSize limit) {
  return testing::refusal_of<InvalidArgument>(
      [&] { plan_capture_memory(small_model(), load, batch, kQueue, limit); });
}

TEST(CaptureMemoryTest, NothingChangesWithoutALimitOrBelowIt) {
  for (const std::optional<ByteSize> limit : {std::optional<ByteSize>(), {{1LL << 40}}}) {
    const MemoryPlan plan = plan_capture_memory(small_model(), usual_load(), 8, kQueue, limit);
    EXPECT_EQ(plan.batch_size, 8);
    EXPECT_EQ(plan.queue_bytes, kQueue);
    EXPECT_GT(plan.memory.total(), static_cast<std::int64_t>(kQueue));
  }
}

TEST(CaptureMemoryTest, TakesASmallerQueueThenASmallerBatch) {
  const CaptureLoad load = usual_load();
  const ByteSize for_eight = just_enough_for(load, 8);
  const MemoryPlan eight = plan_capture_memory(small_model(), load, 8, kQueue, for_eight);
  EXPECT_EQ(eight.batch_size, 8);
  EXPECT_LT(eight.queue_bytes, kQueue);
  EXPECT_LE(eight.memory.total(), for_eight.bytes);

  CaptureLoad larger = load;
  larger.bytes_per_token *= 16;  // a batch needs more than the queue
  const ByteSize for_two = just_enough_for(larger, 2);
  const MemoryPlan two = plan_capture_memory(small_model(), larger, 8, kQueue, for_two);
  EXPECT_EQ(two.batch_size, 2);
  EXPECT_LE(two.memory.total(), for_two.bytes);
}

TEST(CaptureMemoryTest, CountsChunksThatAreBeingCompressed) {
  const auto waiting_of = [](const CaptureLoad& load) {
    return plan_capture_memory(small_model(), load, 8, kQueue, {}).memory.waiting;
  };
  CaptureLoad compressing = usual_load();
  compressing.chunk_bytes = chunk_memory({.threads = 4}, 8192);
  EXPECT_EQ(compressing.chunk_bytes, 12 * kMebibyte) << "three chunks per thread";
  EXPECT_EQ(waiting_of(compressing) - waiting_of(usual_load()), 12 * kMebibyte);
  EXPECT_EQ(chunk_memory({.threads = 1}, 5 * kMebibyte), 15 * kMebibyte)
      << "a chunk holds a row at least";
}

TEST(CaptureMemoryTest, RefusesWhatCannotFit) {
  EXPECT_THAT(refusal(usual_load(), 8, {10 * kMebibyte}),
              AllOf(HasSubstr("memory_limit: 10M is too little for weights of "),
                    HasSubstr("a pass over one sequence of up to 1024 tokens"),
                    HasSubstr("pass --memory-limit ")));
  CaptureLoad pairs = usual_load();
  pairs.smallest_batch = 2;
  EXPECT_THAT(refusal(pairs, 8, {10 * kMebibyte}), HasSubstr("a pass over a pair"));
  CaptureLoad asked = usual_load();
  asked.bytes_per_token *= 16;
  asked.requested_batch = 8;
  EXPECT_THAT(refusal(asked, 8, just_enough_for(asked, 2)), HasSubstr("--batch-size 2 fits"));
  CaptureLoad resumed = usual_load();
  resumed.bytes_per_token *= 16;
  resumed.resumed_batch = 8;
  const std::string text = refusal(resumed, 8, just_enough_for(resumed, 2));
  EXPECT_THAT(text, HasSubstr("memory_limit: the capture was started with passes of 8 sequences of "
                              "up to 1024 tokens, which need "));
  const std::string asked_for = "resume with --memory-limit ";
  const std::int64_t named = std::stoll(text.substr(text.find(asked_for) + asked_for.size()));
  const ByteSize enough{named * kMebibyte};
  EXPECT_EQ(plan_capture_memory(small_model(), resumed, 8, kQueue, enough).batch_size, 8);
}

TEST(CaptureMemoryTest, TheLimitThatIsNamedIsEnough) {
  const std::string text = refusal(usual_load(), 8, {10 * kMebibyte});
  const std::size_t number = text.find("--memory-limit ") + 15;
  const std::int64_t named = std::stoll(text.substr(number)) * kMebibyte;
  // The limit has a margin of 2%, in which a large process has room for more than one sequence.
  const MemoryPlan plan = plan_capture_memory(small_model(), usual_load(), 8, kQueue, {{named}});
  EXPECT_GE(plan.batch_size, 1);
  EXPECT_LE(plan.memory.total(), named);
}

TEST(CaptureMemoryTest, StagesHoldSeveralPassesAndCopies) {
  const auto pass_of = [](const CaptureLoad& load, const std::string& decoder) {
    return plan_capture_memory(small_model(decoder), load, 8, kQueue, {}).memory.pass;
  };
  for (const char* const decoder : {"llama", "lime", "denseformer"}) {
    const std::int64_t one = pass_of(usual_load(), decoder);
    CaptureLoad three = usual_load();
    three.num_stages = 3;
    three.relayed_bytes_per_token = 10000;
    const std::int64_t rows = 8 * three.longest * three.bytes_per_token;
    EXPECT_GE(pass_of(three, decoder), 5 * (one - rows) + rows + 3 * three.relay_bytes(8))
        << decoder << ": three stages compute, two boundaries hold a batch";
    CaptureLoad gpu = three;
    gpu.is_on_host = false;
    EXPECT_EQ(pass_of(gpu, decoder), rows + 3 * gpu.relay_bytes(8)) << decoder;
  }
}

TEST(CaptureMemoryTest, DecodersThatKeepWhatEarlierLayersLeftTakeMore) {
  const std::int64_t llama = pass_elements_per_token(small_model());
  for (const char* const decoder : {"lime", "denseformer", "hyper_connections", "resformer",
                                    "attn_res", "mhc", "depth_attention", "mudd"}) {
    EXPECT_GT(pass_elements_per_token(small_model(decoder)), llama) << decoder;
  }
}

}  // namespace
}  // namespace lime
