// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/key_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

std::string text_of(const Json& value) { return printable(value.dump()); }

bool is_int64(const Json& value) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= kMax;
  return value.is_number_integer();
}

/// Keys that do not change activations or logits, separated by spaces.
constexpr std::array kHarmless = std::to_array<std::string_view>({
    // Provenance and the classes of transformers.
    " _attn_implementation _attn_implementation_autoset _commit_hash _flash_attn_2_enabled "
    "_model_name_or_path _name_or_path architectures attn_implementation auto_map "
    "custom_pipelines is_llama_config keys_to_ignore_at_inference name_or_path tokenizer_class "
    "transformers_version unsloth_fixed unsloth_version ",
    // Training: dropout, initialization, checkpointing.
    " activation_dropout attention_dropout attention_probs_dropout_prob attn_pdrop "
    "classifier_dropout dropout embd_pdrop embed_dropout embedding_dropout "
    "gradient_checkpointing hidden_dropout hidden_dropout_prob init_std initializer_factor "
    "layerdrop pretraining_tp resid_dropout resid_pdrop residual_dropout ",
    // Kernels and memory: the numbers agree up to rounding.
    " attention_softmax_in_fp32 cache_implementation chunk_size_feed_forward "
    "reorder_and_upcast_attn scale_attention_softmax_in_fp32 torchscript use_bfloat16 use_cache ",
    // Special tokens.
    " cls_token_id decoder_start_token_id eod_token_id mask_token_id pad_token_id prefix "
    "sep_token_id "
    "unk_token_id ",
    // Generation, as in transformers' GenerationConfig.
    " _from_model_config assistant_confidence_threshold assistant_early_exit "
    "assistant_ensemble_weight assistant_lookbehind bad_words_ids begin_suppress_tokens "
    "cache_config compile_config constraints continuous_batching_config disable_compile "
    "diversity_penalty do_sample dola_layers early_stopping "
    "encoder_no_repeat_ngram_size encoder_repetition_penalty epsilon_cutoff eta_cutoff "
    "exponential_decay_length_penalty force_words_ids forced_bos_token_id forced_eos_token_id "
    "guidance_scale is_assistant length_penalty low_memory max_cache_len max_length "
    "max_matching_ngram_size max_new_tokens max_time min_length min_new_tokens min_p "
    "no_repeat_ngram_size "
    "num_assistant_tokens num_assistant_tokens_schedule num_beam_groups num_beams "
    "num_return_sequences output_logits output_scores penalty_alpha prefill_chunk_size "
    "prompt_lookup_num_tokens remove_invalid_values renormalize_logits repetition_penalty "
    "return_dict_in_generate sequence_bias speculation_type stop_strings suppress_tokens "
    "target_lookbehind "
    "temperature token_healing top_h top_k top_p typical_p use_mtp watermarking_config ",
    // Heads for classification and summaries, outputs of the Python call.
    " finetuning_task id2label is_decoder label2id num_labels output_attentions "
    "output_hidden_states problem_type return_dict summary_activation summary_first_dropout "
    "summary_proj_to_labels summary_type summary_use_proj task_specific_params tf_legacy_loss ",
    // Copies of other keys, and keys of encoders, which refuse_unsupported_keys() refuses.
    " _sliding_window_pattern cross_attention_hidden_size n_ctx tie_encoder_decoder ",
});

/// Switches that some conversions write, and that no family here has: harmless if they are off.
constexpr std::string_view kHarmlessIfFalse =
    " alibi lm_head_bias rope_interleaved use_mrope use_sliding_window ";

bool is_listed(std::string_view keys, const std::string& key) {
  return keys.find(fmt::format(" {} ", key)) != std::string_view::npos;
}

bool is_harmless(const std::string& key, const Json* value) {
  if (value == nullptr) return true;
  if (*value == false && is_listed(kHarmlessIfFalse, key)) return true;
  return std::ranges::any_of(kHarmless,
                             [&](std::string_view keys) { return is_listed(keys, key); });
}

/// Keys that must be absent, null, false or empty.
struct RefusedKey {
  const char* key;
  const char* expected;
};
constexpr std::array kRefused = std::to_array<RefusedKey>({
    {"is_encoder_decoder", "false, because only decoders are supported"},
    {"add_cross_attention", "false, because cross-attention is not supported"},
    {"use_bidirectional_attention",
     "false, because bidirectional attention is not supported; capture it with transformers"},
    {"pruned_heads", "empty, because pruned heads are not supported; use the unpruned checkpoint"},
    {"per_layer_config", "absent, because layers of different sizes are not supported"},
});

}  // namespace

KeyReader::KeyReader(const Json& object, std::string where, KeyStyle style)
    : object_(object), where_(std::move(where)), style_(style) {
  if (object.is_object()) return;
  throw FormatError("{} must be {} object, got {}",
                    style == KeyStyle::kQuoted ? where_ + ":" : where_,
                    style == KeyStyle::kQuoted ? "a JSON" : "an", text_of(object));
}

std::string KeyReader::place(std::string_view key) const {
  return style_ == KeyStyle::kQuoted ? fmt::format("{}: '{}'", where_, key)
                                     : fmt::format("{}.{}", where_, key);
}

bool KeyReader::contains(std::string_view key) const {
  read_.emplace(key);
  return object_.contains(std::string(key));
}

std::vector<std::string> KeyReader::unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_.items()) {
    if (!read_.contains(key)) keys.push_back(key);
  }
  return keys;
}

const Json* KeyReader::find(std::string_view key) const {
  read_.emplace(key);
  const auto found = object_.find(std::string(key));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

template <typename T>
std::optional<T> KeyReader::find_as(std::string_view key, bool (Json::*is_type)() const noexcept,
                                    std::string_view expected) const {
  const Json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!(value->*is_type)()) fail(key, expected, *value);
  return value->get<T>();
}

std::optional<std::int64_t> KeyReader::integer(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr) return std::nullopt;
  return to_integer(*value, key);
}

std::optional<double> KeyReader::number(std::string_view key) const {
  return find_as<double>(key, &Json::is_number, "a number");
}

double KeyReader::positive(std::string_view key, double otherwise) const {
  const auto value = number(key);
  if (value && !(*value > 0.0)) fail(key, "a positive number", *find(key));
  return value.value_or(otherwise);
}

bool KeyReader::boolean(std::string_view key, bool otherwise) const {
  return find_as<bool>(key, &Json::is_boolean, "true or false").value_or(otherwise);
}

std::optional<std::string> KeyReader::text(std::string_view key) const {
  return find_as<std::string>(key, &Json::is_string, "a string");
}

std::vector<std::int64_t> KeyReader::integers(std::string_view key) const {
  const Json* const value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) return {to_integer(*value, key)};
  std::vector<std::int64_t> numbers;
  for (const Json& item : *value) numbers.push_back(to_integer(item, key));
  return numbers;
}

const Json& KeyReader::required(std::string_view key) const {
  if (const Json* const value = find(key)) return *value;
  throw FormatError("{} is missing", place(key));
}

const Json& KeyReader::required_array(std::string_view key) const {
  const Json& value = required(key);
  if (!value.is_array()) fail(key, "an array", value);
  return value;
}

KeyReader KeyReader::required_object(std::string_view key) const {
  return {required(key), place(key), style_};
}

std::int64_t KeyReader::required_integer(std::string_view key) const {
  return to_integer(required(key), key);
}

double KeyReader::required_number(std::string_view key) const {
  required(key);
  return *number(key);
}

std::string KeyReader::required_text(std::string_view key) const {
  required(key);
  return *text(key);
}

void KeyReader::fail(std::string_view key, std::string_view expected, const Json& got) const {
  throw FormatError("{} must be {}, got {}", place(key), expected, text_of(got));
}

std::int64_t KeyReader::to_integer(const Json& value, std::string_view key) const {
  if (!is_int64(value)) fail(key, "a whole number below 2^63", value);
  return value.get<std::int64_t>();
}

namespace {

bool is_mxfp4(const Json& quantization) {
  return quantization.is_object() && quantization.value("quant_method", Json()) == "mxfp4";
}

}  // namespace

void refuse_unsupported_keys(const KeyReader& keys, bool reads_mxfp4) {
  const Json* const quantization = keys.find("quantization_config");
  throw_if<FormatError>(
      quantization != nullptr && !(reads_mxfp4 && is_mxfp4(*quantization)),
      "{}: 'quantization_config' must be absent, got quantised weights; use the unquantised "
      "checkpoint",
      keys.where());
  if (!keys.boolean("is_causal", true)) {
    keys.fail("is_causal", "true, because bidirectional attention is not supported", false);
  }
  throw_if<FormatError>(
      keys.find("text_config") != nullptr,
      "{}: 'text_config' must be absent, got the config of a multimodal model; save its language "
      "model alone, with the keys of text_config at the top level",
      keys.where());
  for (const RefusedKey& refused : kRefused) {
    const Json* const value = keys.find(refused.key);
    if (value == nullptr || *value == false || value->empty()) continue;
    keys.fail(refused.key, refused.expected, *value);
  }
}

void warn_of_unknown_keys(const KeyReader& keys, std::vector<std::string>& warnings) {
  std::vector<std::string> unknown = keys.unread();
  std::erase_if(unknown, [&](const std::string& key) { return is_harmless(key, keys.find(key)); });
  if (unknown.empty()) return;
  std::string names;
  for (const std::string& key : unknown) {
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", printable(key));
  }
  warnings.push_back(fmt::format("{}: unknown keys are ignored: {}", keys.where(), names));
}

}  // namespace lime
