// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/edit_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(EditTextTest, ReadsItsOwnTexts) {
  for (const std::string text :
       {"zero hidden", "patch=run.h5 attn.hook_z layers=3 heads=0,2", "skip layers=2",
        "resample=sequences hidden seed=4", "mask mlp.hook_router_logits experts=1"}) {
    EXPECT_EQ(edit_text(parse_edit_words(text)), text);
  }
  const EditWords words = parse_edit_words("  scale=-0.5   route layers=3 sources=0");
  EXPECT_EQ(words.operation, EditOperation::kScale);
  EXPECT_EQ(words.value, "-0.5");
  EXPECT_EQ(words.site, "route");
  ASSERT_NE(words.find("sources"), nullptr);
  EXPECT_EQ(*words.find("sources"), "0");
  EXPECT_EQ(words.find("heads"), nullptr);
}

TEST(EditTextTest, NamesTheFirstFault) {
  const auto rejects = [](const std::string& text, const std::string& message) {
    EXPECT_THAT([&] { parse_edit_words(text); }, ThrowsMessage<InvalidArgument>(message));
  };
  rejects("zerro hidden", "unknown operation 'zerro'; did you mean 'zero'?");
  rejects("zero hidden values", "got two sites, 'hidden' and 'values'");
  rejects("zero hidden layers=1 layers=2",
          "layers is given twice; give one list, such as layers=1,3");
}

TEST(EditTextTest, ReadsFilesOfBothFormats) {
  testing::TemporaryFolder folder;
  const std::vector<std::string> texts = {"zero hidden", "skip mlp layers=2"};
  testing::write_text(folder / "texts.json", edit_file_text(texts));
  EXPECT_EQ(read_edit_file(folder / "texts.json").texts, texts);
  std::vector<RouterEdit> routes(1);
  routes.front().layer = 3;
  routes.front().scale = 0.5;
  testing::write_text(folder / "routes.json", router_edits_to_json(routes).dump());
  EXPECT_EQ(read_edit_file(folder / "routes.json").routes, routes);
  for (const std::string list : {"[]", "3", "[\"zero hidden\", 4]"}) {
    testing::write_text(folder / "bad.json", R"({"format": "lime-edit/1", "edits": )" + list + "}");
    EXPECT_THAT([&] { read_edit_file(folder / "bad.json"); },
                ThrowsMessage<FormatError>(
                    HasSubstr("edits must be a non-empty list of texts, e.g. \"zero hidden\"")));
  }
}

}  // namespace
}  // namespace lime
