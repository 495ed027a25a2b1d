// SPDX-License-Identifier: Apache-2.0
#include "figure_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/options.h"
#include "core/program/command_help.h"
#include "core/program/program.h"
#include "core/utf8.h"

namespace lime {
namespace {

std::string argument(const Json& value) {
  const std::vector<std::string> texts = option_texts(value);
  if (!value.is_array()) return texts.front();
  std::string list;
  for (const std::string& text : texts) {
    if (!list.empty()) list += ',';
    for (const char letter : text) {
      if (letter == ',') list += '\\';
      list += letter;
    }
  }
  return list;
}

template <typename Options> std::string changed_options(const Options& given) {
  const Json values = options_to_json(given);
  const Json defaults = options_to_json(Options{});
  std::string text;
  for (const auto& [name, value] : values.items()) {
    if (value == defaults.at(name)) continue;
    text += " " + option_name(name);
    if (!value.is_boolean()) text += " " + shell_word(argument(value));
  }
  return text;
}

Json inputs_of(const Results& results) {
  Json inputs = Json::array();
  for (const ResultsInput& input : results.inputs) {
    inputs.push_back({{"path", input.path}, {"sha256", input.sha256}, {"label", input.label}});
  }
  return inputs;
}

/// Returns the command, without output and defaults: "lime-figure a.json --kind router-heads".
std::string command_of(const FigureJob& job) {
  std::string command = "lime-figure";
  for (const FigureSource& source : job.sources) command += " " + shell_word(source.path.string());
  return command + changed_options(job.figure) + changed_options(job.style);
}

}  // namespace

std::vector<FigureSource> read_figure_sources(const std::vector<std::filesystem::path>& paths) {
  std::vector<FigureSource> sources;
  for (const std::filesystem::path& path : paths) {
    for (const std::filesystem::path& file : figure_files(path)) {
      sources.push_back(read_figure_source(file));
    }
  }
  return sources;
}

Json provenance_of(const FigureJob& job) {
  Json provenance = Json::object();
  provenance["tool"] = tool_version();
  provenance["command"] = command_of(job);
  std::string created;
  provenance["results"] = Json::array();
  for (const FigureSource& source : job.sources) {
    const Results& results = source.results;
    const auto time = results.provenance.find("created_utc");
    const bool has_time = time != results.provenance.end() && time->is_string();
    if (has_time) created = std::max(created, time->get<std::string>());
    provenance["results"].push_back({{"path", source.path.string()},
                                     {"sha256", source.sha256},
                                     {"metric", results.metric},
                                     {"options", results.options},
                                     {"provenance", results.provenance},
                                     {"inputs", inputs_of(results)}});
  }
  provenance["created_utc"] = created;
  Json options = options_to_json(job.figure);
  options.update(options_to_json(job.style));
  provenance["options"] = std::move(options);
  return provenance;
}

}  // namespace lime
