// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/sentencepiece/plugin.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <exception>
#include <unordered_map>

#include "core/errors.h"

namespace lime {
namespace {

class LoadedModel : public SentencePieceModel {
 public:
  /// False if `serialized` is not a SentencePiece model.
  bool parse(std::string_view serialized) {
    try {
      return processor_.LoadFromSerializedProto({serialized.data(), serialized.size()}).ok() &&
             processor_.GetPieceSize() > 0;
    } catch (const std::exception&) {
      return false;  // its Darts throws where pieces are empty or hold NUL
    }
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<int> ids;
    const auto status = processor_.Encode({text.data(), text.size()}, &ids);
    if (!status.ok()) {
      throw InvalidArgument("tokenizer: text must be encodable, got '{}'", status.ToString());
    }
    return ids;
  }

  bool weighs_whole_texts() const override {
    // The library does not tell the kind of a model, but has the best few only of a unigram.
    std::vector<std::vector<int>> best;
    return processor_.NBestEncode("a", 1, &best).ok();
  }

  std::string decode_pieces(const std::vector<std::string>& pieces) const override {
    std::string text;
    return processor_.Decode(pieces, &text).ok() ? text : std::string();
  }

  std::int32_t num_pieces() const override { return processor_.GetPieceSize(); }
  const std::string& piece(std::int32_t id) const override { return processor_.IdToPiece(id); }
  std::int32_t id_of(std::string_view piece) const override {
    return processor_.PieceToId({piece.data(), piece.size()});
  }
  bool is_control(std::int32_t id) const override { return processor_.IsControl(id); }
  bool is_unknown(std::int32_t id) const override { return processor_.IsUnknown(id); }
  bool is_byte(std::int32_t id) const override { return processor_.IsByte(id); }
  std::int32_t bos_id() const override { return processor_.bos_id(); }
  std::int32_t eos_id() const override { return processor_.eos_id(); }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

/// Hands lines to the library, those that are longer than it takes in pieces.
class Lines : public sentencepiece::SentenceIterator {
 public:
  using NextLine = std::function<std::optional<std::string_view>()>;

  explicit Lines(const NextLine& next_line) : next_line_(next_line) { Next(); }

  bool done() const override { return done_; }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    while (rest_.empty()) {
      const std::optional<std::string_view> line = next_line_();
      if (!line) {
        done_ = true;
        return;
      }
      rest_ = *line;
    }
    std::size_t length = rest_.size();
    if (length > kMaxBytes) {
      const std::size_t space = rest_.rfind(' ', kMaxBytes);
      length = space == std::string_view::npos || space == 0 ? character_end() : space;
    }
    value_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

 private:
  /// The longest line that the library accepts, as configured.
  static constexpr std::size_t kMaxBytes = 4000;

  /// The last end of a character within kMaxBytes.
  std::size_t character_end() const {
    std::size_t end = kMaxBytes;
    while (end > 1 && (static_cast<unsigned char>(rest_[end]) & 0xC0U) == 0x80U) --end;
    return end;
  }

  const NextLine& next_line_;
  std::string_view rest_;
  std::string value_;
  bool done_ = false;
};

/// Returns the readable part of an error message of the library: the text after "FILE(LINE)
/// [CONDITION] ", without the advice to use an option that lime-train does not have.
std::string_view readable_part(std::string_view message) {
  const std::size_t condition_end = message.find("] ");
  if (condition_end != std::string_view::npos) message.remove_prefix(condition_end + 2);
  return message.substr(0, message.find(" or decrease character_coverage"));
}

std::string train(std::int32_t vocab_size, const Lines::NextLine& next_line) {
  const std::unordered_map<std::string, std::string> options = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(vocab_size)},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"split_digits", "true"},
      {"byte_fallback", "true"},
      {"character_coverage", "0.99995"},
      {"num_threads", "1"},
      {"minloglevel", "2"}};
  Lines lines(next_line);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &lines, &model);
  throw_if(!status.ok(), OptionName("vocab_size"),
           "cannot learn {} pieces from the text, got '{}'; add text, or lower "
           "--vocab-size (at least 300)",
           vocab_size, readable_part(status.error_message()));
  return model;
}

}  // namespace
}  // namespace lime

lime::SentencePieceModel* lime_parse_sentencepiece_model(const char* data, std::size_t size) {
  auto model = std::make_unique<lime::LoadedModel>();
  return model->parse({data, size}) ? model.release() : nullptr;
}

void lime_train_sentencepiece_model(std::int32_t vocab_size, const lime::Lines::NextLine& next_line,
                                    std::string& model) {
  model = lime::train(vocab_size, next_line);
}
