// SPDX-License-Identifier: Apache-2.0
// lime-trial-read FILE: reads an HDF5 file on trial, see try_reading().
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/errors.h"
#include "store/hdf5/chunk_reader.h"
#include "store/hdf5/hdf5_api.h"
#include "store/hdf5/hdf5_file.h"
#include "store/hdf5/hdf5_trial.h"

namespace lime {
namespace {

constexpr int kMaxDepth = 8;
constexpr int kMaxObjects = 100'000;
/// Limit of waiting for anything but the CPU; the file then counts as not tried.
constexpr unsigned kMaxSeconds = 10;
/// A process that used this much CPU time since the last alarm was waiting for the CPU.
constexpr std::int64_t kComputing = 1'000'000;  // nanoseconds
constexpr std::int64_t kPieceValues = std::int64_t{1} << 20;
constexpr std::int64_t kMaxValues = std::int64_t{1} << 27;  // of 8 bytes each

/// Walks through a file. HDF5's errors are ignored, except in listings, which must be complete.
class TrialWalk {
 public:
  explicit TrialWalk(const Hdf5File& file) : file_(file) {}

  void visit_group(const std::string& group, int depth) {
    visit_attributes(group);
    if (depth == kMaxDepth) return;
    const std::string prefix = group == "/" ? "" : group + "/";
    for (const std::string& name : list([&] { return file_.datasets(group); })) {
      visit_dataset(prefix + name);
    }
    for (const std::string& name : list([&] { return file_.groups(group); })) {
      if (++num_objects_ == kMaxObjects) ::_exit(trial::kNotListed);
      visit_group(prefix + name, depth + 1);
    }
  }

 private:
  /// Exits if memory runs out, since the next reader would run out as well.
  static void attempt(const std::function<void()>& read) {
    try {
      read();
    } catch (const hdf5::OutOfMemory&) {
      ::_exit(trial::kOutOfMemory);
    } catch (const Error&) {
      // The next reader reports the same error.
    }
  }

  static std::vector<std::string> list(const std::function<std::vector<std::string>()>& read) {
    std::optional<std::vector<std::string>> names;
    attempt([&] { names = read(); });
    if (!names) ::_exit(trial::kNotListed);
    return *std::move(names);
  }

  void visit_attributes(const std::string& object) {
    for (const std::string& name : list([&] { return file_.attributes(object); })) {
      attempt([&] { file_.strings_attribute(name, object); });
      attempt([&] { file_.attribute(name, object); });
      attempt([&] { file_.int_attribute(name, object); });
    }
  }

  void visit_dataset(const std::string& name) {
    visit_attributes(name);
    attempt([&] { file_.read_strings(name); });
    attempt([&] {
      const bool is_ours = name.starts_with("activations/") && ChunkReader(file_, name).is_direct();
      if (!is_ours) read_numbers(name);
    });
  }

  void read_numbers(const std::string& name) {
    const hdf5::Id dataset = hdf5::open_plain_dataset(file_, name);
    const std::vector<std::int64_t> shape = hdf5::shape_of(dataset.get());
    const hdf5::Id space(H5Dget_space(dataset.get()), H5Sclose);
    std::int64_t row = 1;  // values per entry of the first dimension
    for (std::size_t i = 1; i < shape.size(); ++i) {
      if (shape[i] < 0 || shape[i] > kMaxValues / row) return;
      row = std::max<std::int64_t>(row * shape[i], 1);
    }
    const std::int64_t num_rows = shape.empty() ? 1 : std::min(shape[0], kMaxValues / row);
    const std::int64_t step = std::max<std::int64_t>(1, kPieceValues / row);
    std::vector<double> values(static_cast<std::size_t>(std::min(step, num_rows) * row));
    for (std::int64_t first = 0; first < num_rows; first += step) {
      std::vector<hsize_t> start(std::max<std::size_t>(shape.size(), 1), 0);
      std::vector<hsize_t> count(shape.begin(), shape.end());
      if (!shape.empty()) {
        start[0] = static_cast<hsize_t>(first);
        count[0] = static_cast<hsize_t>(std::min(step, num_rows - first));
        H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                            nullptr);
      }
      const hsize_t points = count.empty() ? 1 : count[0] * static_cast<hsize_t>(row);
      const hdf5::Id memory(H5Screate_simple(1, &points, nullptr), H5Sclose);
      if (H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT,
                  values.data()) < 0) {
        hdf5::fail_reading(file_.path(), name);
      }
    }
  }

  const Hdf5File& file_;
  int num_objects_ = 0;
};

/// Returns the bytes of private memory that this process has mapped; 0 if unknown.
[[maybe_unused]] rlim_t data_size() {
  std::ifstream status("/proc/self/statm");
  rlim_t pages = 0;
  for (int i = 0; i < 6; ++i) status >> pages;
  return status ? pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

void limit(decltype(RLIMIT_CPU) resource, rlim_t most) {
  const rlimit value = {most, most + 1};
  ::setrlimit(resource, &value);
}

std::int64_t computed_nanoseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Ends the process unless it has used CPU time since the last alarm.
void end_if_waiting(int signal) {
  static std::int64_t before = 0;
  const std::int64_t now = computed_nanoseconds();
  if (now - before < kComputing) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  before = now;
  ::alarm(kMaxSeconds);
}

/// Sets limits of CPU time and memory far above the needs of a valid file of this size.
void limit_resources(const std::filesystem::path& path) {
  std::error_code ignored;
  const rlim_t size = std::min<rlim_t>(std::filesystem::file_size(path, ignored), rlim_t{1} << 50);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, 2 + (size >> 25U));
#if !defined(__SANITIZE_THREAD__)  // which maps memory of its own for every access
  const rlim_t before = data_size();
  if (before > 0) limit(RLIMIT_DATA, before + (rlim_t{1} << 28) + 16 * size);
#endif
  std::signal(SIGALRM, end_if_waiting);
  ::alarm(kMaxSeconds);
}

int read_on_trial(const std::filesystem::path& path) {
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  limit_resources(path);
  try {
    const Hdf5File file(path, Hdf5Trial::kDone);
    TrialWalk(file).visit_group("/", 0);
  } catch (const Error&) {
    // The next reader reports the same error.
  } catch (const std::exception&) {
    return trial::kOutOfMemory;
  }
  return 0;
}

}  // namespace
}  // namespace lime

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  // The library's handles need not be closed.
  ::_exit(lime::read_on_trial(argv[1]));
}
