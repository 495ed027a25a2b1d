// SPDX-License-Identifier: Apache-2.0
#include "measure/measure_options.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "core/program/suggest.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr std::array<std::string_view, 4> kMetrics = {"entropy", "geometry", "attention", "lens"};

std::vector<std::string> cut_at(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::pair<std::string, std::string> option_of(const std::string& word) {
  const std::size_t equals = word.find('=');
  throw_if(equals == std::string::npos || equals == 0, OptionName("measure"),
           "expected OPTION=VALUE after the measurement, e.g. 'entropy preset=raw', got "
           "'{}'",
           printable(word));
  std::string name = word.substr(0, equals);
  std::ranges::replace(name, '-', '_');
  return {std::move(name), word.substr(equals + 1)};
}

/// Returns `name` with dashes, as it is written on the command line.
std::string with_dashes(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace

std::vector<MeasureRequest> parse_measurements(const std::vector<std::string>& texts) {
  std::vector<MeasureRequest> requests;
  for (const std::string& text : texts) {
    const std::vector<std::string> words = cut_at(text, ' ');
    throw_if(words.empty(), OptionName("measure"), "expected a measurement ({}), got an empty text",
             fmt::join(kMetrics, ", "));
    std::vector<std::pair<std::string, std::string>> options;
    for (std::size_t i = 1; i < words.size(); ++i) options.push_back(option_of(words[i]));
    throw_if(words.front().find('=') != std::string::npos, OptionName("measure"),
             "'{}' is an option without a measurement; quote both together, e.g. 'entropy "
             "preset=raw'",
             printable(words.front()));
    for (const std::string& metric : cut_at(words.front(), ',')) {
      throw_if(std::ranges::find(kMetrics, metric) == kMetrics.end(), OptionName("measure"),
               "unknown measurement '{}' (supported: {})", printable(metric),
               fmt::join(kMetrics, ", "));
      throw_if(std::ranges::find(requests, metric, &MeasureRequest::metric) != requests.end(),
               OptionName("measure"), "'{}' is given twice; measure it once per run", metric);
      requests.push_back({metric, options});
    }
  }
  return requests;
}

void assign_options(const MeasureRequest& request, const std::vector<OptionField>& fields,
                    std::span<const ReservedOption> reserved) {
  std::vector<std::string> seen;
  for (const auto& [name, value] : request.options) {
    const auto refused = std::ranges::find(reserved, name, &ReservedOption::name);
    throw_if(refused != reserved.end(), OptionName("measure"), "{} cannot have the option '{}'; {}",
             request.metric, with_dashes(name), refused->remedy);
    const auto field = std::ranges::find(fields, name, &OptionField::name);
    throw_if(field == fields.end(), OptionName("measure"),
             "{} has no option '{}'; lime-metrics {} --help lists them", request.metric,
             printable(with_dashes(name)), request.metric);
    throw_if(std::ranges::find(seen, name) != seen.end(), OptionName("measure"),
             "the option '{}' of {} is given twice", with_dashes(name), request.metric);
    seen.push_back(name);
    const bool is_cut = field->is_list && field->splits_commas;
    field->assign(is_cut ? cut_at(value, ',') : std::vector<std::string>{value});
  }
}

void MeasureOptions::describe(OptionList& list) {
  list.group("Measurements without storage");
  list.add("measure", measure,
           "measure activations during the passes and store only the results: entropy, geometry, "
           "attention, lens, with options of lime-metrics, e.g. 'entropy preset=raw alpha=1,2'; "
           "--output names the results file")
      .splits_commas = false;
  list.add("store_sequences", store_sequences,
           "also store a capture of the first N sequences, next to the results as .h5");
  list.add("activation_memory", activation_memory,
           "memory for activations kept until statistics of all tokens are known, e.g. 8GB; those "
           "beyond it are computed by a second pass; default: the free memory, on a GPU none");
}

void MeasureOptions::validate() const {
  parse_measurements(measure);
  if (store_sequences) {
    check_option(*store_sequences >= 1, "store_sequences", ">= 1", *store_sequences);
  }
  throw_if(!is_requested() && store_sequences, OptionName("store_sequences"),
           "applies to --measure only; use --max-sequences");
  throw_if(!is_requested() && activation_memory, OptionName("activation_memory"),
           "applies to --measure only; omit it");
}

void check_capture_options(const CaptureOptions& capture, const MeasureOptions& measure) {
  throw_if(capture.rows != RowKind::kTokens, OptionName("rows"),
           "--measure needs every token of a sequence, got {}; omit --rows",
           enum_name(capture.rows));
  throw_if(!capture.only.empty(), OptionName("only"),
           "--measure needs every token of a sequence; omit --only");
  throw_if(capture.log_likelihood, OptionName("log_likelihood"),
           "is stored in captures, not measured by --measure; run it separately");
  throw_if(capture.resume, OptionName("resume"),
           "--measure keeps no unfinished work; omit --resume");
  throw_if(!capture.share().is_whole(), OptionName("shard"),
           "--measure runs in one process; omit --shard, or pass --shard 0/1");
  throw_if(capture.batch_size && capture.batch_size->is_automatic, OptionName("batch_size"),
           "auto leaves no memory of the device for --measure; pass a number");
  throw_if(!measure.store_sequences &&
               (capture.store != StorageType::kFloat32 || capture.compress != Compression::kNone),
           "store, compress: --measure stores no activations; omit them, or add "
           "--store-sequences N");
  const std::string extension = capture.output.extension().string();
  throw_if(
      extension != ".json" && extension != ".csv" && extension != ".tex" && extension != ".txt",
      OptionName("output"),
      "--measure writes results, so the name must end in .json, .csv, .tex or .txt, "
      "got '{}'; pass e.g. -o results.json",
      capture.output.string());
}

std::filesystem::path results_path(const std::filesystem::path& output, const std::string& metric,
                                   std::size_t num_measurements) {
  if (num_measurements == 1) return output;
  std::filesystem::path path = output;
  path.replace_extension();
  path += "." + metric;
  path += output.extension();
  return path;
}

std::filesystem::path sample_path(const std::filesystem::path& output) {
  std::filesystem::path path = output;
  return path.replace_extension(".h5");
}

}  // namespace lime
