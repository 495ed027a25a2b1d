// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/pickle.h"

#include <array>
#include <unordered_map>
#include <utility>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMaxInstructions = 2'000'000;

constexpr std::array<std::pair<std::string_view, Dtype>, 10> kStorages = {{
    {"DoubleStorage", Dtype::kF64},
    {"FloatStorage", Dtype::kF32},
    {"HalfStorage", Dtype::kF16},
    {"BFloat16Storage", Dtype::kBF16},
    {"LongStorage", Dtype::kI64},
    {"IntStorage", Dtype::kI32},
    {"ShortStorage", Dtype::kI16},
    {"CharStorage", Dtype::kI8},
    {"ByteStorage", Dtype::kU8},
    {"BoolStorage", Dtype::kBool},
}};

std::optional<Dtype> storage_dtype(const PickleValue& global) {
  if (global.kind != Kind::kGlobal || global.text != "torch") return std::nullopt;
  for (const auto& [name, dtype] : kStorages) {
    if (global.name == name) return dtype;
  }
  return std::nullopt;
}

bool is_global(const PickleValue& value, std::string_view module, std::string_view name) {
  return value.kind == Kind::kGlobal && value.text == module && value.name == name;
}

class Unpickler {
 public:
  Unpickler(std::string_view bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  Pickle run() {
    std::size_t count = 0;
    for (auto next = take(1).front(); next != '.'; next = take(1).front()) {
      throw_if<FormatError>(++count > kMaxInstructions,
                            "'{}': the pickle must have at most {} instructions, got more", where_,
                            kMaxInstructions);
      execute(static_cast<unsigned char>(next));
    }
    if (stack_.size() != 1 || !marks_.empty()) refuse("must end with one value");
    result_.root = stack_.back();
    result_.size = at_;
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw FormatError("'{}': the pickle {} at byte {}; the file seems to be broken", where_, what,
                      at_);
  }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - at_) refuse("ends early");
    const std::string_view part = bytes_.substr(at_, static_cast<std::size_t>(count));
    at_ += part.size();
    return part;
  }

  std::uint64_t take_unsigned(std::size_t width) {
    const std::string_view part = take(width);
    return little_endian(std::as_bytes(std::span(part.data(), part.size())));
  }

  std::int64_t take_signed(std::size_t width) {
    if (width == 0) return 0;
    const std::size_t unused = 64 - 8 * width;
    return static_cast<std::int64_t>(take_unsigned(width) << unused) >> unused;
  }

  std::string_view take_line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) refuse("has an unfinished line");
    const std::string_view line = take(end - at_);
    ++at_;
    return line;
  }

  PickleValue& make(Kind kind) {
    PickleValue& value = result_.values.emplace_back();
    value.kind = kind;
    stack_.push_back(&value);
    return value;
  }

  void make_integer(std::int64_t number, Kind kind = Kind::kInteger) {
    make(kind).integer = number;
  }

  void make_string(std::string_view text) { make(Kind::kString).text = text; }

  PickleValue* pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) refuse("uses a missing value");
    PickleValue* const value = stack_.back();
    stack_.pop_back();
    return value;
  }

  PickleValue& top(Kind kind) {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back()) || stack_.back()->kind != kind) {
      refuse("changes a value of another type");
    }
    return *stack_.back();
  }

  /// Removes the values behind the last mark, or the last `count`.
  std::vector<const PickleValue*> pop_items() {
    if (marks_.empty()) refuse("lacks a mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<const PickleValue*> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<const PickleValue*> pop_items(std::size_t count) {
    std::vector<const PickleValue*> items(count);
    while (count > 0) items[--count] = pop();
    return items;
  }

  void make_sequence(std::vector<const PickleValue*> items) {
    make(Kind::kSequence).items = std::move(items);
  }

  void append(Kind kind, std::vector<const PickleValue*> items) {
    if (kind == Kind::kDictionary && items.size() % 2 != 0) refuse("has a key without a value");
    PickleValue& container = top(kind);
    container.items.insert(container.items.end(), items.begin(), items.end());
  }

  void put(std::uint64_t index) {
    if (stack_.empty()) refuse("uses a missing value");
    memo_[index] = stack_.back();
  }

  void get(std::uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) refuse("refers to an unknown value");
    stack_.push_back(found->second);
  }

  void make_global(std::string_view module, std::string_view name) {
    PickleValue& global = make(Kind::kGlobal);
    global.text = module;
    global.name = name;
    const bool known = is_global(global, "collections", "OrderedDict") ||
                       is_global(global, "torch._utils", "_rebuild_tensor_v2") ||
                       is_global(global, "torch._utils", "_rebuild_parameter") ||
                       storage_dtype(global);
    if (known) return;
    throw FormatError(
        "'{}': the pickle refers to '{}.{}', expected tensors only; nothing in it was executed; if "
        "you trust the file, load it with torch and save its state_dict() as safetensors",
        where_, printable(module, 80), printable(name, 80));
  }

  void make_global_of_strings() {
    const auto names = pop_items(2);
    for (const PickleValue* const part : names) {
      if (part->kind != Kind::kString) refuse("has a name that is not a string");
    }
    return make_global(names[0]->text, names[1]->text);
  }

  /// ('storage', torch.FloatStorage, key, location, elements[, None before PyTorch 1.6]).
  void make_storage() {
    const PickleValue& id = *pop();
    const auto& items = id.items;
    const bool is_storage = id.kind == Kind::kSequence &&
                            (items.size() == 5 || items.size() == 6) &&
                            items[0]->kind == Kind::kString && items[0]->text == "storage" &&
                            storage_dtype(*items[1]) && items[2]->kind == Kind::kString &&
                            items[4]->kind == Kind::kInteger && items[4]->integer >= 0 &&
                            (items.size() == 5 || items[5]->kind == Kind::kNone);
    if (!is_storage) refuse("refers to something other than a storage");
    PickleValue& storage = make(Kind::kStorage);
    storage.dtype = *storage_dtype(*items[1]);
    storage.text = items[2]->text;
    storage.integer = items[4]->integer;
    const PickleValue& first = *result_.storages.try_emplace(storage.text, &storage).first->second;
    if (first.dtype != storage.dtype || first.integer != storage.integer) {
      refuse("gives a storage another type or size than before");
    }
  }

  void check_sizes(const PickleValue& value) const {
    if (value.kind != Kind::kSequence) refuse("has a tensor without a shape");
    if (value.items.size() > kMaxDimensions) {
      refuse(fmt::format("has a tensor of {} dimensions, expected at most {},", value.items.size(),
                         kMaxDimensions));
    }
    for (const PickleValue* const item : value.items) {
      if (item->kind != Kind::kInteger || item->integer < 0)
        refuse("has a tensor with an invalid shape");
    }
  }

  /// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata]).
  void make_tensor(const std::vector<const PickleValue*>& arguments) {
    const bool is_tensor = arguments.size() >= 4 && arguments[0]->kind == Kind::kStorage &&
                           arguments[1]->kind == Kind::kInteger && arguments[1]->integer >= 0;
    if (!is_tensor) refuse("has a tensor without a storage");
    check_sizes(*arguments[2]);
    check_sizes(*arguments[3]);
    if (arguments[2]->items.size() != arguments[3]->items.size()) {
      refuse("has a tensor with an invalid shape");
    }
    PickleValue& tensor = make(Kind::kTensor);
    tensor.integer = arguments[1]->integer;
    tensor.items = {arguments[0], arguments[2], arguments[3]};
  }

  void call() {
    const PickleValue& arguments = *pop();
    const PickleValue& function = *pop();
    if (arguments.kind != Kind::kSequence) refuse("calls without arguments");
    if (is_global(function, "collections", "OrderedDict") && arguments.items.empty()) {
      make(Kind::kDictionary);
    } else if (is_global(function, "torch._utils", "_rebuild_tensor_v2")) {
      make_tensor(arguments.items);
    } else if (is_global(function, "torch._utils", "_rebuild_parameter") &&
               !arguments.items.empty() && arguments.items[0]->kind == Kind::kTensor) {
      make(Kind::kTensor) = *arguments.items[0];
    } else {
      refuse("calls a function that returns no tensor");
    }
  }

  void set_attributes() {
    pop();
    top(Kind::kDictionary);
  }

  void execute(unsigned char instruction) {
    switch (instruction) {
      case 0x80:  // PROTO
        take(1);
        return;
      case 0x95:  // FRAME
        take(8);
        return;
      case '(': marks_.push_back(stack_.size()); return;
      case '0': pop(); return;
      case 'N': make(Kind::kNone); return;
      case 0x88: return make_integer(1, Kind::kBool);
      case 0x89: return make_integer(0, Kind::kBool);
      case 'J': return make_integer(take_signed(4));
      case 'K': return make_integer(static_cast<std::int64_t>(take_unsigned(1)));
      case 'M': return make_integer(static_cast<std::int64_t>(take_unsigned(2)));
      case 0x8A: {  // LONG1
        const std::uint64_t width = take_unsigned(1);
        if (width > 8) refuse("has a number of more than 64 bits");
        return make_integer(take_signed(static_cast<std::size_t>(width)));
      }
      case 'G':
        take(8);
        make(Kind::kFloat);
        return;
      case 'X': return make_string(take(take_unsigned(4)));
      case 0x8C:  // SHORT_BINUNICODE
        return make_string(take(take_unsigned(1)));
      case ')':
      case ']': return make_sequence({});
      case '}': make(Kind::kDictionary); return;
      case 't': return make_sequence(pop_items());
      case 0x85: return make_sequence(pop_items(1));
      case 0x86: return make_sequence(pop_items(2));
      case 0x87: return make_sequence(pop_items(3));
      case 'a': return append(Kind::kSequence, pop_items(1));
      case 'e': return append(Kind::kSequence, pop_items());
      case 's': return append(Kind::kDictionary, pop_items(2));
      case 'u': return append(Kind::kDictionary, pop_items());
      case 'q': return put(take_unsigned(1));
      case 'r': return put(take_unsigned(4));
      case 0x94:  // MEMOIZE
        return put(memo_.size());
      case 'h': return get(take_unsigned(1));
      case 'j': return get(take_unsigned(4));
      case 'c': {
        const std::string_view module = take_line();
        return make_global(module, take_line());
      }
      case 0x93:  // STACK_GLOBAL
        return make_global_of_strings();
      case 'Q': return make_storage();
      case 'R': return call();
      case 'b': return set_attributes();
      default:
        --at_;
        refuse(fmt::format("has the instruction 0x{:02X}, which tensors do not need,",
                           static_cast<unsigned>(instruction)));
    }
  }

  std::string_view bytes_;
  std::string_view where_;
  std::size_t at_ = 0;
  Pickle result_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

}  // namespace

Shape numbers_of(const PickleValue& sequence) {
  Shape numbers;
  for (const PickleValue* const item : sequence.items) numbers.push_back(item->integer);
  return numbers;
}

Pickle parse_pickle(std::string_view bytes, std::string_view where) {
  return Unpickler(bytes, where).run();
}

}  // namespace lime
