// SPDX-License-Identifier: Apache-2.0
#include "reliability/programs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/json.h"
#include "store/capture_reader.h"
#include "support/tiny_checkpoint.h"

namespace lime::testing {

namespace fs = std::filesystem;

Child::Child(const std::string& command, const fs::path& log) {
  pid_ = ::fork();
  if (pid_ != 0) return;
  const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

Child::~Child() {
  if (pid_ <= 0 || !runs()) return;
  send(SIGKILL);
  wait();
}

void Child::send(int signal) const { ::kill(pid_, signal); }

int Child::wait() {
  if (status_ >= 0) return status_;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

bool Child::runs() {
  if (status_ >= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return false;
}

ReliabilityTest::ReliabilityTest() {
  write_tiny_checkpoint(folder_ / "model");
  write_text(folder_ / "text.txt", tiny_text(40000));
}

std::string ReliabilityTest::shell(const std::string& command, const std::string& below) const {
  return fmt::format(
      "cd '{}' && unset RANK WORLD_SIZE PMI_RANK OMPI_COMM_WORLD_RANK SLURM_ARRAY_TASK_ID "
      "SLURM_STEP_NUM_TASKS; PATH=\"${{LIME_CHECKED_PROGRAMS:+$LIME_CHECKED_PROGRAMS:}}{}:$PATH\"; "
      "export LC_ALL=C.UTF-8; {}",
      (folder_ / below).string(), LIME_PROGRAMS, command);
}

ProgramRun ReliabilityTest::run(const std::string& command, const std::string& below) const {
  return run_command(shell(command, below));
}

std::string ReliabilityTest::capture_command(int tokens, const std::string& what) {
  return fmt::format(
      "lime-capture --checkpoint ../model --text ../text.txt --seq-len 64 --max-sequences {} "
      "--batch-size 64 --threads 1 --quiet {}",
      tokens / 64, what);
}

std::vector<std::string> leftovers(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || name.find(".part") != name.npos) names.push_back(name);
  }
  return names;
}

void expect_equal_captures(const fs::path& found, const fs::path& expected) {
  const CaptureReader a(found);
  const CaptureReader b(expected);
  ASSERT_TRUE(a.complete());
  ASSERT_EQ(a.num_rows(), b.num_rows());
  ASSERT_EQ(a.sites(), b.sites());
  EXPECT_EQ(a.rows().sequence, b.rows().sequence);
  EXPECT_EQ(a.rows().position, b.rows().position);
  EXPECT_EQ(a.rows().token, b.rows().token);
  EXPECT_EQ(a.offsets(), b.offsets());
  for (const std::string& site : b.sites()) {
    for (const int layer : b.layers(site)) {
      const MatrixF x = a.read_all(site, layer);
      const MatrixF y = b.read_all(site, layer);
      ASSERT_EQ(x.size(), y.size());
      EXPECT_EQ(std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(float)),
                0)
          << site << " " << layer;
      EXPECT_EQ(a.statistics(site, layer).count, b.statistics(site, layer).count);
      EXPECT_EQ(a.statistics(site, layer).mean, b.statistics(site, layer).mean);
      EXPECT_EQ(a.statistics(site, layer).m2, b.statistics(site, layer).m2);
    }
  }
}

std::string without_provenance(const fs::path& results) {
  Json document = read_json_file(results);
  document.erase("provenance");
  return document.dump();
}

int count_from_environment(const char* name, int usual) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : usual;
}

}  // namespace lime::testing
