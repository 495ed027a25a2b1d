// SPDX-License-Identifier: Apache-2.0
#include <sentencepiece_processor.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/sentencepiece/sentencepiece_model.h"
#include "core/errors.h"

namespace lime {
namespace {

class LoadedModel : public SentencePieceModel {
 public:
  /// False if `serialized` is not a SentencePiece model.
  bool parse(std::string_view serialized) {
    return processor_.LoadFromSerializedProto({serialized.data(), serialized.size()}).ok() &&
           processor_.GetPieceSize() > 0;
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<int> ids;
    const auto status = processor_.Encode({text.data(), text.size()}, &ids);
    if (!status.ok()) {
      throw InvalidArgument("tokenizer: text must be encodable, got '{}'", status.ToString());
    }
    return ids;
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

}  // namespace
}  // namespace lime

/// The one symbol that the plug-in offers: a new model, or nullptr if `data` is not one.
extern "C" [[gnu::visibility("default")]] lime::SentencePieceModel* lime_parse_sentencepiece_model(
    const char* data, std::size_t size) {
  auto model = std::make_unique<lime::LoadedModel>();
  return model->parse({data, size}) ? model.release() : nullptr;
}
