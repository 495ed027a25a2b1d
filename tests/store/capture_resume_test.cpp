// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/errors.h"
#include "store/capture_reader.h"
#include "store/capture_tools.h"
#include "store/child_process.h"
#include "store/sample_capture.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::run_in_child;
using testing::run_in_children;
using testing::SampleCapture;
using ::testing::StartsWith;
using testing::TemporaryFolder;

/// Returns every file below `folder` with its content.
std::map<std::string, std::string> contents_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    contents[relative(entry.path(), folder).string()] = testing::read_text(entry.path());
  }
  return contents;
}

class CaptureResumeTest : public ::testing::Test {
 protected:
  CaptureResumeTest() {
    sample_.write(undisturbed_ / "capture.h5");
    path_ = folder_ / "capture.h5";
  }

  /// Expects identical bytes, not only equal numbers: nothing in the files depends on the time or
  /// the process.
  void expect_same_as_undisturbed() const {
    const auto expected = contents_of(undisturbed_.path());
    const auto found = contents_of(folder_.path());
    for (const auto& [name, content] : expected) {
      ASSERT_EQ(found.count(name), 1U) << name;
      EXPECT_TRUE(found.at(name) == content) << name << " differs";
    }
    EXPECT_EQ(found.size(), expected.size());
  }

  void resume() { EXPECT_TRUE(sample_.write(path_, {.if_exists = IfExists::kResume})); }

  std::string refusal(const CapturePlan& plan, CaptureWriterOptions options) const {
    return testing::refusal_of<InvalidArgument>(
        [&] { const CaptureWriter writer(path_, plan, options); });
  }

  /// Kills child processes while they write one shard after another.
  void kill_in_shards_and_resume() {
    for (const int shard : {0, 1, 2}) {
      const int status = run_in_child([&] {
        CaptureWriter writer(path_, sample_.plan(),
                             {.if_exists = IfExists::kResume, .chunk_bytes = sample_.chunk_bytes});
        for (int done = 0; done < shard; ++done) {
          if (!writer.is_finished(done)) sample_.write_shard(writer, done);
        }
        ShardWriter out = writer.begin_shard(shard, shard * sample_.sequences_per_shard);
        for (std::int64_t s = 0; s < 2; ++s) {
          const std::int64_t number = shard * sample_.sequences_per_shard + s;
          out.append_rows(sample_.rows(number));
          for (std::size_t i = 0; i < 4; ++i) out.append(i, sample_.activations(i, number));
        }
        ::raise(SIGKILL);
      });
      ASSERT_EQ(status, 128 + SIGKILL);
    }
    // Killed children left unfinished shards under temporary names.
    EXPECT_FALSE(exists(path_));
    resume();
    expect_same_as_undisturbed();
    EXPECT_THAT(verify_capture(path_), IsEmpty());
  }

  TemporaryFolder undisturbed_;
  TemporaryFolder folder_;
  SampleCapture sample_;
  std::filesystem::path path_;
};

TEST_F(CaptureResumeTest, GoesOnAfterAKillInTheMiddleOfAShard) { kill_in_shards_and_resume(); }

TEST_F(CaptureResumeTest, GoesOnAfterAKillWhereItCompresses) {
  sample_.compression = Compression::kDeflate;
  sample_.write(undisturbed_ / "capture.h5", {.if_exists = IfExists::kReplace});
  kill_in_shards_and_resume();
}

TEST_F(CaptureResumeTest, CompressesToTheSameBytesInAnyNumberOfThreads) {
  sample_.compression = Compression::kDeflate;
  for (const int threads : {1, 4}) {
    const CaptureWriterOptions options = {.if_exists = IfExists::kReplace, .threads = threads};
    sample_.write(threads == 1 ? undisturbed_ / "capture.h5" : path_, options);
  }
  expect_same_as_undisturbed();
  EXPECT_THAT(testing::refusal_of<InvalidArgument>(
                  [&] { CaptureWriter(path_, sample_.plan(), {.threads = 0}); }),
              HasSubstr("threads must be at least 1, got 0"));
}

TEST_F(CaptureResumeTest, RefusesToGoOnWithAnotherCompression) {
  sample_.write(path_);
  sample_.compression = Compression::kDeflate;
  EXPECT_THAT(refusal(sample_.plan(), {.if_exists = IfExists::kResume}),
              AllOf(HasSubstr("was started with different options: "), HasSubstr("compression")));
}

TEST_F(CaptureResumeTest, GoesOnAfterAKillBetweenShardAndRecord) {
  sample_.write(path_);
  std::filesystem::remove(path_);
  std::filesystem::remove(folder_ / "capture.shards/00001.json");
  resume();
  expect_same_as_undisturbed();
}

TEST_F(CaptureResumeTest, GoesOnAfterAKillBeforeTheMaster) {
  sample_.write(path_);
  std::filesystem::remove(path_);
  resume();
  expect_same_as_undisturbed();
}

TEST_F(CaptureResumeTest, WritesShardsAnewThatAreMissingOrCutShort) {
  sample_.write(path_);
  std::filesystem::remove(folder_ / "capture.shards/00000.h5");
  std::filesystem::resize_file(folder_ / "capture.shards/00002.h5", 1000);
  EXPECT_THAT(verify_capture(path_).size(), 2U);
  resume();
  expect_same_as_undisturbed();
}

TEST_F(CaptureResumeTest, WritesShardsAnewWhoseRecordsAreDamaged) {
  sample_.write(path_);
  const char* const damaged[] = {"{", "", "[]"};
  for (int shard = 0; shard < 3; ++shard) {
    const std::string record = "capture.shards/0000" + std::to_string(shard) + ".json";
    testing::write_text(folder_ / record, damaged[shard]);
  }
  resume();
  expect_same_as_undisturbed();
}

TEST_F(CaptureResumeTest, SaysHowToBeginAnewWhereTheManifestIsDamaged) {
  sample_.write(path_);
  const std::filesystem::path manifest = folder_ / "capture.shards/manifest.json";
  for (const char* const text : {"{", "", "[]", R"({"schema": 1})",
                                 R"({"schema": "lime-shards/1", "identity": {}, "info": {}})"}) {
    testing::write_text(manifest, text);
    EXPECT_THAT(testing::refusal_of<FormatError>([&] {
                  CaptureWriter(path_, sample_.plan(), {.if_exists = IfExists::kResume});
                }),
                AllOf(StartsWith("store: '" + manifest.string() + "': "),
                      EndsWith("; remove its folder to start over")))
        << text;
  }
}

TEST_F(CaptureResumeTest, TrustsFinishedShardsAndDoesNotWriteThemAgain) {
  sample_.write(path_);
  const auto time = last_write_time(folder_ / "capture.shards/00001.h5");
  CaptureWriter writer(path_, sample_.plan(), {.if_exists = IfExists::kResume});
  EXPECT_THAT(writer.missing_shards(), IsEmpty());
  EXPECT_TRUE(writer.finish());
  EXPECT_EQ(last_write_time(folder_ / "capture.shards/00001.h5"), time);
}

TEST_F(CaptureResumeTest, KeepsTimeAndCommandOfTheFirstRun) {
  sample_.write(path_);
  std::filesystem::remove(path_);
  CapturePlan later = sample_.plan();
  later.info.created_utc = "2031-01-01T00:00:00Z";
  later.info.command = "lime-capture --resume";
  CaptureWriter writer(path_, later, {.if_exists = IfExists::kResume});
  EXPECT_TRUE(writer.finish());
  EXPECT_EQ(CaptureReader(path_).info().created_utc, sample_.plan().info.created_utc);
  expect_same_as_undisturbed();
}

TEST_F(CaptureResumeTest, RefusesOtherOptionsAndNamesTheFirst) {
  sample_.write(path_);
  const CaptureWriterOptions resume = {.if_exists = IfExists::kResume};
  CapturePlan plan = sample_.plan();
  plan.info.options["layers"] = "0-3";
  EXPECT_EQ(refusal(plan, resume), "store: '" + path_.string() +
                                       "' was started with different options: options.layers was "
                                       "'all', now '0-3'; use the same ones, or another output "
                                       "file");
  plan = sample_.plan();
  plan.info.options["nested"]["only"] = {"was"};
  EXPECT_THAT(refusal(plan, resume),
              HasSubstr("options.nested.only was ['is','are'], now ['was'];"));
  plan = sample_.plan();
  plan.info.checkpoint_sha256 = "other";
  EXPECT_THAT(refusal(plan, resume), HasSubstr("checkpoint_sha256 was 'c0ffee', now 'other'"));
  plan.info.checkpoint_sha256 = std::string(64, 'f');
  EXPECT_THAT(refusal(plan, resume), HasSubstr("now '" + std::string(56, 'f') + "...'; use"));
  plan = sample_.plan();
  plan.info.options["quick"] = true;
  EXPECT_THAT(refusal(plan, resume), HasSubstr("options.quick is new, true"));
}

TEST_F(CaptureResumeTest, WritesAsManyShardsAsItTakes) {
  CapturePlan plan = sample_.plan();
  plan.num_shards = 0;
  const CaptureWriterOptions options = {.if_exists = IfExists::kResume,
                                        .chunk_bytes = sample_.chunk_bytes};
  {
    CaptureWriter writer(path_, plan, options);
    EXPECT_FALSE(writer.finish()) << "no shards";
    for (const int shard : {0, 1}) sample_.write_shard(writer, shard);
    EXPECT_EQ(writer.finish_partial({{"reason", "interrupted"}}), 2);
  }
  EXPECT_FALSE(CaptureReader(path_).info().complete);
  EXPECT_EQ(CaptureReader(path_).info().extra["reason"], "interrupted");
  std::filesystem::remove(path_);
  EXPECT_THAT(unfinished_run(path_), HasSubstr("an unfinished run (2 shards)"));
  CaptureWriter writer(path_, plan, options);
  EXPECT_THAT(writer.missing_shards(), ElementsAre(2));
  EXPECT_FALSE(writer.is_finished(2));
  sample_.write_shard(writer, 2);
  EXPECT_TRUE(writer.finish());
  const CaptureReader reader(path_);
  EXPECT_TRUE(reader.info().complete);
  EXPECT_FALSE(reader.info().extra.contains("reason"));
  EXPECT_EQ(reader.read_all("values", 0), sample_.expected(0));
  EXPECT_EQ(writer.read_rows(1).token, [&] {
    std::vector<std::int32_t> tokens;
    for (std::int64_t s = 4; s < 8; ++s) {
      for (const std::int32_t token : sample_.rows(s).token) tokens.push_back(token);
    }
    return tokens;
  }());
  EXPECT_THAT(testing::refusal_of([&] { writer.read_rows(3); }), HasSubstr("is not finished"));
  plan.num_shards = 3;
  EXPECT_THAT(refusal(plan, options), HasSubstr("num_shards is new, 3"));
  plan.num_shards = 0;
  EXPECT_EQ(refusal(plan, {.if_exists = IfExists::kResume, .num_processes = 2}),
            "store: several processes need a known number of shards");
}

TEST_F(CaptureResumeTest, RemovesCapturesAndNothingElse) {
  sample_.write(path_);
  testing::write_text(folder_ / "capture.shards/notes.txt", "mine");
  remove_capture(path_);
  EXPECT_FALSE(exists(path_));
  EXPECT_THAT(contents_of(folder_.path()), ElementsAre(::testing::Key("capture.shards/notes.txt")));
  remove_capture(path_);  // nothing is left
  testing::write_text(path_, "no capture");
  EXPECT_EQ(testing::refusal_of([&] { remove_capture(path_); }),
            "store: '" + path_.string() +
                "' is not a capture and will not be replaced; use another name or remove it");
}

TEST_F(CaptureResumeTest, RefusesShardsWithOtherStatistics) {
  CapturePlan plan = sample_.plan();
  plan.num_shards = 2;
  CaptureWriter writer(path_, plan, {});
  sample_.write_shard(writer, 0);
  ShardWriter out = writer.begin_shard(1, sample_.sequences_per_shard);
  out.set_statistics("values", 0, RunningStatistics());
  out.finish();
  EXPECT_THAT(testing::refusal_of<FormatError>([&] { writer.finish(); }),
              HasSubstr("must have the statistics of the same sites and layers as the shards "
                        "before it; restore the original shard"));
}

TEST_F(CaptureResumeTest, SaysOfARunWithoutItsFileHowFarItCame) {
  EXPECT_EQ(unfinished_run(path_), "");
  sample_.write(path_);
  EXPECT_EQ(unfinished_run(path_), "") << "the file is there";
  std::filesystem::remove(path_);
  std::filesystem::remove(folder_ / "capture.shards/00001.json");
  EXPECT_EQ(unfinished_run(path_),
            fmt::format(
                "'{}' contains an unfinished run ({} of {} shards); use --resume to continue",
                (folder_ / "capture.shards").string(), sample_.num_shards - 1, sample_.num_shards));
}

TEST_F(CaptureResumeTest, RefusesToOverwriteUnlessAsked) {
  sample_.write(path_);
  EXPECT_EQ(refusal(sample_.plan(), {}),
            "store: '" + path_.string() +
                "' already exists; use --resume to continue, remove it, or use another -o");
  std::filesystem::remove(path_);
  EXPECT_EQ(refusal(sample_.plan(), {}),
            "store: '" + (folder_ / "capture.shards").string() +
                "' contains finished shards of an earlier run; use --resume to continue, remove "
                "the folder, or use another -o");
  SampleCapture other = sample_;
  other.seed = 2;
  other.num_shards = 2;
  EXPECT_TRUE(other.write(path_, {.if_exists = IfExists::kReplace}));
  EXPECT_EQ(CaptureReader(path_).read_all("values", 0), other.expected(0));
  EXPECT_FALSE(exists(folder_ / "capture.shards/00002.h5"));
}

TEST_F(CaptureResumeTest, NamesTheCaptureWhoseShardsLieInTheFolder) {
  sample_.write(path_);
  const std::string shards = (folder_ / "capture.shards").string();
  const auto refusal_at = [&](const char* name) {
    return testing::refusal_of([&] { CaptureWriter(folder_ / name, sample_.plan()); });
  };
  for (const char* const name : {"capture", "capture.hdf5"}) {
    EXPECT_EQ(refusal_at(name), "store: '" + shards + "' contains the shards of '" +
                                    path_.string() + "'; use another -o");
  }
  testing::write_text(path_, "no capture");
  EXPECT_THAT(refusal_at("capture.hdf5"), HasSubstr("remove the folder"));
}

TEST_F(CaptureResumeTest, NeverReplacesAnotherProgramsFile) {
  testing::write_text(path_, "precious");
  EXPECT_THAT(refusal(sample_.plan(), {.if_exists = IfExists::kReplace}),
              HasSubstr("is not a capture and will not be replaced"));
  EXPECT_EQ(testing::read_text(path_), "precious");
}

TEST_F(CaptureResumeTest, SeveralProcessesGiveTheSameFile) {
  std::vector<std::function<void()>> processes;
  for (int process = 0; process < 3; ++process) {
    processes.emplace_back(
        [this, process] { sample_.write(path_, {.process = process, .num_processes = 3}); });
  }
  EXPECT_EQ(run_in_children(processes), 0);
  expect_same_as_undisturbed();
}

TEST_F(CaptureResumeTest, OneProcessOfSeveralWritesItsShardsOnly) {
  EXPECT_FALSE(sample_.write(path_, {.process = 1, .num_processes = 2}));
  EXPECT_FALSE(exists(path_));
  EXPECT_TRUE(exists(folder_ / "capture.shards/00001.h5"));
  EXPECT_FALSE(exists(folder_ / "capture.shards/00000.h5"));
  EXPECT_TRUE(sample_.write(path_, {.process = 0, .num_processes = 2}));
  expect_same_as_undisturbed();
}

TEST_F(CaptureResumeTest, PartialCapturesAreReadableAndSaySo) {
  CaptureWriter writer(path_, sample_.plan(), {.chunk_bytes = sample_.chunk_bytes});
  EXPECT_EQ(writer.finish_partial(), 0);
  EXPECT_FALSE(exists(path_));
  sample_.write_shard(writer, 0);
  sample_.write_shard(writer, 2);
  EXPECT_FALSE(writer.finish());
  EXPECT_EQ(writer.finish_partial(), 2);
  const CaptureReader reader(path_);
  EXPECT_FALSE(reader.complete());
  EXPECT_EQ(reader.num_sequences(), 12);
  EXPECT_EQ(reader.offsets()[4], reader.offsets()[8]);
  EXPECT_EQ(reader.read_sequence("hidden", 1, 9), [&] { return sample_.activations(3, 9); }());
  EXPECT_EQ(reader.read_sequence("hidden", 1, 6).rows(), 0);
  EXPECT_THAT(verify_capture(path_), ElementsAre(HasSubstr("the capture is incomplete")));
  resume();
  expect_same_as_undisturbed();
}

TEST_F(CaptureResumeTest, RefusesRowsThatDoNotAddUp) {
  CaptureWriter writer(path_, sample_.plan(), {});
  EXPECT_THROW(writer.begin_shard(3, 0), InvalidArgument);
  ShardWriter out = writer.begin_shard(0, 0);
  const std::vector<Sequence> one = {sample_.sequence(0)};
  out.add_sequences(one);
  out.append_rows(sample_.rows(0));
  EXPECT_THROW(out.append(0, MatrixF::Zero(2, 5)), InvalidArgument);
  EXPECT_THROW(out.append(9, MatrixF::Zero(2, 8)), InvalidArgument);
  RowTable backwards = sample_.rows(0);
  backwards.sequence.front() = -1;
  EXPECT_THROW(out.append_rows(backwards), InvalidArgument);
  RowTable ragged = sample_.rows(0);
  ragged.token.pop_back();
  EXPECT_THROW(out.append_rows(ragged), InvalidArgument);
  EXPECT_THROW(out.finish(), InvalidArgument);
}

TEST_F(CaptureResumeTest, RefusesPlansAtOddsWithThemselves) {
  CapturePlan plan = sample_.plan();
  plan.activations.push_back(plan.activations.front());
  EXPECT_THAT(refusal(plan, {}), HasSubstr("is duplicated"));
  plan = sample_.plan();
  plan.activations.front().site = "../values";
  EXPECT_THAT(refusal(plan, {}),
              HasSubstr("a site must be 1 to 100 visible ASCII characters without slashes"));
  EXPECT_THAT(refusal(sample_.plan(), {.process = 2, .num_processes = 2}),
              HasSubstr("process must be in [0, num_processes), got 2 of 2"));
}

}  // namespace
}  // namespace lime
