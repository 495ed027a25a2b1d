// SPDX-License-Identifier: Apache-2.0
// Replaces itself, bin/NAME of a package, by ../lib/lime/LEVEL/bin/NAME, built for the highest
// x86-64 level of this CPU. The environment variable LIME_PROCESSOR_LEVEL=baseline (or x86-64-v3,
// x86-64-v4) selects another level. Compiled for any CPU.
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace {

namespace fs = std::filesystem;

struct Level {
  const char* name;
  bool is_supported;
};

std::array<Level, 3> levels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return {{{"x86-64-v4", __builtin_cpu_supports("x86-64-v4") != 0},
           {"x86-64-v3", __builtin_cpu_supports("x86-64-v3") != 0},
           {"baseline", true}}};
#else
  return {{{"x86-64-v4", false}, {"x86-64-v3", false}, {"baseline", true}}};
#endif
}

/// Returns the path of the running program; if /proc is not mounted, from its name in the auxiliary
/// vector.
fs::path own_path() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) return self;
  const auto* const name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return name == nullptr ? fs::path() : fs::canonical(name, error);
}

}  // namespace

int main(int, char** argv) {
  std::error_code error;
  const fs::path self = own_path();
  const fs::path home = self.parent_path().parent_path() / "lib" / "lime";
  const char* const requested = std::getenv("LIME_PROCESSOR_LEVEL");
  for (const Level& level : levels()) {
    const bool is_wanted = requested == nullptr || std::strcmp(requested, level.name) == 0;
    if (!is_wanted || !level.is_supported) continue;
    const fs::path program = home / level.name / "bin" / self.filename();
    if (!fs::exists(program, error)) continue;
    ::execv(program.c_str(), argv);
    std::fprintf(stderr, "%s: '%s': cannot be started: %s\n", self.filename().c_str(),
                 program.c_str(), std::strerror(errno));
    return 1;
  }
  std::fprintf(stderr, "%s: '%s': must contain the program for %s; reinstall the package\n",
               self.filename().c_str(), home.c_str(),
               requested == nullptr ? "this CPU" : requested);
  return 1;
}
