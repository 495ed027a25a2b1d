// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.h"
#include "core/random.h"
#include "store/capture_layout.h"
#include "store/capture_reader.h"
#include "store/capture_tables.h"
#include "store/capture_tools.h"
#include "store/hdf5/chunk_filters.h"
#include "store/hdf5/hdf5_writer.h"
#include "store/sample_capture.h"
#include "store/shard_folder.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SampleCapture;
using ::testing::StartsWith;
using testing::TemporaryFolder;

std::string message_of(const std::function<void()>& call) { return testing::refusal_of(call); }

class CaptureDamageTest : public ::testing::Test {
 protected:
  void write_sample() { sample_.write(path_); }

  std::string open_error() const {
    return message_of([&] { CaptureReader reader(path_); });
  }

  /// Returns true if verification reports a problem, as a list or as an error of the file itself.
  bool is_noticed() const {
    try {
      return !verify_capture(path_).empty();
    } catch (const Error&) {
      return true;
    }
  }

  bool reads_right() const {
    const CaptureReader reader(path_);
    const std::vector<ActivationInfo> activations = sample_.plan().activations;
    for (std::size_t i = 0; i < activations.size(); ++i) {
      const ActivationInfo& what = activations[i];
      if (reader.read_all(what.site, what.layer) != sample_.expected(i)) return false;
    }
    RowTable rows;
    for (std::int64_t s = 0; s < sample_.num_sequences(); ++s) {
      if (reader.sequences()[static_cast<std::size_t>(s)].text != sample_.sequence(s).text) {
        return false;
      }
      for (const std::int32_t token : sample_.rows(s).token) rows.token.push_back(token);
    }
    return reader.rows().token == rows.token && reader.config() == sample_.plan().info.config &&
           reader.router(1) == sample_.plan().router.at(1);
  }

  /// Flips random bits of one random byte, `count` times, restoring each.
  void flip_bytes(const std::vector<std::filesystem::path>& files, int count, std::uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < count; ++i) {
      const auto& file = files[random.below(files.size())];
      const std::string good = testing::read_text(file);
      std::string bad = good;
      const std::size_t at = random.below(bad.size());
      bad[at] = static_cast<char>(bad[at] ^ static_cast<char>(1 + random.below(255)));
      testing::write_text(file, bad);
      EXPECT_TRUE(is_noticed()) << file << " byte " << at << " of " << bad.size();
      testing::write_text(file, good);
    }
    ASSERT_TRUE(reads_right());
    ASSERT_FALSE(is_noticed());
  }

  /// Writes a plain file of one sequence with two given rows, and without a digest, like other
  /// programs that rewrite captures.
  void write_tables(const RowTable& rows, const Sequence& sequence = {}) const {
    CaptureTables tables;
    tables.info = sample_.plan().info;
    tables.sequences = {sequence};
    tables.offsets = {0, 2};
    Hdf5Writer writer(path_);
    write_attributes(writer, tables);
    write_rows(writer, rows, tables.info.class_names);
    write_sequences(writer, tables);
    writer.commit();
  }

  std::string rows_error() const {
    return message_of([&] { CaptureReader(path_).rows(); });
  }

  std::string sequences_error() const {
    return message_of([&] { CaptureReader(path_).sequences(); });
  }

  std::vector<std::filesystem::path> shard_files() const {
    std::vector<std::filesystem::path> files;
    for (int shard = 0; shard < sample_.num_shards; ++shard) {
      files.push_back(ShardFolder(path_).shard_path(shard));
    }
    return files;
  }

  TemporaryFolder folder_;
  SampleCapture sample_;
  std::filesystem::path path_ = folder_ / "capture.h5";
};

TEST_F(CaptureDamageTest, EveryFlippedByteOfAShardIsFound) {
  write_sample();
  flip_bytes(shard_files(), 300, 1);
}

TEST_F(CaptureDamageTest, EveryFlippedByteOfTheMasterIsFound) {
  write_sample();
  flip_bytes({path_}, 300, 2);
}

TEST_F(CaptureDamageTest, EveryFlippedByteOfAPackedFileIsFound) {
  sample_.storage = StorageType::kFloat16;
  write_sample();
  const auto packed = folder_ / "packed.h5";
  pack_capture(path_, packed);
  path_ = packed;
  flip_bytes({path_}, 300, 3);
}

TEST_F(CaptureDamageTest, EveryFlippedByteOfRowsAndActivationsIsFound) {
  // Large chunks, so that the shard consists mostly of data: search for its values.
  sample_ = {.num_shards = 1, .sequences_per_shard = 60, .num_layers = 1, .chunk_bytes = 1 << 14};
  write_sample();
  const auto file = shard_files().front();
  const std::string good = testing::read_text(file);
  const MatrixF values = sample_.expected(0);
  const std::string needle(reinterpret_cast<const char*>(values.data()), 64);
  const std::size_t first = good.find(needle);
  ASSERT_NE(first, std::string::npos);
  Random random(4);
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    const std::size_t at = first + random.below(static_cast<std::uint64_t>(16000));
    bad[at] = static_cast<char>(bad[at] ^ static_cast<char>(1 + random.below(255)));
    testing::write_text(file, bad);
    EXPECT_THAT(verify_capture(path_),
                ElementsAre(HasSubstr("the checksum of 'activations/values/000', rows ")))
        << at;
    EXPECT_THROW(CaptureReader(path_).read_all("values", 0), FormatError);
  }
}

TEST_F(CaptureDamageTest, EveryFlippedByteOfCompressedFilesIsFound) {
  sample_.compression = Compression::kDeflate;
  write_sample();
  flip_bytes(shard_files(), 300, 5);
  const auto packed = folder_ / "packed.h5";
  pack_capture(path_, packed);
  path_ = packed;
  flip_bytes({path_}, 300, 6);
}

TEST_F(CaptureDamageTest, RefusesAStreamThatIsWrongBehindARightChecksum) {
  sample_ = {.num_shards = 1,
             .num_layers = 1,
             .compression = Compression::kDeflate,
             .chunk_bytes = 1 << 16};
  write_sample();
  pack_capture(path_, folder_ / "packed.h5");
  const MatrixF rows = sample_.expected(0);
  const std::span<const std::byte> values = std::as_bytes(std::span(rows.data(), rows.size()));
  const StoredChunk chunk = compressed({values.begin(), values.end()}, sizeof(float));
  const auto text_of = [](const StoredChunk& stored) {
    return std::string(reinterpret_cast<const char*>(stored.bytes.data()), stored.bytes.size());
  };
  std::string file = testing::read_text(folder_ / "packed.h5");
  const std::size_t place = file.find(text_of(chunk));
  ASSERT_NE(place, std::string::npos);
  std::vector<std::byte> stream(chunk.bytes.begin(), chunk.bytes.end() - 4);
  std::fill(stream.begin() + static_cast<std::ptrdiff_t>(stream.size() / 2), stream.end(),
            std::byte{0});
  file.replace(place, chunk.bytes.size(), text_of(checksummed(stream)));
  testing::write_text(path_, file.substr(0, file.rfind("{\"data\"")));  // without its digest
  const std::string expected = "store: '" + path_.string() +
                               "': 'activations/values/000', rows 0 to " +
                               std::to_string(rows.rows() - 1) +
                               ", cannot be inflated: it inflates to more than a chunk; the file "
                               "is damaged, restore it or capture it again";
  EXPECT_THAT(verify_capture(path_), Contains(expected));
  EXPECT_EQ(message_of([&] { CaptureReader(path_).read_all("values", 0); }), expected);
  EXPECT_EQ(CaptureReader(path_).read_all("hidden", 0), sample_.expected(1));
}

TEST_F(CaptureDamageTest, NamesTheShardThatIsMissing) {
  write_sample();
  std::filesystem::remove(folder_ / "capture.shards/00001.h5");
  const std::string expected =
      "store: '" + path_.string() + "' needs '" + (folder_ / "capture.shards/00001.h5").string() +
      "', which is missing; keep the folder next to the file, or resume the capture";
  EXPECT_EQ(open_error(), expected);
  EXPECT_THAT(verify_capture(path_), ElementsAre(expected));
}

TEST_F(CaptureDamageTest, NamesTheShardThatIsCutShort) {
  write_sample();
  const auto shard = folder_ / "capture.shards/00002.h5";
  std::filesystem::resize_file(shard, file_size(shard) - 10);
  EXPECT_THAT(open_error(), StartsWith("store: '" + shard.string() + "' is truncated: it has "));
  EXPECT_THAT(verify_capture(path_), ElementsAre(HasSubstr("' is truncated: it has ")));
}

TEST_F(CaptureDamageTest, SaysOneLineOfOneDamage) {
  sample_ = {.num_shards = 1, .sequences_per_shard = 60, .num_layers = 1, .chunk_bytes = 1 << 14};
  write_sample();
  const auto shard = shard_files().front();
  const std::string good = testing::read_text(shard);
  std::string bad = good;
  bad.back() = '?';  // the digest is not found any more
  testing::write_text(shard, bad);
  EXPECT_THAT(verify_capture(path_), ElementsAre(HasSubstr("has no digest")));
  const MatrixF values = sample_.expected(0);
  const std::string needle(reinterpret_cast<const char*>(values.data()), 64);
  bad[good.find(needle)] ^= 1;
  testing::write_text(shard, bad);
  EXPECT_THAT(verify_capture(path_), ElementsAre(HasSubstr("the checksum of")));

  RowTable rows{.sequence = {0, 1}, .position = {0, 1}, .token = {3, 4}, .class_id = {0, 1}};
  write_tables(rows);
  EXPECT_THAT(verify_capture(path_), ElementsAre(HasSubstr("are inconsistent")));
}

TEST_F(CaptureDamageTest, NamesTheShardOfAnotherCapture) {
  write_sample();
  SampleCapture other = sample_;
  other.seed = 2;
  const TemporaryFolder elsewhere;
  other.write(elsewhere / "capture.h5");
  std::filesystem::copy_file(elsewhere / "capture.shards/00001.h5",
                             folder_ / "capture.shards/00001.h5",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(verify_capture(path_), ElementsAre(HasSubstr("belongs to another capture")));
  EXPECT_THAT(message_of([&] { CaptureReader(path_).read_all("values", 0); }),
              HasSubstr("00001.h5' belongs to another capture; restore the original shard"));
}

TEST_F(CaptureDamageTest, SaysWhatAFileIsThatIsNoCapture) {
  const std::string name = "store: '" + path_.string() + "' ";
  EXPECT_EQ(open_error(), name + "does not exist");
  testing::write_text(path_, "# Notes\n");
  EXPECT_EQ(open_error(), name + "is not an HDF5 file");
  {
    Hdf5Writer writer(path_);
    writer.write<float>("weights", std::vector<float>{1.0F}, {1});
    writer.commit();
  }
  EXPECT_EQ(open_error(), name + "is not a capture but an HDF5 file of another program");
  {
    Hdf5Writer writer(path_);
    writer.set_attribute("format", "lime-capture");
    writer.set_attribute("schema_version", 3);
    writer.commit();
  }
  EXPECT_EQ(open_error(),
            name + "has schema version 3, this build reads 1; capture it again or update");
  std::filesystem::remove(path_);
  write_sample();
  EXPECT_THAT(message_of([&] { CaptureReader(folder_ / "capture.shards/00000.h5"); }),
              HasSubstr("is one shard of a capture; open the capture itself"));
}

TEST_F(CaptureDamageTest, SaysThatAFileIsCutShort) {
  write_sample();
  std::filesystem::resize_file(path_, file_size(path_) / 2);
  EXPECT_THAT(open_error(), StartsWith("store: '" + path_.string() + "' is truncated: it has "));
}

TEST_F(CaptureDamageTest, ReadsNothingOutsideItsShards) {
  for (const char* const name :
       {"../secret.shards/00000.h5", "./secret.shards/00000.h5", "/etc/secret.shards/00000.h5",
        "a.shards/../00000.h5", "a.shards/b/00000.h5", "secret.h5", ".shards/00000.h5",
        "a.shards/00000.txt"}) {
    EXPECT_FALSE(is_shard_name(name)) << name;
    CaptureTables tables;
    tables.info = sample_.plan().info;
    tables.shards = {{0, name, 0, 0, 0, 0}};
    Hdf5Writer writer(path_);
    write_attributes(writer, tables);
    writer.commit();
    EXPECT_THAT(open_error(), HasSubstr("which is not a shard next to it")) << name;
  }
  EXPECT_TRUE(is_shard_name("capture.shards/00012.h5"));
  EXPECT_TRUE(is_shard_name(".hidden.shards/00012.h5"));
}

TEST_F(CaptureDamageTest, RefusesDataThatLiesInOtherFiles) {
  write_sample();
  pack_capture(path_, folder_ / "packed.h5");
  path_ = folder_ / "packed.h5";
  const std::string script =
      "import h5py, sys\n"
      "f = h5py.File(sys.argv[1], 'r+')\n"
      "values = f['activations/values']\n"
      "shape = values['000'].shape\n"
      "del values['000'], values['001'], f['router/001']\n"
      "values.create_dataset('000', shape, 'f4', external=[('/etc/passwd', 0, 1 << 30)])\n"
      "values['000'].attrs['hook'] = 'x'\n"
      "f['router/001'] = h5py.ExternalLink('/etc/other.h5', '/x')\n";
  testing::write_text(folder_ / "edit.py", script);
  const std::string arguments = " " + (folder_ / "edit.py").string() + " " + path_.string();
  if (testing::run_command("python3" + arguments).status != 0 &&
      testing::run_command("/usr/bin/python3" + arguments).status != 0) {
    GTEST_SKIP() << "needs a python3 with h5py (Debian: python3-h5py)";
  }
  const CaptureReader reader(path_);
  EXPECT_THAT(message_of([&] { reader.read_all("values", 0); }),
              HasSubstr("stores its data in other files, which is not allowed"));
  EXPECT_THAT(message_of([&] { reader.router(1); }), HasSubstr("has no router of layer 1"));
}

TEST_F(CaptureDamageTest, RefusesRowsThatAreAtOddsWithTheSequences) {
  const std::string expected = "store: '" + path_.string() +
                               "': 'rows/sequence' and 'sequences/offset' are inconsistent; "
                               "restore the file or capture it again";
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  for (const std::int32_t wrong : {kMax, kLeast, -1, 1, 2}) {
    write_tables({.sequence = {0, wrong}, .position = {0, 1}, .token = {3, 4}, .class_id = {0, 1}});
    EXPECT_EQ(rows_error(), expected) << wrong;
    EXPECT_THAT(verify_capture(path_), Contains(expected)) << wrong;
  }
  write_tables({.sequence = {0, 0}, .position = {0, 1}, .token = {3, 4}, .class_id = {0, -1}});
  EXPECT_EQ(rows_error(), "");
}

TEST_F(CaptureDamageTest, RefusesClassesWithoutNames) {
  const std::string file = "store: '" + path_.string() + "': ";
  for (const std::int16_t wrong : std::initializer_list<std::int16_t>{2, 32767, -2, -32768}) {
    write_tables({.sequence = {0, 0}, .position = {0, 1}, .token = {3, 4}, .class_id = {0, wrong}});
    const std::string expected = file + "entry 1 of 'rows/class' must be in [-1, 2), got " +
                                 std::to_string(wrong) + "; restore the file or capture it again";
    EXPECT_EQ(rows_error(), expected);
    EXPECT_THAT(verify_capture(path_), Contains(expected));
  }
}

TEST_F(CaptureDamageTest, RefusesTasksAndLabelsWithoutNames) {
  const RowTable rows = {
      .sequence = {0, 0}, .position = {0, 1}, .token = {3, 4}, .class_id = {0, 1}};
  for (const std::int16_t wrong : std::initializer_list<std::int16_t>{2, -2, 32767}) {
    write_tables(rows, {.text = "", .label = 1, .task = wrong});
    const std::string expected = "store: '" + path_.string() +
                                 "': entry 0 of 'sequences/task' must be in [-1, 2), got " +
                                 std::to_string(wrong) + "; restore the file or capture it again";
    EXPECT_EQ(sequences_error(), expected);
    EXPECT_THAT(verify_capture(path_), Contains(expected));
  }
  write_tables(rows, {.text = "", .label = 2, .task = 1});
  EXPECT_THAT(sequences_error(),
              HasSubstr("entry 0 of 'sequences/label' must be in [-1, 2), got 2"));
  write_tables(rows, {.text = "", .label = 1, .task = 1});
  EXPECT_EQ(sequences_error(), "");
}

TEST_F(CaptureDamageTest, RefusesAttributesThatAreNoObjects) {
  for (const char* const name : {"options", "config", "extra"}) {
    for (const char* const value : {"5", "null", "[]", "\"a\""}) {
      Hdf5Writer writer(path_);
      CaptureTables tables;
      tables.info = sample_.plan().info;
      write_attributes(writer, tables);
      writer.set_attribute(name, std::string_view(value));
      writer.commit();
      EXPECT_THAT(open_error(), StartsWith("store: '" + path_.string() + "': '" + name +
                                           "' must be a JSON object, got "));
    }
  }
}

TEST_F(CaptureDamageTest, PackRefusesToWriteOntoItself) {
  write_sample();
  EXPECT_THROW(pack_capture(path_, path_), InvalidArgument);
  EXPECT_THAT(verify_capture(path_), IsEmpty());
}

TEST_F(CaptureDamageTest, StopsWhenAsked) {
  write_sample();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(pack_capture(path_, folder_ / "p.h5", {}, stop.get_token()), Interrupted);
  EXPECT_FALSE(exists(folder_ / "p.h5"));
  EXPECT_THROW(verify_capture(path_, {}, stop.get_token()), Interrupted);
  const CaptureReader reader(path_);
  EXPECT_THROW(reader.read_rows("values", 0, 0, 2, stop.get_token()), Interrupted);
  EXPECT_NO_THROW(reader.read_rows("values", 0, 0, 2));
}

}  // namespace
}  // namespace lime
