// SPDX-License-Identifier: Apache-2.0
#include "evaluation/text_generator.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <numeric>
#include <regex>

#include "checkpoint/tokenizer/normalizations.h"
#include "checkpoint/tokenizer/python_text.h"
#include "core/threads/threads.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/rotary.h"

namespace lime {
namespace {

/// Text during its generation.
struct GrowingText {
  std::size_t prompt = 0;  ///< its index
  StreamingDecoder decoder;
  std::int64_t padding = 0;
  std::string text = {};
};

/// Cuts a text at its first stop string. @return whether there is one
bool cut_at_stop(std::string& text, const std::vector<std::string>& stop_strings) {
  const std::size_t size = text.size();
  for (const std::string& stop : stop_strings) {
    if (!stop.empty()) text.resize(std::min(text.size(), text.find(stop)));
  }
  return text.size() < size;
}

/// Generates the texts of one batch after another.
class BatchGenerator {
 public:
  BatchGenerator(const Decoder& decoder, const Tokenizer& tokenizer,
                 std::span<const TextPrompt> prompts, const TextGenerationOptions& options)
      : decoder_(decoder), tokenizer_(tokenizer), prompts_(prompts), options_(options) {}

  /// @param batch  indices of prompts, the longest first
  void run(std::span<const std::size_t> batch, GeneratedTexts& results,
           const std::stop_token& stop) {
    const std::int64_t width = std::ssize(prompts_[batch.front()].ids);
    at::Tensor ids = at::zeros({std::ssize(batch), width}, at::kLong);
    std::vector<GrowingText> texts;
    for (const std::size_t p : batch) {
      const std::vector<std::int64_t>& prompt = prompts_[p].ids;
      const std::int64_t padding = width - std::ssize(prompt);
      std::copy(prompt.begin(), prompt.end(),
                ids.data_ptr<std::int64_t>() + std::ssize(texts) * width + padding);
      texts.push_back({p, StreamingDecoder(tokenizer_), padding});
    }
    cache_.clear();
    at::Tensor sequence = ids;
    for (std::int64_t step = 1; !texts.empty(); ++step) {
      throw_if_stopped(stop);
      const at::Tensor next = next_tokens(ids, texts, batch.size() > 1);
      results.new_tokens += next.numel();
      std::vector<std::int64_t> kept;
      std::vector<GrowingText> left;
      for (std::size_t t = 0; t < texts.size(); ++t) {
        const std::int64_t id = next.data_ptr<std::int64_t>()[t];
        if (ends(texts[t], id, step == options_.max_new_tokens)) {
          results.texts[texts[t].prompt] = std::move(texts[t].text);
          continue;
        }
        kept.push_back(static_cast<std::int64_t>(t));
        left.push_back(std::move(texts[t]));
      }
      ids = next.unsqueeze(1);
      if (left.size() < texts.size() && !left.empty()) {
        cache_.keep(kept);
        ids = ids.index_select(0, at::tensor(kept, at::kLong));
      }
      texts = std::move(left);
      if (batch.size() > 1 || texts.empty()) continue;
      sequence = at::cat({sequence, ids}, 1);
      const auto& ropes = decoder_.config().spec.ropes;
      if (!rotates_differently(ropes, cache_.length(), sequence.size(1))) continue;
      cache_.clear();
      ids = sequence;
    }
  }

 private:
  at::Tensor next_tokens(const at::Tensor& ids, const std::vector<GrowingText>& texts,
                         bool is_padded) {
    ForwardOptions forward{
        .logits = LogitsFor::kLastToken, .cache = &cache_, .workspace = &workspace_};
    for (const GrowingText& text : texts) {
      if (is_padded) forward.padding.push_back(text.padding);
    }
    const at::Tensor logits = decoder_.forward(ids, forward).logits;
    return logits.select(1, -1).argmax(-1).to(at::kCPU).contiguous();
  }

  /// Adds a token to a text. @return true if the text ends with it, and is whole
  bool ends(GrowingText& growing, std::int64_t id, bool is_last) const {
    const auto& stops = options_.stop_tokens;
    const std::vector<std::string>& stop_strings = prompts_[growing.prompt].stop_strings;
    const bool is_stop = std::ranges::find(stops, id) != stops.end();
    if (!is_stop && id < tokenizer_.vocab_size()) {
      growing.text += growing.decoder.push(static_cast<std::int32_t>(id));
      if (cut_at_stop(growing.text, stop_strings)) return true;
    }
    if (!is_stop && !is_last) return false;
    growing.text += growing.decoder.finish();
    cut_at_stop(growing.text, stop_strings);
    return true;
  }

  const Decoder& decoder_;
  const Tokenizer& tokenizer_;
  std::span<const TextPrompt> prompts_;
  const TextGenerationOptions& options_;
  KeyValueCache cache_;
  Workspace workspace_;
};

}  // namespace

GeneratedTexts generate_texts(const Decoder& decoder, const Tokenizer& tokenizer,
                              std::span<const TextPrompt> prompts,
                              const TextGenerationOptions& options, const ProgressFn& on_progress,
                              const std::stop_token& stop) {
  const at::NoGradGuard no_grad;
  const PassThreads threads;
  std::vector<std::size_t> order(prompts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t p) { return prompts[p].ids.size(); });
  GeneratedTexts results;
  results.texts.resize(prompts.size());
  if (prompts.empty()) return results;
  const std::int64_t longest = std::ssize(prompts[order.front()].ids) + options.max_new_tokens;
  const ModelConfig& config = decoder.config();
  const bool can_pad =
      !config.spec.learned_position_offset && !rotates_differently(config.spec.ropes, 1, longest);
  const std::size_t batch_size = can_pad ? static_cast<std::size_t>(options.batch_size) : 1;
  BatchGenerator generator(decoder, tokenizer, prompts, options);
  for (std::size_t first = 0; first < order.size(); first += batch_size) {
    const std::size_t count = std::min(batch_size, order.size() - first);
    generator.run(std::span(order).subspan(first, count), results, stop);
    if (on_progress) on_progress({static_cast<std::int64_t>(first + count), std::ssize(order), ""});
  }
  return results;
}

namespace {

constexpr const char* kInvalid = "[invalid]";
constexpr std::string_view kMark = "#### ";

/// Returns the text that exact_match compares.
std::string normalised(std::string_view text) {
  std::string kept = replaced(replaced(std::string(text), ",", ""), "$", "");
  const std::size_t mark = kept.rfind(kMark);
  if (mark != std::string::npos) kept.erase(0, mark + kMark.size());
  // The pattern `\.$` also matches before a final line break.
  const std::size_t end = kept.ends_with('\n') ? kept.size() - 1 : kept.size();
  if (end > 0 && kept[end - 1] == '.') kept.erase(end - 1, 1);
  return lowercase(kept);
}

}  // namespace

std::string strict_answer(const std::string& text) {
  static const std::regex pattern("#### (-?[0-9.,]+)");
  std::smatch match;
  return std::regex_search(text, match, pattern) ? match.str(1) : kInvalid;
}

std::string flexible_answer(const std::string& text) {
  static const std::regex pattern("-?[$0-9.,]{2,}|-?[0-9]+");
  std::string last = kInvalid;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    last = match->str();
  }
  return last;
}

bool is_exact_match(std::string_view answer, std::string_view reference) {
  return normalised(answer) == normalised(reference);
}

}  // namespace lime
