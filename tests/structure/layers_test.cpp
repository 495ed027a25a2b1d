// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "structure/source_files.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::include_lines;
using testing::sources_below;

/// Allowed includes of each module, besides itself and core: docs/architecture.md has the same
/// table.
const std::map<std::string, std::set<std::string>>& allowed_modules() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"core", {}},
      {"linalg", {}},
      {"checkpoint", {}},
      {"store", {}},
      {"metrics", {"linalg"}},
      {"model", {"checkpoint", "linalg"}},
      {"train", {"model", "checkpoint"}},
      {"capture", {"model", "checkpoint", "store"}},
      {"measure", {"capture", "model", "checkpoint", "store", "metrics", "analysis"}},
      {"evaluation", {"model", "checkpoint", "store", "metrics"}},
      {"analysis", {"checkpoint", "store", "metrics"}},
      {"viz", {"analysis", "store"}},
  };
  return table;
}

/// Modules that the explorer, which is not in src, may include.
const std::set<std::string>& explorer_modules() {
  static const std::set<std::string> modules = {"analysis", "viz", "checkpoint", "store", "core"};
  return modules;
}

/// Headers of libraries that only one module may include.
struct Walled {
  std::string pattern;
  std::set<std::string> modules;
  std::set<std::string> files = {};  ///< more that may, relative to src
};

const std::vector<Walled>& walled_libraries() {
  static const std::vector<Walled> libraries = {
      {R"(<(torch|ATen|c10)/)",
       {"model", "train", "capture", "measure", "evaluation"},
       {"metrics/device/batched_eigenvalues.cpp", "metrics/device/batched_eigenvalues.h",
        "metrics/device/gpu_module.cpp"}},
      {R"(<hdf5(_hl)?\.h>)", {"store"}},
      {R"(<zlib\.h>)", {"store"}},
      {R"(<CLI/)", {"core"}},
      {R"(<openssl/)", {"core"}},
      {R"(<sentencepiece)", {"checkpoint"}},
      {R"(<Q[A-Z])", {"viz"}},
      {R"(<faiss/)", {"metrics"}},
      {R"(<yaml-cpp/)", {"evaluation"}},
  };
  return libraries;
}

TEST(LayersTest, ModulesIncludeOnlyWhatTheTableAllows) {
  const fs::path root = testing::source_file("src");
  const std::regex own_header("#include \"([a-z]+)/.*\"");
  for (const fs::path& file : sources_below(root)) {
    const std::string module = fs::relative(file, root).begin()->string();
    ASSERT_TRUE(allowed_modules().contains(module)) << module << " is missing in the layer table";
    for (const std::string& line : include_lines(file)) {
      std::smatch match;
      if (!std::regex_match(line, match, own_header)) continue;
      const std::string included = match[1];
      EXPECT_TRUE(included == module || included == "core" ||
                  allowed_modules().at(module).contains(included))
          << file << " may not include " << included << ": " << line;
    }
  }
}

TEST(LayersTest, FiguresKnowOfTheStoreWhatResultsAndEmbeddingsAre) {
  const std::set<std::string> allowed = {
      "store/results_file.h",           "store/results/columns.h", "store/results/matrix_rows.h",
      "store/results/row_json.h",       "store/file_names.h",      "store/embeddings_file.h",
      "store/results/difference_name.h"};
  const std::regex store_header("#include \"(store/.*)\"");
  for (const fs::path& file : sources_below(testing::source_file("src/viz"))) {
    for (const std::string& line : include_lines(file)) {
      std::smatch match;
      if (!std::regex_match(line, match, store_header)) continue;
      EXPECT_TRUE(allowed.contains(match[1])) << file << " may not have " << line;
    }
  }
}

TEST(LayersTest, LibrariesStayBehindTheirModules) {
  const fs::path root = testing::source_file("src");
  for (const fs::path& file : sources_below(root)) {
    const fs::path path = fs::relative(file, root);
    for (const std::string& line : include_lines(file)) {
      for (const Walled& library : walled_libraries()) {
        if (!std::regex_search(line, std::regex(library.pattern))) continue;
        EXPECT_TRUE(library.modules.contains(path.begin()->string()) ||
                    library.files.contains(path.string()))
            << file << " may not have " << line;
      }
    }
  }
}

TEST(LayersTest, ProgramsWithoutLibTorchIncludeNoTorchModule) {
  const std::regex torch_module("#include (\"(model|train|capture|measure|evaluation)/|<torch/)");
  for (const std::string program : {"lime-metrics", "lime-figure", "explorer"}) {
    const fs::path folder = testing::source_file("app/" + program);
    if (!fs::exists(folder)) continue;
    for (const fs::path& file : sources_below(folder)) {
      for (const std::string& line : include_lines(file)) {
        EXPECT_FALSE(std::regex_search(line, torch_module)) << file << " may not have " << line;
      }
    }
  }
}

TEST(LayersTest, TheWindowIncludesOnlyWhatTheTableAllows) {
  const std::regex module_header("#include \"([a-z]+)/.*\"");
  for (const fs::path& file : sources_below(testing::source_file("app/explorer"))) {
    for (const std::string& line : include_lines(file)) {
      std::smatch match;
      if (!std::regex_match(line, match, module_header) || match[1] == "explorer") continue;
      EXPECT_TRUE(explorer_modules().contains(match[1])) << file << " may not have " << line;
    }
  }
}

/// The sources that app/explorer/CMakeLists.txt lists for one of its libraries.
std::set<std::string> explorer_sources(const std::string& library) {
  std::ifstream stream(testing::source_file("app/explorer/CMakeLists.txt"));
  std::set<std::string> sources;
  bool is_inside = false;
  for (std::string word; stream >> word;) {
    if (word.starts_with("lime_add_explorer_library(")) {
      is_inside = word == "lime_add_explorer_library(" + library;
    } else if (word == "LIBRARIES") {
      is_inside = false;
    } else if (is_inside && word.ends_with(".cpp")) {
      sources.insert(word);
    }
  }
  return sources;
}

TEST(LayersTest, ModelsOfTheExplorerIncludeNoWidgets) {
  const std::regex widgets(
      "#include "
      "(<QtWidgets|<(?!QCore)Q[A-Za-z]*(Widget|Dialog|View|Layout|Button|Label|Application|Window|"
      "Menu|Painter)>|<qcustomplot)");
  const std::regex own_header("#include \"explorer/(.*)\\.h\"");
  const std::set<std::string> models = explorer_sources("models");
  const std::set<std::string> views = explorer_sources("views");
  ASSERT_FALSE(models.empty() || views.empty());
  for (const std::string& source : models) {
    const fs::path file = testing::source_file("app/explorer/" + source);
    const fs::path header = fs::path(file).replace_extension(".h");
    for (const fs::path& one : {file, header}) {
      for (const std::string& line : include_lines(one)) {
        EXPECT_FALSE(std::regex_search(line, widgets)) << one << " may not have " << line;
        std::smatch match;
        if (!std::regex_match(line, match, own_header)) continue;
        EXPECT_FALSE(views.contains(match[1].str() + ".cpp")) << one << " may not have " << line;
      }
    }
  }
}

TEST(LayersTest, EverySourceOfTheExplorerHasItsOwnHeader) {
  const fs::path root = testing::source_file("app/explorer");
  for (const fs::path& file : sources_below(root)) {
    if (file.extension() != ".cpp" || file == root / "main.cpp") continue;
    EXPECT_TRUE(fs::exists(fs::path(file).replace_extension(".h"))) << file;
  }
}

TEST(LayersTest, EverySourceFileStatesItsLicence) {
  for (const char* const folder : {"src", "app", "tests", "bench"}) {
    for (const fs::path& file : sources_below(testing::source_file(folder))) {
      std::ifstream stream(file);
      std::string first_line;
      std::getline(stream, first_line);
      EXPECT_EQ(first_line, "// SPDX-License-Identifier: Apache-2.0") << file;
    }
  }
}

}  // namespace
}  // namespace lime
