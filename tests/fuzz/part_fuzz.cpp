// SPDX-License-Identifier: Apache-2.0
// The `.part` file of lime-eval: what is accepted is rewritten equally, and continued.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/errors.h"
#include "evaluation/resumable_lines.h"
#include "fuzz/fuzz_target.h"

using namespace lime;

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content = fuzz::text_of(data, size);
  const auto output = fuzz::scratch_folder() / "samples.jsonl";
  const auto part = fuzz::scratch_file("samples.jsonl.part", content);
  fuzz::reads_or_refuses([&] {
    std::string expected;
    {
      ResumableLines lines(output, true);
      for (;;) {
        const std::vector<Json> next = lines.next(1);
        if (next.empty()) break;
        expected += dump_json(next.front()) + "\n";
      }
      lines.add(std::vector<Json>{{{"doc_id", 1}}});
      lines.commit();
    }
    fuzz::require(!path_exists(part), "a finished file leaves no part");
    std::string kept;
    for_each_line(output, [&](std::string_view line, std::int64_t number) {
      kept += dump_json(parse_json(line, std::to_string(number))) + "\n";
      return true;
    });
    fuzz::require(kept == expected + "{\"doc_id\":1}\n", "the lines are those that were read");
    fuzz::require(read(output).ends_with("{\"doc_id\":1}\n"), "new lines follow");
  });
  std::filesystem::remove(output);
  std::filesystem::remove(part);
  return 0;
}
