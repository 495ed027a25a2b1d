// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/repeated_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "store/results/columns.h"

namespace lime {
namespace {

constexpr std::array kSkipping = {"skip_tokens", "match_length", "skip_massive", "skip_dims"};

Json option_of(const FigureSource& source, const char* name) {
  const auto found = source.results.options.find(name);
  return found == source.results.options.end() ? Json() : *found;
}

/// Returns "without massive tokens, without the first token"; empty if nothing was omitted.
std::string omitted_by(const FigureSource& source) {
  std::string text;
  const auto add = [&](const std::string& what) {
    text += (text.empty() ? "without " : ", without ") + what;
  };
  const Json tokens = option_of(source, "skip_tokens");
  if (tokens.is_number_integer() && tokens > 0) {
    add(tokens == 1 ? "the first token"
                    : fmt::format("the first {} tokens", tokens.get<std::int64_t>()));
  }
  if (option_of(source, "skip_massive").is_number()) add("massive tokens");
  const Json dims = option_of(source, "skip_dims");
  if (dims.is_string() && dims != "0" && dims != "") add("outlier dimensions");
  const Json length = option_of(source, "match_length");
  if (!length.is_number_integer() && !length.is_string()) return text;
  if (!text.empty()) text += ", ";
  if (length.is_string()) return text + "equal lengths";
  return text + fmt::format("{} tokens each", length.get<std::int64_t>());
}

}  // namespace

std::optional<std::vector<FigureSource>> with_distinct_labels(FigureSources sources) {
  const auto omits = [](const FigureSource& source) { return !omitted_by(source).empty(); };
  if (std::ranges::none_of(sources, omits)) return std::nullopt;
  std::map<std::string, std::vector<std::string>> omitted;  // by label
  for (const FigureSource& source : sources) {
    for (const std::string& label : distinct(source.results.rows, col::kLabel)) {
      std::vector<std::string>& texts = omitted[label];
      const std::string text = omitted_by(source);
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
  }
  std::vector<FigureSource> all(sources.begin(), sources.end());
  for (FigureSource& source : all) {
    const std::string text = omitted_by(source);
    if (text.empty()) continue;
    const auto is_repeated = [&](const std::string& label) {
      const auto found = omitted.find(label);
      return found != omitted.end() && found->second.size() > 1;
    };
    bool is_changed = false;
    for (ResultRow& row : source.results.rows) {
      for (const TextColumn& column : {col::kLabel, col::kOtherLabel, col::kBaseline}) {
        const std::string label = row.text(column);
        if (!is_repeated(label)) continue;
        row.set(column, label + ", " + text);
        is_changed = true;
      }
    }
    // The label says it.
    for (const char* const name : kSkipping) {
      if (is_changed) source.results.options.erase(name);
    }
  }
  return all;
}

}  // namespace lime
