// SPDX-License-Identifier: Apache-2.0
// Checks that every header of src and app includes the headers of the standard library and of Qt
// that declare the names that it uses. Without that it compiles only where precompiled headers, or
// other headers, happen to provide them.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "structure/source_files.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::include_lines;
using testing::included_name;
using testing::sources_below;

/// A header of the standard library, and names of std that it declares.
struct Provider {
  const char* header;
  const char* names;
};

/// The frequent names. One in several rows may come from any of these headers.
constexpr Provider kProviders[] = {
    {"algorithm", "sort stable_sort min max clamp copy fill transform any_of all_of none_of"},
    {"algorithm", "find find_if count count_if replace copy_if equal reverse lower_bound"},
    {"algorithm", "upper_bound binary_search"},
    {"array", "array"},
    {"atomic", "atomic"},
    {"charconv", "from_chars to_chars errc"},
    {"chrono", "chrono"},
    {"cmath", "sqrt log exp isfinite isnan pow abs floor ceil"},
    {"complex", "complex"},
    {"condition_variable", "condition_variable condition_variable_any"},
    {"cstddef", "size_t ptrdiff_t byte"},
    {"cstdint", "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"},
    {"cstdlib", "abs"},
    {"cstring", "memcpy memcmp memset size_t"},
    {"deque", "deque"},
    {"exception", "exception exception_ptr"},
    {"filesystem", "filesystem"},
    {"fstream", "ifstream ofstream"},
    {"functional", "function hash reference_wrapper less"},
    {"initializer_list", "initializer_list"},
    {"iosfwd", "ostream istream"},
    {"iostream", "ostream istream"},
    {"istream", "istream"},
    {"iterator", "back_inserter"},
    {"limits", "numeric_limits"},
    {"list", "list"},
    {"map", "map multimap less"},
    {"memory", "unique_ptr shared_ptr weak_ptr make_unique make_shared"},
    {"mutex", "mutex recursive_mutex lock_guard unique_lock scoped_lock once_flag call_once"},
    {"numeric", "accumulate iota"},
    {"optional", "optional nullopt"},
    {"ostream", "ostream"},
    {"set", "set multiset less"},
    {"span", "span"},
    {"sstream", "ostringstream istringstream stringstream ostream istream"},
    {"stdexcept", "exception runtime_error"},
    {"stop_token", "stop_token stop_source stop_callback"},
    {"string", "string to_string hash initializer_list"},
    {"string_view", "string_view hash"},
    {"system_error", "error_code errc system_error"},
    {"thread", "thread jthread stop_token stop_source"},
    {"tuple", "tuple tie"},
    {"type_traits", "is_same_v is_enum_v remove_cvref_t decay_t invoke_result_t conditional_t"},
    {"unordered_map", "unordered_map"},
    {"utility", "pair move forward exchange swap as_const"},
    {"variant", "variant visit monostate"},
    {"vector", "vector initializer_list"},
};

/// Returns the headers of each name in kProviders.
std::map<std::string, std::set<std::string>> standard_headers() {
  std::map<std::string, std::set<std::string>> headers;
  for (const Provider& provider : kProviders) {
    std::istringstream names(provider.names);
    for (std::string name; names >> name;) headers[name].insert(provider.header);
  }
  return headers;
}

/// The names that a header uses, and those of Qt classes that it declares.
struct UsedNames {
  std::set<std::string> standard;  ///< x of std::x and std::ranges::x
  std::set<std::string> qt;        ///< QString
  std::set<std::string> declared;  ///< X of class X;
};

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Returns whether a name is that of a class of Qt, or of QCustomPlot: no macro (Q_OBJECT), and no
/// part of QCustomPlot (QCPRange).
bool is_qt_class(std::string_view name) {
  return name.size() > 2 && name[0] == 'Q' && std::isupper(name[1]) != 0 &&
         std::islower(name[2]) != 0;
}

/// Returns the place after the comment, string or character that begins at `at`; `at` if none does.
std::size_t behind_text(std::string_view code, std::size_t at) {
  if (code.substr(at, 2) == "//" || code[at] == '#') return code.find('\n', at);
  if (code.substr(at, 2) == "/*") {
    const std::size_t end = code.find("*/", at);
    return end == std::string_view::npos ? code.size() : end + 2;
  }
  const bool is_digit_separator = code[at] == '\'' && at > 0 && is_of_name(code[at - 1]);
  if ((code[at] != '"' && code[at] != '\'') || is_digit_separator) return at;
  std::size_t end = at + 1;
  while (end < code.size() && code[end] != code[at]) end += code[end] == '\\' ? 2 : 1;
  return end + 1;
}

UsedNames names_of(std::string_view code) {
  UsedNames used;
  std::string before;  // the name before this one
  std::string_view between;
  std::size_t last = 0;
  bool is_standard = false;  // std:: or std::ranges:: is before this name
  for (std::size_t at = 0; at < code.size();) {
    if (const std::size_t next = behind_text(code, at); next != at) {
      at = next < code.size() ? next : code.size();
      continue;
    }
    if (!is_of_name(code[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < code.size() && is_of_name(code[end])) ++end;
    const std::string name(code.substr(at, end - at));
    between = code.substr(last, at - last);
    is_standard = between == "::" && (before == "std" || (is_standard && before == "ranges"));
    if (is_standard) used.standard.insert(name);
    const bool is_declaration =
        (before == "class" || before == "struct") && end < code.size() && code[end] == ';';
    if (is_declaration) used.declared.insert(name);
    if (!is_declaration && between != "::" && is_qt_class(name)) used.qt.insert(name);
    before = name;
    last = at = end;
  }
  return used;
}

/// Returns the headers that declare a Qt name.
std::set<std::string> qt_headers(const std::string& name) {
  if (name == "QRgb") return {"qrgb.h", "QColor"};
  if (name == "QCustomPlot") return {"qcustomplot.h"};
  return {name};
}

bool includes_any(const std::set<std::string>& included, const std::set<std::string>& headers) {
  for (const std::string& header : headers) {
    if (included.contains(header)) return true;
  }
  return false;
}

TEST(UsedNamesTest, HeadersIncludeTheStandardAndQtHeadersOfTheNamesThatTheyUse) {
  const auto headers = standard_headers();
  for (const char* const folder : {"src", "app"}) {
    for (const fs::path& file : sources_below(testing::source_file(folder))) {
      if (file.extension() != ".h") continue;
      std::set<std::string> included;
      for (const std::string& line : include_lines(file)) included.insert(included_name(line));
      const std::string code = testing::read_text(file);
      const UsedNames used = names_of(code);
      for (const std::string& name : used.standard) {
        const auto known = headers.find(name);
        if (known == headers.end() || includes_any(included, known->second)) continue;
        ADD_FAILURE() << file.string() << " uses std::" << name << ": add #include <"
                      << *known->second.begin() << ">";
      }
      for (const std::string& name : used.qt) {
        if (used.declared.contains(name) || includes_any(included, qt_headers(name))) continue;
        ADD_FAILURE() << file.string() << " uses " << name << ": add #include <"
                      << *qt_headers(name).begin() << ">, or declare \"class " << name
                      << ";\" if pointers and references suffice";
      }
    }
  }
}

TEST(UsedNamesTest, FindsNamesInCodeOnly) {
  const UsedNames used = names_of(
      "#include <QLabel>\n// std::map QColor\n/* std::set */ class QSlider;\nchar c = '\"';\n"
      "std::vector<QString> f(const char* a = \"std::list QFont\", int n = 1'000);\n"
      "auto g = std::ranges::sort; Qt::Key k; Q_OBJECT QCPRange r; QSlider* s;");
  EXPECT_EQ(used.standard, (std::set<std::string>{"ranges", "sort", "vector"}));
  EXPECT_EQ(used.qt, (std::set<std::string>{"QSlider", "QString"}));
  EXPECT_EQ(used.declared, (std::set<std::string>{"QSlider"}));
}

}  // namespace
}  // namespace lime
