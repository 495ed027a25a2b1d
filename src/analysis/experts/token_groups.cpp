// SPDX-License-Identifier: Apache-2.0
#include "analysis/experts/token_groups.h"

#include <numeric>
#include <unordered_map>

#include "analysis/engine/capture_rows.h"
#include "core/files/input_file.h"

namespace lime {
namespace {

/// Numbers values in the order of their first appearance.
template <typename T> class Numbering {
 public:
  std::int32_t operator()(const T& value) {
    return numbers_.try_emplace(value, static_cast<std::int32_t>(numbers_.size())).first->second;
  }
  std::int64_t size() const { return std::ssize(numbers_); }

 private:
  std::unordered_map<T, std::int32_t> numbers_;
};

/// Returns the number of tokens of the sequences used.
std::size_t num_rows_used(const ChosenCapture& capture) {
  return static_cast<std::size_t>(
      capture.reader.offsets()[static_cast<std::size_t>(capture.num_sequences)]);
}

/// Each token is a unit.
TokenGroups of_tokens(std::string name, std::size_t num_rows) {
  TokenGroups groups{.name = std::move(name)};
  groups.unit_of_row.resize(num_rows);
  std::iota(groups.unit_of_row.begin(), groups.unit_of_row.end(), 0);
  groups.group_of_unit.resize(num_rows);
  return groups;
}

NamedGroups domain_groups(const ChosenCapture& capture, const std::vector<std::string>& domains) {
  const auto count = static_cast<std::size_t>(capture.num_sequences);
  throw_if(domains.size() < count, OptionName("domains"),
           "must have a line for each of the {} sequences of {}, got {}", count,
           quoted_path(capture.reader), domains.size());
  NamedGroups named{.groups = {.name = "domain"}, .names = {}};
  named.groups.unit_of_row.assign(
      capture.reader.rows().sequence.begin(),
      capture.reader.rows().sequence.begin() + static_cast<std::ptrdiff_t>(num_rows_used(capture)));
  Numbering<std::string> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    named.groups.group_of_unit.push_back(numbers(domains[i]));
    if (numbers.size() > std::ssize(named.names)) named.names.push_back(domains[i]);
  }
  named.groups.num_groups = numbers.size();
  return named;
}

NamedGroups class_groups(const CaptureReader& capture, std::size_t num_rows) {
  NamedGroups named{.groups = of_tokens("class", num_rows), .names = capture.info().class_names};
  const std::vector<std::int16_t>& classes = capture.rows().class_id;
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (classes[row] < 0) {
      named.groups.unit_of_row[row] = -1;
    } else {
      named.groups.group_of_unit[row] = classes[row];
    }
  }
  // Rows without a class must keep out of the permutation as well.
  Numbering<std::int32_t> units;
  std::vector<std::int32_t> group_of_unit;
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (named.groups.unit_of_row[row] < 0) continue;
    named.groups.unit_of_row[row] = units(named.groups.unit_of_row[row]);
    group_of_unit.push_back(named.groups.group_of_unit[row]);
  }
  named.groups.group_of_unit = std::move(group_of_unit);
  named.groups.num_groups = std::ssize(named.names);
  return named;
}

NamedGroups numbered_groups(std::string name, const std::vector<std::int32_t>& values,
                            std::size_t num_rows) {
  NamedGroups named{.groups = of_tokens(std::move(name), num_rows), .names = {}};
  Numbering<std::int32_t> numbers;
  for (std::size_t row = 0; row < num_rows; ++row) {
    named.groups.group_of_unit[row] = numbers(values[row]);
  }
  named.groups.num_groups = numbers.size();
  return named;
}

}  // namespace

std::vector<std::string> read_domains(const std::filesystem::path& file) {
  std::vector<std::string> domains;
  for_each_line(file, [&](std::string_view line, std::int64_t number) {
    throw_if(number != std::ssize(domains) + 1, OptionName("domains"),
             "'{}': line {} is blank; write the domain of a sequence in each line", file.string(),
             std::ssize(domains) + 1);
    domains.emplace_back(line);
    return true;
  });
  return domains;
}

std::vector<NamedGroups> token_groups(const ChosenCapture& capture,
                                      const std::vector<std::string>& domains) {
  const std::size_t num_rows = num_rows_used(capture);
  const RowTable& rows = capture.reader.rows();
  std::vector<NamedGroups> all;
  if (!domains.empty()) all.push_back(domain_groups(capture, domains));
  if (!rows.class_id.empty()) all.push_back(class_groups(capture.reader, num_rows));
  all.push_back(numbered_groups("document", rows.sequence, num_rows));
  all.push_back(numbered_groups("token", rows.token, num_rows));
  std::erase_if(all, [](const NamedGroups& named) { return named.groups.num_groups < 2; });
  return all;
}

}  // namespace lime
