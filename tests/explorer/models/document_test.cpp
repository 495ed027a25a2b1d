// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/document.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "analysis/write_capture.h"
#include "core/errors.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/text.h"
#include "support/tiny_checkpoint.h"

namespace lime::explorer::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Returns the one-line error for `path`; empty if it opens.
std::string refusalOf(const fs::path& path) {
  try {
    openDocument(path);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

class DocumentTest : public WorkspaceTest {
 protected:
  fs::path write(const std::string& name, const std::string& content) {
    lime::testing::write_text(folder_ / name, content);
    return folder_ / name;
  }
};

TEST_F(DocumentTest, DetectsKindsFromContentNotFromNames) {
  const fs::path capture = toPath(captureFile("capture.json"));
  EXPECT_EQ(openDocument(capture).kind, DocumentKind::kCapture);
  const fs::path results = folder_ / "results.h5";
  fs::rename(toPath(resultsFile()), results);
  EXPECT_EQ(openDocument(results).kind, DocumentKind::kResults);
}

TEST_F(DocumentTest, OpensACheckpointByItsFolderOrAFileInIt) {
  const fs::path folder = toPath(checkpointFolder());
  for (const fs::path& path : {folder, folder / "config.json", folder / "model.safetensors"}) {
    const Document document = openDocument(path);
    EXPECT_EQ(document.kind, DocumentKind::kCheckpoint) << path;
    EXPECT_EQ(document.path, folder) << path;
    EXPECT_EQ(document.label, "tiny");
    ASSERT_NE(document.checkpoint, nullptr);
  }
}

TEST_F(DocumentTest, OpensTheFoldersOfTheReleasedTraining) {
  const fs::path folder = toPath(checkpointFolder());
  lime::testing::move_to_released_layout(folder);
  for (const fs::path& path : {folder, folder / "final", folder / "config/config.json"}) {
    EXPECT_EQ(openDocument(path).kind, DocumentKind::kCheckpoint) << path;
  }
}

TEST_F(DocumentTest, SaysWhatOtherFormatsNeed) {
  EXPECT_THAT(refusalOf(write("model.gguf", "PK")), HasSubstr("expected a checkpoint folder"));
  EXPECT_THAT(refusalOf(folder_.path()), HasSubstr("it contains model.gguf"));
}

TEST_F(DocumentTest, OpensGgufFiles) {
  for (const char* const name : {"gguf/llama.gguf", "gguf/gemma3.gguf"}) {
    const Document document = openDocument(lime::testing::golden_file(name));
    EXPECT_EQ(document.kind, DocumentKind::kCheckpoint) << name;
    EXPECT_EQ(document.label, toQString(std::filesystem::path(name).stem()));
  }
}

TEST_F(DocumentTest, OutlineOfACaptureNamesItsSites) {
  const Document document = openDocument(toPath(captureFile()));
  ASSERT_NE(document.capture, nullptr);
  QStringList names;
  for (const Fact& fact : document.outline) names << fact.name;
  EXPECT_TRUE(names.contains("values")) << names.join(',').toStdString();
  EXPECT_TRUE(names.contains("hidden"));
  EXPECT_EQ(document.outline.front().value, "16 (tokens)");
}

TEST_F(DocumentTest, OutlineOfACaptureWarnsOfSequencesWithoutBos) {
  lime::testing::SmallCapture capture = lime::testing::example_capture();
  capture.extra = {{"tokenizer_prefix", "<s>"}, {"sequences_without_prefix", 1}};
  lime::testing::write_capture(folder_ / "packed.h5", capture);
  const Document document = openDocument(folder_ / "packed.h5");
  EXPECT_EQ(document.outline.back().name, "warning");
  EXPECT_THAT(document.outline.back().value.toStdString(),
              HasSubstr("sequences do not begin with '<s>', which the tokenizer puts before"));
}

TEST_F(DocumentTest, EscapesWhatControlsHowTextIsShown) {
  EXPECT_EQ(shownText("val\x1b[31m\nues"), "val\\x1b[31m\\nues");
  EXPECT_EQ(toQString(FormatError("a\x1b[31m\nb")), "a\\x1b[31m\\nb");
}

TEST_F(DocumentTest, RefusesFilesOfAnotherKind) {
  EXPECT_THAT(refusalOf(write("notes.txt", "some words")),
              HasSubstr("must be a checkpoint, a capture"));
  EXPECT_THAT(refusalOf(write("empty.json", "")), HasSubstr("is empty"));
  EXPECT_THAT(refusalOf(write("table.json", "{\"a\": 1}")), HasSubstr("lime-results"));
  EXPECT_THAT(refusalOf(folder_.path()), HasSubstr("must contain a checkpoint"));
  EXPECT_THAT(refusalOf(folder_ / "absent.h5"), HasSubstr("No such file"));
}

TEST_F(DocumentTest, RefusesACaptureCutShortInOneLine) {
  const fs::path path = toPath(captureFile());
  fs::resize_file(path, fs::file_size(path) / 2);
  EXPECT_THAT(refusalOf(path),
              AllOf(HasSubstr("run.h5"), HasSubstr("truncated"), Not(HasSubstr("\n"))));
  fs::resize_file(path, 100);
  EXPECT_THAT(refusalOf(path), AllOf(HasSubstr("run.h5"), Not(HasSubstr("\n"))));
}

TEST_F(DocumentTest, RefusesResultsOfALaterSchema) {
  const fs::path path = toPath(resultsFile());
  std::string text = lime::testing::read_text(path);
  text.replace(text.find("lime-results/3"), 14, "lime-results/9");
  lime::testing::write_text(path, text);
  EXPECT_THAT(refusalOf(path), HasSubstr("schema version 9"));
}

TEST_F(DocumentTest, RefusesACheckpointWithoutWeights) {
  const fs::path folder = toPath(checkpointFolder());
  fs::remove(folder / "model.safetensors");
  EXPECT_THAT(refusalOf(folder), AllOf(HasSubstr("tiny"), Not(HasSubstr("\n"))));
}

TEST_F(DocumentTest, RefusesWhatMayNotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const fs::path path = toPath(captureFile());
  fs::permissions(path, fs::perms::none);
  EXPECT_THAT(refusalOf(path), HasSubstr("Permission denied"));
}

TEST_F(DocumentTest, LogsAreNamedAfterTheirRuns) {
  fs::create_directories(folder_ / "lime-run");
  const fs::path log = folder_ / "lime-run" / "training_log.jsonl";
  fs::copy_file(lime::testing::source_file("data/aet-lime/training_log.jsonl"), log);
  EXPECT_EQ(openDocument(log).label, "lime-run");
  EXPECT_EQ(openDocument(log.parent_path()).label, "lime-run");
}

TEST(QuotedForShellTest, QuotesWhatAShellWouldSplit) {
  EXPECT_EQ(quotedForShell("a/b.h5"), "a/b.h5");
  EXPECT_EQ(quotedForShell("my run.h5"), "'my run.h5'");
  EXPECT_EQ(quotedForShell("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace lime::explorer::testing
