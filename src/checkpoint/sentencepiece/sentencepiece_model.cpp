// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/sentencepiece/sentencepiece_model.h"

#include <dlfcn.h>

#include <algorithm>

#include "checkpoint/sentencepiece/plugin.h"
#include "core/errors.h"
#include "core/files/sha256.h"
#include "core/program/program.h"

namespace lime {
namespace {

using NextLine = std::function<std::optional<std::string_view>()>;

/// The functions of the plug-in.
struct Plugin {
  decltype(&lime_parse_sentencepiece_model) parse;
  decltype(&lime_train_sentencepiece_model) train;
};

/// The sanitizers' runtimes do not allow RTLD_DEEPBIND.
int load_flags() {
  const bool is_sanitized = ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr ||
                            ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
  return RTLD_NOW | RTLD_LOCAL | (is_sanitized ? 0 : RTLD_DEEPBIND);
}

Plugin load_plugin() {
  const std::filesystem::path path = plugin_path("liblime_sentencepiece.so");
  void* const library = ::dlopen(path.c_str(), load_flags());
  const auto find = [&](const char* name) {
    void* const symbol = library == nullptr ? nullptr : ::dlsym(library, name);
    if (symbol != nullptr) return symbol;
    throw IoError("tokenizer: the SentencePiece plug-in cannot be loaded: {}; build or install it",
                  ::dlerror());
  };
  Plugin plugin;
  plugin.parse = reinterpret_cast<decltype(plugin.parse)>(find("lime_parse_sentencepiece_model"));
  plugin.train = reinterpret_cast<decltype(plugin.train)>(find("lime_train_sentencepiece_model"));
  return plugin;
}

const Plugin& plugin() {
  static const Plugin loaded = load_plugin();  // until the process ends
  return loaded;
}

}  // namespace

std::unique_ptr<SentencePieceModel> parse_sentencepiece_model(std::string_view serialized) {
  return std::unique_ptr<SentencePieceModel>(plugin().parse(serialized.data(), serialized.size()));
}

std::string train_sentencepiece_model(std::int32_t vocab_size, const NextLine& next_line) {
  std::string model;
  plugin().train(vocab_size, next_line, model);
  return model;
}

namespace {

constexpr std::string_view kSpaceMark = "\u2581";
/// The text that libsentencepiece writes for an unknown token.
constexpr std::string_view kUnknownText = " \u2047 ";

/// Returns the byte that a token such as `<0xE2>` represents.
char byte_of(const std::string& token) {
  return static_cast<char>(std::stoi(token.substr(3, 2), nullptr, 16));
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(const std::filesystem::path& path, const SpecialTokens& special) {
    const MappedFile file(path);
    refuse_lfs_pointer(file.text(), path.string());
    model_ = parse_sentencepiece_model(file.text());
    throw_if<FormatError>(
        model_ == nullptr,
        "'{}': must be a SentencePiece model; if it is a tiktoken file (LLaMA 3), put the "
        "tokenizer.json of that checkpoint next to it",
        path.string());
    sha256_ = sha256_of_file(path);
    find_dropped_spaces();
    can_cut_before_words_ = no_piece_holds_two_words();
    if (can_cut_before_words_ && !model_->weighs_whole_texts()) {
      next_word_begins_ = beginning_of_next_word();
    }
    resolve_ends(special);
  }

  std::string piece(std::int32_t id, bool at_text_start) const override {
    check_id(id);
    const std::string& token = model_->piece(id);
    if (model_->is_control(id)) return token;
    if (model_->is_unknown(id)) return std::string(kUnknownText);
    if (model_->is_byte(id)) return std::string(1, byte_of(token));
    std::string_view rest = token;
    std::string result;
    if (at_text_start && drops_first_space_ && rest.starts_with(kSpaceMark)) {
      rest.remove_prefix(kSpaceMark.size());
    }
    while (!rest.empty()) {
      const bool is_space = rest.starts_with(kSpaceMark);
      result += is_space ? ' ' : rest.front();
      rest.remove_prefix(is_space ? kSpaceMark.size() : 1);
    }
    return result;
  }

  std::optional<std::int32_t> token_id(std::string_view token) const override {
    const int id = model_->id_of(token);
    if (model_->piece(id) != token) return std::nullopt;  // the unknown token
    return id;
  }

  bool is_special(std::int32_t id) const override {
    check_id(id);
    return model_->is_control(id);
  }

  std::int32_t vocab_size() const override { return model_->num_pieces(); }
  std::string_view kind() const override { return "sentencepiece"; }

 private:
  /// The first ids of a text, from as little of it as will do.
  std::vector<std::int32_t> encode_text(std::string_view text,
                                        const EncodeOptions& options) const override {
    const std::size_t max_ids = options.max_ids;
    if (next_word_begins_) {
      if (auto ids = encode_in_parts(text, max_ids)) return *std::move(ids);
    }
    constexpr std::size_t kUsualBytesPerId = 4;
    std::size_t size = can_cut_before_words_ && max_ids < text.size() / kUsualBytesPerId
                           ? kUsualBytesPerId * max_ids
                           : text.size();
    while (true) {
      size = end_of_word(text, size);
      std::vector<std::int32_t> ids = model_->encode(text.substr(0, size));
      if (ids.size() >= max_ids || size == text.size()) {
        ids.resize(std::min(ids.size(), max_ids));
        return ids;
      }
      size = 2 * size;
    }
  }

  /// Returns the ids of encode_text(), encoding the text in parts: the library requires about 80
  /// bytes of memory per byte of its argument. Returns nothing if two parts may share a token.
  ///
  /// Parts end before words. No piece of the vocabulary crosses the start of a word, so no merge
  /// does. Merges on one side therefore do not change those on the other, or their order. Each part
  /// includes the space before its first word.
  std::optional<std::vector<std::int32_t>> encode_in_parts(std::string_view text,
                                                           std::size_t max_ids) const {
    constexpr std::size_t kPartBytes = std::size_t{1} << 16;
    std::vector<std::int32_t> ids;
    for (std::size_t begin = 0; begin < text.size() && ids.size() < max_ids;) {
      const std::size_t end = end_of_word(text, begin + kPartBytes);
      const std::size_t first = begin == 0 ? 0 : begin + *next_word_begins_;
      const std::vector<std::int32_t> part = model_->encode(text.substr(first, end - first));
      // The library joins unknown tokens that are neighbours.
      const bool joins = !ids.empty() && !part.empty() && model_->is_unknown(ids.back()) &&
                         model_->is_unknown(part.front());
      if (joins) return std::nullopt;
      ids.insert(ids.end(), part.begin(), part.end());
      begin = end;
    }
    if (ids.size() > max_ids) ids.resize(max_ids);
    return ids;
  }

  /// Returns the first space from `from` on between two ASCII letters; else the end.
  static std::size_t end_of_word(std::string_view text, std::size_t from) {
    const auto is_letter = [&](std::size_t i) {
      return (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
    };
    for (std::size_t i = std::max<std::size_t>(from, 1); i + 1 < text.size(); ++i) {
      if (text[i] == ' ' && is_letter(i - 1) && is_letter(i + 1)) return i;
    }
    return text.size();
  }

  /// Returns true if words are encoded separately: no piece has a space after another character.
  bool no_piece_holds_two_words() const {
    for (std::int32_t id = 0; id < vocab_size(); ++id) {
      const std::string_view piece = model_->piece(id);
      std::size_t begin = 0;
      while (piece.substr(begin).starts_with(kSpaceMark)) begin += kSpaceMark.size();
      if (piece.find(kSpaceMark, begin) != std::string_view::npos) return false;
      if (piece.find(' ') != std::string_view::npos) return false;  // as the user defined it
    }
    return true;
  }

  /// Returns the offset from the end of a word at which the next part starts, so that the ids are
  /// those of the whole text: after the space if the normalizer prepends one to every text, else at
  /// the space. Returns nothing if it neither prepends nor keeps one.
  std::optional<std::size_t> beginning_of_next_word() const {
    constexpr std::string_view kWords = "a b";
    try {
      const std::vector<std::int32_t> whole = model_->encode(kWords);
      for (const std::size_t begin : {std::size_t{2}, std::size_t{1}}) {
        std::vector<std::int32_t> parts = model_->encode(kWords.substr(0, 1));
        const std::vector<std::int32_t> second = model_->encode(kWords.substr(begin));
        parts.insert(parts.end(), second.begin(), second.end());
        if (parts == whole) return begin - 1;
      }
    } catch (const InvalidArgument&) {  // a broken model; encode() reports it for the user's text
    }
    return std::nullopt;
  }

  /// Finds which spaces at the start of a text the library's decoder drops; the settings of the
  /// normalizer, which decide it, are not part of its interface. The decoder does not do so for
  /// pieces that the vocabulary lacks.
  void find_dropped_spaces() {
    const auto begins_with_space = [this](std::int32_t id) {
      return model_->piece(id).starts_with(kSpaceMark) && !model_->is_control(id) &&
             !model_->is_unknown(id);
    };
    std::int32_t id = 0;
    while (id < vocab_size() && !begins_with_space(id)) ++id;
    if (id == vocab_size()) return;
    drops_first_space_ = !model_->decode_pieces({model_->piece(id)}).starts_with(' ');
    const std::string space(kSpaceMark);
    drops_all_leading_spaces_ = token_id(space) && model_->decode_pieces({space, space}).empty();
  }

  void resolve_ends(const SpecialTokens& special) {
    const auto find = [this](std::string_view name) { return token_id(name); };
    const auto own = [](int id) {
      return id >= 0 ? std::optional<std::int32_t>(id) : std::nullopt;
    };
    SpecialTokens completed = special;
    if (!completed.config_bos_id || model_->bos_id() >= 0) {
      completed.config_bos_id = own(model_->bos_id());
    }
    if (!completed.config_eos_id || model_->eos_id() >= 0) {
      completed.config_eos_id = own(model_->eos_id());
    }
    bos_id_ = completed.bos_id(find, vocab_size());
    eos_id_ = completed.eos_id(find, vocab_size());
    if (special.add_bos.value_or(true) && bos_id_) prefix_ids_ = {*bos_id_};
    if (special.add_eos.value_or(false) && eos_id_) suffix_ids_ = {*eos_id_};
  }

  std::unique_ptr<SentencePieceModel> model_;
  bool drops_first_space_ = true;
  bool can_cut_before_words_ = false;
  std::optional<std::size_t> next_word_begins_;  // set where a text may be encoded in parts
};

}  // namespace

std::unique_ptr<Tokenizer> read_sentencepiece(const std::filesystem::path& path,
                                              const SpecialTokens& special) {
  return std::make_unique<SentencePieceTokenizer>(path, special);
}

}  // namespace lime
