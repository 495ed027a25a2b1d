// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/test_model.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime::testing {

/// A temporary folder for writing and opening models.
class CheckpointTest : public ::testing::Test {
 protected:
  Checkpoint open(const TestModel& model, const CheckpointOptions& options = {}) const {
    model.write(folder_.path());
    return Checkpoint::open(folder_.path(), options);
  }
  /// Returns the error message of the folder, without the leading path.
  template <typename Exception = FormatError> std::string error_of_folder() const {
    return without_path(refusal_of<Exception>([&] { Checkpoint::open(folder_.path()); }));
  }
  std::string error_of(const TestModel& model) const {
    model.write(folder_.path());
    return error_of_folder();
  }
  std::string without_path(const std::string& message) const {
    const std::string start = "'" + folder_.path().string() + "': ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  }
  std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

/// Returns all elements of one tensor.
inline std::vector<float> read(const Checkpoint& checkpoint, const std::string& name) {
  std::vector<float> values(static_cast<std::size_t>(element_count(checkpoint.tensor(name).shape)));
  checkpoint.read(name, values);
  return values;
}

/// Expects every tensor of `model` under its canonical name.
inline void expect_holds(const Checkpoint& checkpoint, const TestModel& model) {
  for (const TestTensor& tensor : model.tensors) {
    ASSERT_TRUE(checkpoint.has(tensor.name)) << tensor.name;
    EXPECT_EQ(checkpoint.tensor(tensor.name).shape, tensor.shape) << tensor.name;
    EXPECT_EQ(read(checkpoint, tensor.name), tensor.values) << tensor.name;
  }
}

/// Returns `config` with one key changed.
inline Json with(Json config, const std::string& key, const Json& value) {
  config[key] = value;
  return config;
}

}  // namespace lime::testing
