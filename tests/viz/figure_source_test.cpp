// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/errors.h"
#include "store/hdf5/hdf5_writer.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::write_text;

constexpr const char* kLog =
    R"({"event":"start","time":"2026-11-21T05:00:00Z","tool":"lime","parameters":1000}
{"event":"step","step":10,"loss":3.0,"targets_per_second":50.0,"seconds":2.0}
{"event":"step","step":20,"loss":2.0,"targets_per_second":50.0,"seconds":4.0}
{"event":"validation","step":15,"loss":2.5}
{"event":"resume","step":20}
{"event":"step","step":30,"loss":1.0,"targets_per_second":100.0,"seconds":1.0}
{"event":"st)";

class FigureSourceTest : public ::testing::Test {
 protected:
  std::string refusal(const std::filesystem::path& path) const {
    return testing::refusal_of([&] { read_figure_source(path); });
  }

  testing::TemporaryFolder folder_;
};

TEST_F(FigureSourceTest, ATrainingLogCountsTokensAcrossARestart) {
  std::filesystem::create_directories(folder_ / "llama");
  write_text(folder_ / "llama/training_log.jsonl", kLog);
  const FigureSource source = read_figure_source(folder_ / "llama");
  EXPECT_EQ(source.results.metric, "training");
  const std::vector<ResultRow>& rows = source.results.rows;
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].cell(col::kLabel), "llama");
  EXPECT_EQ(rows[0].cell(col::kTokens), 100.0);
  EXPECT_EQ(rows[2].cell(col::kKind), "validation");
  EXPECT_EQ(rows[2].cell(col::kTokens), 150.0);
  EXPECT_EQ(rows[3].cell(col::kTokens), 300.0);
  EXPECT_EQ(rows[3].cell(col::kFlops), 6.0 * 1000.0 * 300.0);
  EXPECT_EQ(source.results.provenance["created_utc"], "2026-11-21T05:00:00Z");
}

TEST_F(FigureSourceTest, ReadsTheLastAccuracyPerNumberOfOperands) {
  std::filesystem::create_directories(folder_ / "lime");
  write_text(folder_ / "lime/training_log.jsonl",
             R"({"event":"start"}
{"event":"evaluation","step":10,"result":[{"operands":3,"accuracy":0.1,"count":100}]}
{"event":"evaluation","step":20,"result":[{"operands":3,"accuracy":0.5,"count":100},
)");
  EXPECT_THAT(refusal(folder_ / "lime"), HasSubstr("line 3"));
  write_text(
      folder_ / "lime/training_log.jsonl",
      R"({"event":"evaluation","step":10,"result":[{"operands":3,"accuracy":0.1,"count":100}]}
{"event":"evaluation","step":20,"result":[{"operands":3,"accuracy":0.5,"count":100}, 7, {"other":1}]}
{"event":"evaluation","result":{"accuracy":0.5}}
{"event":"validation","step":20,"loss":1.0}
{"event":"evaluation","step":20,"result":[{"operands":3,"accuracy":0.5,"count":100}, 7, {"other":1}]}
)");
  const std::vector<ResultRow> rows = read_figure_source(folder_ / "lime").results.rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].cell(col::kKind), "evaluation");
  EXPECT_EQ(rows[1].cell(kOperands), 3.0);
  EXPECT_EQ(rows[1].cell(col::kMean), 0.5);
  // Of Wilson's equation (4): (0.5 + z^2/200 -+ z sqrt(0.25/100 + z^2/40000)) / (1 + z^2/100).
  EXPECT_NEAR(rows[1].number(col::kCiLow), 0.40383, 1e-5);
  EXPECT_NEAR(rows[1].number(col::kCiHigh), 0.59617, 1e-5);
}

TEST_F(FigureSourceTest, NamesTheLineOfALogThatIsBroken) {
  write_text(folder_ / "training_log.jsonl", "{\"event\":\"start\"}\nnothing\n");
  EXPECT_THAT(refusal(folder_ / "training_log.jsonl"), HasSubstr("line 2"));
  write_text(folder_ / "empty.jsonl", "");
  EXPECT_THAT(refusal(folder_ / "empty.jsonl"), HasSubstr("is empty"));
  EXPECT_THAT(refusal(folder_.path()), ::testing::AnyOf(HasSubstr("line 2")));
}

TEST_F(FigureSourceTest, NamesTheLineOfALogWhoseValuesAreOfOtherTypes) {
  const auto refusal_of_second = [&](const std::string& line) {
    write_text(folder_ / "training_log.jsonl", R"({"event":"other"})"
                                               "\n" +
                                                   line + "\n");
    return refusal(folder_ / "training_log.jsonl");
  };
  for (const auto& [line, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({"event":5})", "'event' must be a string, got 5"},
           {R"({"event":"start","parameters":"x"})", "'parameters' must be a number, got \"x\""},
           {R"({"event":"start","tool":5})", "'tool' must be a string, got 5"},
           {R"({"event":"start","run":[]})", "'run' must be an object, got []"},
           {R"({"event":"step","step":"x"})", "'step' must be a number, got \"x\""},
           {R"({"event":"resume"})", "'step' must be a number, got none"}}) {
    EXPECT_THAT(refusal_of_second(line), HasSubstr("training_log.jsonl', line 2: " + reason));
  }
}

TEST_F(FigureSourceTest, RefusesAFifoAtOnce) {
  for (const char* const name : {"results.json", "training_log.jsonl"}) {
    ASSERT_EQ(::mkfifo((folder_ / name).c_str(), 0600), 0);
    EXPECT_THAT(refusal(folder_ / name), HasSubstr("is not a regular file, expected one"));
  }
}

TEST_F(FigureSourceTest, SaysWhatAFolderLacks) {
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_THAT(refusal(folder_ / "empty"), HasSubstr("contains no training_log.jsonl"));
}

TEST_F(FigureSourceTest, EmbeddingsComeFromTheFileBesideTheResults) {
  Results results;
  results.metric = "tsne";
  results.rows = {{{col::kLabel, "LLaMA"}, {col::kSite, "hidden"}, {col::kLayer, 2}}};
  write_results(folder_ / "tsne.json", results);
  EXPECT_THAT(refusal(folder_ / "tsne.json"),
              HasSubstr("tsne.embeddings.h5', but that file does not exist"));

  MatrixF points(3, 2);
  points << 1, 2, 3, 4, 5, 6;
  CaptureEmbeddings capture;
  capture.label = "LLaMA";
  capture.row = {0, 1, 2};
  capture.table = {{0, 0, 0}, {0, 1, 2}, {7, 8, 9}, {2, 0, 2}};
  capture.class_names = {" is", " are", " was"};
  capture.layers = {{"hidden", 2, points}};
  CaptureEmbeddings others = capture;
  others.table.class_id = {2, -1, 2};
  write_embeddings(folder_ / "tsne.embeddings.h5", {capture, others});
  const FigureSource source = read_figure_source(folder_ / "tsne.json");
  ASSERT_EQ(source.embeddings.size(), 2U);
  const SourceEmbedding& embedding = source.embeddings[0];
  EXPECT_EQ(embedding.layer, 2);
  EXPECT_EQ(embedding.y, (std::vector<float>{2, 4, 6}));
  // Empty classes are omitted.
  EXPECT_EQ(embedding.class_names, (std::vector<std::string>{" is", " was"}));
  EXPECT_EQ(embedding.classes, (std::vector<int>{1, 0, 1}));
  // Unlabelled points form a separate class.
  EXPECT_EQ(source.embeddings[1].class_names, (std::vector<std::string>{" was", "other"}));
  EXPECT_EQ(source.embeddings[1].classes, (std::vector<int>{0, 1, 0}));
}

TEST_F(FigureSourceTest, RefusesEmbeddingsOfALaterSchema) {
  Results results;
  results.metric = "tsne";
  write_results(folder_ / "tsne.json", results);
  Hdf5Writer file(folder_ / "tsne.embeddings.h5");
  file.set_attribute("format", "lime-embeddings");
  file.set_attribute("schema_version", 9);
  file.commit();
  EXPECT_THAT(refusal(folder_ / "tsne.json"),
              HasSubstr("has schema version 9, this build reads 1"));
}

}  // namespace
}  // namespace lime
