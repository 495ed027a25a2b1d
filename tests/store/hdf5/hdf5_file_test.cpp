// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/hdf5_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/errors.h"
#include "store/hdf5/hdf5_writer.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::refusal_of;
using testing::TemporaryFolder;
using testing::test_data;

class Hdf5FileTest : public ::testing::Test {
 protected:
  std::filesystem::path write_sample() {
    const auto path = folder_ / "sample.h5";
    Hdf5Writer writer(path);
    const std::vector<float> numbers = {1.0F, 2.5F, -3.0F, 4.0F, 5.0F, 6.0F};
    writer.write<float>("deep/er/numbers", numbers, {2, 3});
    writer.write<std::int64_t>("ids", std::vector<std::int64_t>{7, -8}, {2});
    const std::vector<std::string> texts = {"plain", "", "\xe6\x97\xa5\xe6\x9c\xac"};
    writer.write_strings("deep/texts", texts);
    writer.make_group("empty");
    writer.set_attribute("name", "a text");
    writer.set_attribute("count", 3);
    writer.set_attribute("rate", 0.25, "deep");
    writer.set_attribute("words", texts, "ids");
    writer.commit();
    return path;
  }

  TemporaryFolder folder_;
};

TEST_F(Hdf5FileTest, ReadsBackWhatWasWritten) {
  const Hdf5File file(write_sample());
  EXPECT_THAT(file.groups(), ElementsAre("deep", "empty"));
  EXPECT_THAT(file.datasets(), ElementsAre("ids"));
  EXPECT_THAT(file.datasets("deep"), ElementsAre("texts"));
  EXPECT_THAT(file.shape("deep/er/numbers"), ElementsAre(2, 3));
  EXPECT_THAT(file.read<double>("deep/er/numbers"), ElementsAre(1.0, 2.5, -3.0, 4.0, 5.0, 6.0));
  EXPECT_EQ(file.read_matrix("/deep/er/numbers")(1, 2), 6.0F);
  EXPECT_THAT(file.read<std::int32_t>("ids"), ElementsAre(7, -8));
  EXPECT_THAT(file.read_strings("deep/texts"),
              ElementsAre("plain", "", "\xe6\x97\xa5\xe6\x9c\xac"));
  EXPECT_EQ(file.string_attribute("name"), "a text");
  EXPECT_EQ(file.int_attribute("count"), 3);
  EXPECT_EQ(file.double_attribute("rate", "deep"), 0.25);
  EXPECT_EQ(file.strings_attribute("words", "ids").size(), 3U);
  EXPECT_EQ(file.attribute("name"), "a text");
  EXPECT_EQ(file.attribute("count"), 3);
  EXPECT_EQ(file.attribute("rate", "deep"), 0.25);
  EXPECT_EQ(file.attribute("words", "ids"), Json({"plain", "", "\xe6\x97\xa5\xe6\x9c\xac"}));
  EXPECT_TRUE(file.has("deep/er"));
  EXPECT_TRUE(file.has("deep/er/numbers"));
  EXPECT_FALSE(file.has("deep/er/numbers/more"));
  EXPECT_FALSE(file.has("deeper"));
}

TEST_F(Hdf5FileTest, LeavesNothingWithoutCommit) {
  {
    Hdf5Writer writer(folder_ / "never.h5");
    writer.write<float>("x", std::vector<float>{1.0F}, {1});
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Hdf5FileTest, NamesWhatThereIsWhenADatasetIsMissing) {
  const Hdf5File file(write_sample());
  const std::string path = file.path().string();
  EXPECT_EQ(refusal_of([&] { file.read<float>("deep/other"); }),
            "store: '" + path + "' has no 'deep/other'; 'deep' contains er, texts");
  EXPECT_EQ(refusal_of([&] { file.read<float>("other/deep"); }),
            "store: '" + path + "' has no 'other/deep'; the file contains deep, empty, ids");
  EXPECT_EQ(refusal_of([&] { file.read<float>("deep"); }),
            "store: '" + path + "': 'deep' is a group, expected a dataset");
  EXPECT_EQ(refusal_of([&] { file.read<float>("deep/texts"); }),
            "store: '" + path + "': 'deep/texts' must contain numbers");
  EXPECT_EQ(refusal_of([&] { file.string_attribute("nobody"); }),
            "store: '" + path + "': '/' has no attribute 'nobody'");
}

TEST_F(Hdf5FileTest, SaysWhatIsWrongWithAFile) {
  const auto path = folder_ / "bad.h5";
  const auto open = [&] { return refusal_of([&] { Hdf5File file(path); }); };
  EXPECT_EQ(open(), "store: '" + path.string() + "' does not exist");
  EXPECT_THROW(Hdf5File file(path), MissingFile);
  testing::write_text(path, "");
  EXPECT_EQ(open(), "store: '" + path.string() + "' is empty");
  testing::write_text(path, "P6 a picture");
  EXPECT_EQ(open(), "store: '" + path.string() + "' is not an HDF5 file");
  const std::string good = testing::read_text(write_sample());
  testing::write_text(path, good.substr(0, good.size() - 100));
  EXPECT_THAT(open(), HasSubstr("' is truncated: it has "));
  EXPECT_EQ(refusal_of([&] { Hdf5File file(folder_.path()); }),
            "store: '" + folder_.path().string() + "' is a folder, expected an HDF5 file");
}

TEST_F(Hdf5FileTest, ReadsFilesOfH5py) {
  const auto path = test_data("checkpoints/stories260k/golden.h5");
  if (!exists(path)) GTEST_SKIP() << testing::skip_reason(path);
  const Hdf5File file(path);
  EXPECT_FALSE(file.datasets().empty());
  for (const std::string& name : file.datasets()) {
    const std::vector<std::int64_t> shape = file.shape(name);
    const std::int64_t size =
        std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    EXPECT_EQ(static_cast<std::int64_t>(file.read<double>(name).size()), size);
  }
}

TEST_F(Hdf5FileTest, RefusesValuesThatDoNotFillTheShape) {
  Hdf5Writer writer(folder_ / "x.h5");
  EXPECT_THROW(writer.write<float>("x", std::vector<float>(5), {2, 3}), InvalidArgument);
}

}  // namespace
}  // namespace lime
