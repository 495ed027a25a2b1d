// SPDX-License-Identifier: Apache-2.0
// Files of torch.save by tests/golden/make_torch_files.py.
#include "checkpoint/weights/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/weights/float_reader.h"
#include "checkpoint/weights/safetensors.h"
#include "core/files/input_file.h"
#include "core/json.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::refusal_of;

fs::path golden(const std::string& name) { return testing::golden_file("torch/" + name); }

std::vector<double> values_of(const TensorView& tensor) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  std::vector<double> values(count);
  if (is_weight_dtype(tensor.dtype)) {
    convert_weights(tensor.dtype, tensor.bytes, std::span<double>(values));
    return values;
  }
  const std::size_t width = dtype_size(tensor.dtype);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t value = 0;
    std::memcpy(&value, tensor.bytes.data() + i * width, width);
    values[i] = static_cast<double>(value);
  }
  return values;
}

std::string refusal(const std::string& name) {
  const MappedFile file(golden(name));
  return refusal_of<FormatError>([&] { parse_torch_file(file.bytes(), name); });
}

class TorchFileTest : public ::testing::TestWithParam<const char*> {};

TEST_P(TorchFileTest, HasTheTensorsThatWereSaved) {
  const Json expected = read_json_file(golden("expected.json"));
  const std::map<std::string, Dtype> dtypes = {{"float64", Dtype::kF64}, {"float32", Dtype::kF32},
                                               {"float16", Dtype::kF16}, {"bfloat16", Dtype::kBF16},
                                               {"int64", Dtype::kI64},   {"bool", Dtype::kBool}};
  const MappedFile file(golden(GetParam()));
  const std::vector<TensorView> tensors = parse_torch_file(file.bytes(), "file");
  ASSERT_EQ(tensors.size(), expected.size());
  for (const TensorView& tensor : tensors) {
    const Json& saved = expected.at(tensor.name);
    EXPECT_EQ(tensor.dtype, dtypes.at(saved.at("dtype"))) << tensor.name;
    EXPECT_EQ(tensor.shape, saved.at("shape").get<Shape>()) << tensor.name;
    EXPECT_EQ(values_of(tensor), saved.at("values").get<std::vector<double>>()) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, TorchFileTest,
                         ::testing::Values("zip.bin", "protocol4.bin", "legacy.bin", "dict.bin",
                                           "parameters.bin", "plain_zip.bin"),
                         [](const auto& file) {
                           const std::string name = file.param;
                           std::string kept;
                           for (const char c : name.substr(0, name.find('.'))) {
                             if (c != '_') kept += c;
                           }
                           return kept;
                         });

TEST(TorchFileRefusalTest, RefusesWhatIsNoTensorByNameAndExecutesNothing) {
  const std::string remedy =
      "', expected tensors only; nothing in it was executed; if you trust the file, load it with "
      "torch and save its state_dict() as safetensors";
  const fs::path proof = "/tmp/lime-executed-a-pickle";
  fs::remove(proof);
  EXPECT_EQ(refusal("command.bin"), "'command.bin': the pickle refers to 'posix.system" + remedy);
  EXPECT_EQ(refusal("command_legacy.bin"),
            "'command_legacy.bin': the pickle refers to 'posix.system" + remedy);
  EXPECT_EQ(refusal("module.bin"),
            "'module.bin': the pickle refers to 'torch.nn.modules.linear.Identity" + remedy);
  EXPECT_FALSE(fs::exists(proof));
}

TEST(TorchFileRefusalTest, SaysWhatItCannotRead) {
  EXPECT_EQ(refusal("nested.bin"),
            "'nested.bin': entry 'model' must be a tensor; save only the model's state_dict() with "
            "torch.save");
  EXPECT_EQ(refusal("transposed.bin"),
            "'transposed.bin': tensor 'a' must be row-major, got the shape [3, 2] with the strides "
            "[1, 3]; save tensor.contiguous()");
  EXPECT_THAT(
      refusal("compressed.bin"),
      HasSubstr("in the archive must be stored, got it compressed; write it with torch.sav"));
  EXPECT_THAT(refusal("pickle.bin"), HasSubstr("must be a state_dict() written by torch.save"));
}

/// torch.load() refuses the archives too, by the size of the record.
TEST(TorchFileRefusalTest, RefusesStoragesThatAreNotAsLargeAsTheirTypeSays) {
  EXPECT_EQ(refusal("other_type.bin"),
            "'other_type.bin': storage '0' must have 4 elements of BF16, 2 bytes each, got 16 "
            "bytes; the file seems to be broken");
  EXPECT_EQ(refusal("other_size.bin"),
            "'other_size.bin': storage '0' must have 3 elements of F32, 4 bytes each, got 16 "
            "bytes; the file seems to be broken");
  EXPECT_EQ(refusal("other_type_legacy.bin"),
            "'other_type_legacy.bin': the file of an early PyTorch has bytes after its last "
            "storage; save it again with torch.save");
  EXPECT_THAT(refusal("two_types.bin"),
              HasSubstr("the pickle gives a storage another type or size than before at byte"));
}

TEST(TorchFileRefusalTest, BoundsWhatAFileMayAllocate) {
  EXPECT_THAT(refusal("many_sizes.bin"),
              HasSubstr("the pickle has a tensor of 65 dimensions, expected at most 64, at byte"));
  EXPECT_EQ(refusal("same_name.bin"),
            "'same_name.bin': 'a' in the file must occur once; the file seems to be broken");
}

TEST(TorchFileRefusalTest, RefusesEveryTruncatedFile) {
  for (const char* const name : {"zip.bin", "legacy.bin"}) {
    const MappedFile file(golden(name));
    for (std::size_t size = 0; size < file.size(); ++size) {
      EXPECT_THROW(parse_torch_file(file.bytes().first(size), name), FormatError) << size;
    }
  }
}

class TorchCheckpointTest : public testing::CheckpointTest {
 protected:
  /// A LLaMA as torch.save of early versions writes it, which takes the fewest lines here.
  static std::string legacy_file(std::span<const TensorView> tensors) {
    std::string pickle("\x80\x02}(", 4);
    std::string keys("\x80\x02]", 3);
    std::string data;
    for (const TensorView& tensor : tensors) {
      const auto count = static_cast<std::uint32_t>(element_count(tensor.shape));
      const auto number = [](std::uint32_t value) {
        return "J" + std::string(reinterpret_cast<const char*>(&value), sizeof(value));
      };
      const auto string = [](const std::string& text) {
        const auto size = static_cast<std::uint32_t>(text.size());
        return "X" + std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + text;
      };
      std::string shape = "(";
      std::string strides = "(";
      auto stride = count;
      for (const std::int64_t size : tensor.shape) {
        stride /= static_cast<std::uint32_t>(size);
        shape += number(static_cast<std::uint32_t>(size));
        strides += number(stride);
      }
      pickle += string(tensor.name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + string("storage") +
                "ctorch\nFloatStorage\n" + string(tensor.name) + string("cpu") + number(count) +
                "NtQ" + number(0) + shape + "t" + strides + "t\x89NtR";
      keys += string(tensor.name) + "a";
      const std::uint64_t elements = count;
      data.append(reinterpret_cast<const char*>(&elements), sizeof(elements));
      data.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    }
    const std::string magic("\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.", 15);
    return magic + std::string("\x80\x02M\xE9\x03.\x80\x02}.", 10) + pickle + "u." + keys + "." +
           data;
  }
  void write(const std::string& name, std::span<const TensorView> tensors) const {
    testing::write_text(file(name), legacy_file(tensors));
  }
};

TEST_F(TorchCheckpointTest, IsReadWhereThereIsNoSafetensors) {
  const testing::TestModel model = testing::random_model(testing::small_config("llama"));
  testing::write_text(file("config.json"), model.config.dump());
  const auto views = model.views();
  write("pytorch_model.bin", views);
  testing::expect_holds(Checkpoint::open(path()), model);
  const std::size_t half = views.size() / 2;
  fs::remove(file("pytorch_model.bin"));
  write("pytorch_model-00001-of-00002.bin", std::span(views).first(half));
  write("pytorch_model-00002-of-00002.bin", std::span(views).subspan(half));
  Json index;
  for (std::size_t i = 0; i < views.size(); ++i) {
    index["weight_map"][views[i].name] =
        fmt::format("pytorch_model-0000{}-of-00002.bin", i < half ? 1 : 2);
  }
  testing::write_text(file("pytorch_model.bin.index.json"), index.dump());
  const Checkpoint sharded = Checkpoint::open(path());
  testing::expect_holds(sharded, model);
  EXPECT_EQ(sharded.sha256().size(), 64U);
  testing::TestModel other = testing::random_model(testing::small_config("llama"), 2);
  write_safetensors(file("model.safetensors"), other.views());
  testing::expect_holds(Checkpoint::open(path()), other);
}

TEST_F(TorchCheckpointTest, AddsThePrefixThatABaseModelLacks) {
  const testing::TestModel model = testing::random_model(
      testing::with(testing::small_config("llama"), "tie_word_embeddings", true));
  testing::TestModel bare = model;
  for (auto& tensor : bare.tensors) {
    if (tensor.name.starts_with("model.")) tensor.name.erase(0, 6);
  }
  bare.write(path());
  const Checkpoint checkpoint = Checkpoint::open(path());
  testing::expect_holds(checkpoint, model);
  EXPECT_EQ(checkpoint.tensor("model.norm.weight").stored_name, "norm.weight");
}

}  // namespace
}  // namespace lime
