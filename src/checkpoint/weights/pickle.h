// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <vector>

#include "checkpoint/weights/tensor_view.h"

namespace lime {

/// A value of a pickle. Strings refer to its bytes.
struct PickleValue {
  enum class Kind {
    kNone,
    kBool,
    kInteger,
    kFloat,  ///< its number is not kept
    kString,
    kSequence,    ///< list or tuple
    kDictionary,  ///< `items` are key, value, key, value, ...
    kGlobal,      ///< a name of Python, of the few that tensors need
    kStorage,
    kTensor
  };
  Kind kind = Kind::kNone;
  Dtype dtype = Dtype::kF32;  ///< kStorage
  std::int64_t integer = 0;   ///< kBool, kInteger; kStorage: its elements; kTensor: offset into it
  std::string_view text;      ///< kString; kGlobal: module; kStorage: key
  std::string_view name;      ///< kGlobal
  /// kSequence, kDictionary; kTensor: its storage, and the sequences of its sizes and strides.
  std::vector<const PickleValue*> items;
};

/// Returns the numbers of a sequence of integers, as the sizes and strides of a tensor are.
Shape numbers_of(const PickleValue& sequence);

/// The values of a pickle, which refer to each other.
struct Pickle {
  const PickleValue* root = nullptr;
  std::map<std::string_view, const PickleValue*> storages;  ///< by key
  std::size_t size = 0;                                     ///< bytes up to its end
  std::deque<PickleValue> values;
};

/// Most dimensions of a tensor; weights have at most five.
inline constexpr std::size_t kMaxDimensions = 64;

/// Reads the pickle of a state_dict() at the start of `bytes` without executing anything: of
/// Python's names only those of tensors, their storages and OrderedDict are accepted, and only for
/// what they mean there. Attributes of dictionaries (`_metadata`) are ignored.
///
/// Values refer to each other and to `bytes` and are never copied, so that memory and time are
/// proportional to the number of instructions, each at least a byte of the pickle.
///
/// @param bytes  outlives the result.
/// @param where  the file, for errors.
/// @throws FormatError  if the pickle is broken, refers to any other name, gives one storage two
///                      types or sizes, has a tensor of more than kMaxDimensions dimensions, or
///                      more than 2,000,000 instructions.
/// Source: Python's pickletools.py, protocols 2 to 4; torch/_utils.py.
Pickle parse_pickle(std::string_view bytes, std::string_view where);

}  // namespace lime
