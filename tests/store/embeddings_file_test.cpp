// SPDX-License-Identifier: Apache-2.0
#include "store/embeddings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>

#include "core/errors.h"
#include "store/hdf5/hdf5_writer.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

/// Template of an embeddings file with variants of invalid content; the default is valid.
struct FileOfThree {
  std::string format = "lime-embeddings";
  int schema_version = 1;
  std::vector<std::int16_t> classes = {0, -1, 1};
  std::vector<std::int32_t> tokens = {100, 101, 102};
  std::string layer = "003";
  MatrixF points = MatrixF::Ones(3, 2);

  void write(const std::filesystem::path& path) const {
    Hdf5Writer file(path);
    file.set_attribute("format", format);
    file.set_attribute("schema_version", schema_version);
    file.make_group("captures/0");
    file.set_attribute("label", "LIMe", "captures/0");
    const std::vector<std::int32_t> counts = {0, 1, 2};
    file.write<std::int32_t>("captures/0/rows/row", counts, {3});
    file.write<std::int32_t>("captures/0/rows/sequence", counts, {3});
    file.write<std::int32_t>("captures/0/rows/position", counts, {3});
    file.write<std::int32_t>("captures/0/rows/token", tokens, {std::ssize(tokens)});
    file.write<std::int16_t>("captures/0/rows/class", classes, {std::ssize(classes)});
    const std::vector<std::string> names = {" is", " are"};
    file.set_attribute("names", std::span<const std::string>(names), "captures/0/rows/class");
    file.write_matrix("captures/0/hidden/" + layer, points);
    file.commit();
  }
};

class EmbeddingsFileTest : public ::testing::Test {
 protected:
  std::string refusal(const FileOfThree& file) const {
    file.write(path_);
    return testing::refusal_of<FormatError>([&] { read_embeddings(path_); });
  }

  testing::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "tsne.embeddings.h5";
};

TEST_F(EmbeddingsFileTest, EmbeddingsComeBackAsTheyWereWritten) {
  CaptureEmbeddings written;
  written.label = "LIMe";
  for (int i = 0; i < 6; ++i) {
    written.row.push_back(3 * i);
    written.table.sequence.push_back(i / 2);
    written.table.position.push_back(i % 2);
    written.table.token.push_back(100 + i);
    written.table.class_id.push_back(static_cast<std::int16_t>(i % 3 - 1));
  }
  written.class_names = {" is", " are"};
  MatrixF points(6, 2);
  points << 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0.125F;
  written.layers = {{"hidden", 0, points, 0.5}, {"hidden", 3, 2.0F * points, 0.7}};
  // Eleven, to test numeric order.
  std::vector<CaptureEmbeddings> all(11, written);
  all[10].label = "last";
  write_embeddings(path_, all);
  const std::vector<CaptureEmbeddings> read = read_embeddings(path_);
  ASSERT_EQ(read.size(), 11U);
  EXPECT_EQ(read[10].label, "last");
  EXPECT_EQ(read[0].label, "LIMe");
  EXPECT_EQ(read[0].row, written.row);
  EXPECT_EQ(read[0].table.sequence, written.table.sequence);
  EXPECT_EQ(read[0].table.position, written.table.position);
  EXPECT_EQ(read[0].table.token, written.table.token);
  EXPECT_EQ(read[0].table.class_id, written.table.class_id);
  EXPECT_EQ(read[0].class_names, written.class_names);
  ASSERT_EQ(read[0].layers.size(), 2U);
  EXPECT_EQ(read[0].layers[1].layer, 3);
  EXPECT_DOUBLE_EQ(read[0].layers[1].kl_divergence, 0.7);
  EXPECT_EQ(read[0].layers[0].coordinates, points);
}

TEST_F(EmbeddingsFileTest, RefusesFilesOfAnotherFormatOrSchema) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_THAT(refusal({.format = "lime-capture"}), HasSubstr("must be of format lime-embeddings"));
  EXPECT_THAT(refusal({.schema_version = 9}),
              HasSubstr("has schema version 9, this build reads 1; update"));
  EXPECT_THROW(read_embeddings(folder_ / "none.h5"), IoError);
}

TEST_F(EmbeddingsFileTest, BelievesNoLayerNumber) {
  for (const char* const layer : {"last", "-1", "3x", "10000", "99999999999"}) {
    EXPECT_THAT(refusal({.layer = layer}), HasSubstr("must be a layer index below 10000"));
  }
}

TEST_F(EmbeddingsFileTest, RefusesColumnsOfOtherLengthsAndClassesThatAreNot) {
  const std::vector<FileOfThree> files = {
      {.classes = {0, 1}}, {.classes = {0, 1, 2}}, {.classes = {0, 1, -2}}, {.tokens = {100}}};
  for (const FileOfThree& file : files) {
    EXPECT_THAT(refusal(file),
                HasSubstr("must have the same length and refer to existing classes"));
  }
}

TEST_F(EmbeddingsFileTest, RefusesPointsThatAreNotFiniteOrNotInThePlane) {
  MatrixF infinite = MatrixF::Ones(3, 2);
  infinite(1, 1) = std::numeric_limits<float>::infinity();
  for (const MatrixF& points :
       {infinite, MatrixF(MatrixF::Ones(2, 2)), MatrixF(MatrixF::Ones(3, 3))}) {
    EXPECT_THAT(refusal({.points = points}),
                HasSubstr("'captures/0/hidden/003' must contain 3 finite 2-D points"));
  }
}

}  // namespace
}  // namespace lime
