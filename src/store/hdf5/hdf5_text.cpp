// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/hdf5_text.h"

#include <string_view>

#include "core/errors.h"

namespace lime::hdf5 {
namespace {

std::vector<std::string> read_variable(const TextSource& source,
                                       const std::function<bool(hid_t, void*)>& read) {
  const Id memory_type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(memory_type.get(), H5T_VARIABLE);
  H5Tset_cset(memory_type.get(), H5Tget_cset(source.type));
  std::vector<char*> pointers(source.count, nullptr);
  const bool good = read(memory_type.get(), pointers.data());
  std::vector<std::string> texts;
  if (good) {
    for (const char* pointer : pointers) texts.emplace_back(pointer == nullptr ? "" : pointer);
  }
  H5Dvlen_reclaim(memory_type.get(), source.space, H5P_DEFAULT, pointers.data());
  return texts;
}

std::vector<std::string> read_fixed(const TextSource& source,
                                    const std::function<bool(hid_t, void*)>& read) {
  const std::size_t size = H5Tget_size(source.type);
  std::vector<char> buffer(source.count * size);
  if (!read(source.type, buffer.data())) return {};
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < source.count; ++i) {
    std::string_view text(buffer.data() + i * size, size);
    text = text.substr(0, text.find('\0'));
    if (H5Tget_strpad(source.type) == H5T_STR_SPACEPAD) {
      text = text.substr(0, text.find_last_not_of(' ') + 1);
    }
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace

std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& name,
                                    const TextSource& source,
                                    const std::function<herr_t(hid_t, void*)>& read) {
  const Lock lock;
  if (H5Tget_class(source.type) != H5T_STRING) {
    throw FormatError("store: '{}': {} must contain text", path.string(), name);
  }
  if (source.count == 0) return {};
  bool failed = false;
  const auto try_read = [&](hid_t type, void* target) {
    failed = read(type, target) < 0;
    return !failed;
  };
  const bool variable = H5Tis_variable_str(source.type) > 0;
  std::vector<std::string> texts =
      variable ? read_variable(source, try_read) : read_fixed(source, try_read);
  if (failed) fail_reading(path, fmt::format("{} cannot be read", name));
  return texts;
}

Id text_type() {
  Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

std::vector<const char*> text_pointers(std::span<const std::string> texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace lime::hdf5
