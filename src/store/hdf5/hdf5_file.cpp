// SPDX-License-Identifier: Apache-2.0
#include "store/hdf5/hdf5_file.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/errors.h"
#include "core/half.h"
#include "store/hdf5/hdf5_api.h"
#include "store/hdf5/hdf5_trial.h"

namespace lime {

using hdf5::Id;
using hdf5::kMaxCompression;
using hdf5::Lock;

struct Hdf5File::Impl {
  std::filesystem::path path;
  Id file;
};

namespace {

struct MemberList {
  hid_t group;
  H5O_type_t type;
  std::vector<std::string> names;
};

herr_t visit_link(hid_t, const char* name, const H5L_info_t* info, void* user) {
  auto& list = *static_cast<MemberList*>(user);
  if (info->type != H5L_TYPE_HARD) return 0;
  H5O_info_t object{};
  if (H5Oget_info_by_name2(list.group, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return -1;
  if (object.type == list.type) list.names.emplace_back(name);
  return 0;
}

herr_t visit_attribute(hid_t, const char* name, const H5A_info_t*, void* user) {
  static_cast<std::vector<std::string>*>(user)->emplace_back(name);
  return 0;
}

std::vector<std::string> members(const Hdf5File& file, const std::string& group,
                                 H5O_type_t h5_o_type_t) {
  const Lock lock;
  const Id object = hdf5::open_object(file, group);
  throw_if<FormatError>(H5Iget_type(object.get()) != H5I_GROUP,
                        "store: '{}': '{}' is a dataset, expected a group", file.path().string(),
                        group);
  MemberList list{object.get(), h5_o_type_t, {}};
  if (H5Literate(object.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_link, &list) < 0) {
    hdf5::fail_reading(file.path(), fmt::format("group '{}' cannot be listed", group));
  }
  std::ranges::sort(list.names);
  return list.names;
}

std::int64_t size_of(const Hdf5File& file) {
  std::error_code ignored;
  return static_cast<std::int64_t>(std::filesystem::file_size(file.path(), ignored));
}

/// Returns the number of values, after checking that the file can contain them.
std::size_t checked_size(const Hdf5File& file, const std::string& dataset,
                         const std::vector<std::int64_t>& shape, std::size_t bytes_per_value) {
  const std::int64_t file_size = size_of(file);
  const std::int64_t limit =
      std::min(file_size, std::numeric_limits<std::int64_t>::max() / kMaxCompression / 2) *
      kMaxCompression / static_cast<std::int64_t>(std::max<std::size_t>(bytes_per_value, 1));
  std::int64_t size = 1;
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  for (const std::int64_t dim : shape) {
    throw_if<FormatError>(
        dim < 0 || dim > limit / size,
        "store: '{}': '{}' declares more data than the file's {} bytes can contain",
        file.path().string(), dataset, file_size);
    size *= dim;
  }
  return static_cast<std::size_t>(size);
}

/// Source of a text read: file type, dataspace and number of texts.
struct TextSource {
  hid_t type;
  hid_t space;
  std::size_t count;
};

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

/// Reads texts of fixed or variable length. `read` calls H5Dread or H5Aread of the source with a
/// buffer of the given memory type. @throws FormatError  if the source is not text.
std::vector<std::string> read_texts(const std::filesystem::path& path, const std::string& name,
                                    const TextSource& source,
                                    const std::function<herr_t(hid_t, void*)>& read) {
  const Lock lock;
  throw_if<FormatError>(H5Tget_class(source.type) != H5T_STRING,
                        "store: '{}': {} must contain text", path.string(), name);
  if (source.count == 0) return {};
  bool failed = false;
  const auto try_read = [&](hid_t type, void* target) {
    failed = read(type, target) < 0;
    return !failed;
  };
  const bool variable = H5Tis_variable_str(source.type) > 0;
  std::vector<std::string> texts =
      variable ? read_variable(source, try_read) : read_fixed(source, try_read);
  if (failed) hdf5::fail_reading(path, fmt::format("{} cannot be read", name));
  return texts;
}

Id open_attribute(const Hdf5File& file, const std::string& name, const std::string& object) {
  const Id owner = hdf5::open_object(file, object);
  if (H5Aexists(owner.get(), name.c_str()) <= 0) {
    H5Eclear2(H5E_DEFAULT);
    throw FormatError("store: '{}': '{}' has no attribute '{}'", file.path().string(), object,
                      name);
  }
  Id attribute(H5Aopen(owner.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute) hdf5::fail_reading(file.path(), fmt::format("attribute '{}'", name));
  return attribute;
}

/// Returns the number of values of an attribute, after checking that the file can contain them.
std::size_t checked_count(const Hdf5File& file, const std::string& name, hid_t type, hid_t space) {
  const hssize_t points = std::max<hssize_t>(0, H5Sget_simple_extent_npoints(space));
  const auto size =
      static_cast<std::int64_t>(std::max<std::size_t>(H5Tget_size(type), std::size_t{1}));
  if (points > size_of(file) / size) {  // attributes are never compressed
    throw FormatError("store: '{}': attribute '{}' declares more data than the file can contain",
                      file.path().string(), name);
  }
  return static_cast<std::size_t>(points);
}

/// An attribute that is open, with what a read of it needs.
struct OpenAttribute {
  Id id;
  Id type;
  Id space;

  OpenAttribute(const Hdf5File& file, const std::string& name, const std::string& object)
      : id(open_attribute(file, name, object)),
        type(H5Aget_type(id.get()), H5Tclose),
        space(H5Aget_space(id.get()), H5Sclose) {}
  bool is_scalar() const { return H5Sget_simple_extent_type(space.get()) == H5S_SCALAR; }
};

template <typename T>
Json numbers_of(const Hdf5File& file, const std::string& name, const OpenAttribute& attribute) {
  std::vector<T> values(checked_count(file, name, attribute.type.get(), attribute.space.get()));
  if (!values.empty() &&
      H5Aread(attribute.id.get(), hdf5::native_type(NumberType::of<T>()), values.data()) < 0) {
    hdf5::fail_reading(file.path(), fmt::format("attribute '{}' cannot be read", name));
  }
  return attribute.is_scalar() && !values.empty() ? Json(values.front()) : Json(values);
}

template <typename T>
T numeric_attribute(const Hdf5File& file, const std::string& name, const std::string& object) {
  const Lock lock;
  const Id attribute = open_attribute(file, name, object);
  const Id space(H5Aget_space(attribute.get()), H5Sclose);
  throw_if<FormatError>(H5Sget_simple_extent_npoints(space.get()) != 1,
                        "store: '{}': attribute '{}' of '{}' must be one number",
                        file.path().string(), name, object);
  T value{};
  if (H5Aread(attribute.get(), hdf5::native_type(NumberType::of<T>()), &value) < 0) {
    H5Eclear2(H5E_DEFAULT);
    throw FormatError("store: '{}': attribute '{}' of '{}' must be a number", file.path().string(),
                      name, object);
  }
  return value;
}

}  // namespace

hid_t Hdf5Access::id(const Hdf5File& file) { return file.impl_->file.get(); }

Hdf5File::Hdf5File(const std::filesystem::path& path, Hdf5Trial trial) {
  if (trial == Hdf5Trial::kFirst) try_reading(path);
  impl_ = std::make_unique<Impl>(Impl{path, hdf5::open_file(path)});
}
Hdf5File::~Hdf5File() = default;
Hdf5File::Hdf5File(Hdf5File&&) noexcept = default;
Hdf5File& Hdf5File::operator=(Hdf5File&&) noexcept = default;

const std::filesystem::path& Hdf5File::path() const { return impl_->path; }

bool Hdf5File::has(const std::string& name) const {
  return static_cast<bool>(hdf5::find_object(*this, name));
}

std::vector<std::string> Hdf5File::groups(const std::string& group) const {
  return members(*this, group, H5O_TYPE_GROUP);
}

std::vector<std::string> Hdf5File::datasets(const std::string& group) const {
  return members(*this, group, H5O_TYPE_DATASET);
}

std::vector<std::string> Hdf5File::attributes(const std::string& object) const {
  const Lock lock;
  const Id owner = hdf5::open_object(*this, object);
  std::vector<std::string> names;
  if (H5Aiterate2(owner.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_attribute, &names) < 0) {
    hdf5::fail_reading(path(), fmt::format("attributes of '{}' cannot be listed", object));
  }
  std::ranges::sort(names);
  return names;
}

std::int64_t Hdf5File::num_rows(const std::string& dataset) const {
  const std::vector<std::int64_t> sizes = shape(dataset);
  return sizes.empty() ? 0 : sizes.front();
}

std::vector<std::int64_t> Hdf5File::shape(const std::string& dataset) const {
  const Lock lock;
  return hdf5::shape_of(hdf5::open_dataset(*this, dataset).get());
}

void Hdf5File::read_numbers(const std::string& dataset, NumberType type,
                            const std::function<void*(std::size_t)>& resize) const {
  const Lock lock;
  const Id id = hdf5::open_plain_dataset(*this, dataset);
  const Id stored(H5Dget_type(id.get()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(stored.get());
  throw_if<FormatError>(kind != H5T_FLOAT && kind != H5T_INTEGER,
                        "store: '{}': '{}' must contain numbers", path().string(), dataset);
  const std::size_t size =
      checked_size(*this, dataset, hdf5::shape_of(id.get()), H5Tget_size(stored.get()));
  void* const values = resize(size);
  if (size == 0) return;
  const auto read_into = [&](hid_t memory_type, void* target) {
    if (H5Dread(id.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, target) < 0) {
      hdf5::fail_reading(path(), fmt::format("'{}' cannot be read", dataset));
    }
  };
  const bool is_float = type.is_float && type.size == sizeof(float);
  if (!is_float || !hdf5::is_half(stored.get())) return read_into(hdf5::native_type(type), values);
  std::vector<HalfBits> halves(size);
  read_into(hdf5::half_type().get(), halves.data());
  half_to_float(halves, {static_cast<float*>(values), size});
}

MatrixF Hdf5File::read_matrix(const std::string& dataset) const {
  const auto values = read<float>(dataset);
  const std::vector<std::int64_t> extents = shape(dataset);
  const std::int64_t columns = extents.empty() ? 1 : extents.back();
  const std::int64_t rows = columns == 0 ? 0 : std::ssize(values) / columns;
  return Eigen::Map<const MatrixF>(values.data(), rows, columns);
}

std::vector<std::string> Hdf5File::read_strings(const std::string& dataset) const {
  const Lock lock;
  const Id id = hdf5::open_plain_dataset(*this, dataset);
  const Id type(H5Dget_type(id.get()), H5Tclose);
  const Id space(H5Dget_space(id.get()), H5Sclose);
  const std::size_t count =
      checked_size(*this, dataset, hdf5::shape_of(id.get()), H5Tget_size(type.get()));
  const auto read = [&](hid_t memory_type, void* target) {
    return H5Dread(id.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, target);
  };
  return read_texts(path(), dataset, {type.get(), space.get(), count}, read);
}

bool Hdf5File::has_attribute(const std::string& name, const std::string& object) const {
  const Lock lock;
  return H5Aexists(hdf5::open_object(*this, object).get(), name.c_str()) > 0;
}

std::string Hdf5File::string_attribute(const std::string& name, const std::string& object) const {
  std::vector<std::string> texts = strings_attribute(name, object);
  throw_if<FormatError>(texts.size() != 1,
                        "store: '{}': attribute '{}' of '{}' must be one string, got {}",
                        path().string(), name, object, texts.size());
  return std::move(texts.front());
}

std::vector<std::string> Hdf5File::strings_attribute(const std::string& name,
                                                     const std::string& object) const {
  const Lock lock;
  const OpenAttribute attribute(*this, name, object);
  const TextSource source = {
      attribute.type.get(), attribute.space.get(),
      checked_count(*this, name, attribute.type.get(), attribute.space.get())};
  const auto read = [&](hid_t memory_type, void* target) {
    return H5Aread(attribute.id.get(), memory_type, target);
  };
  return read_texts(path(), fmt::format("attribute '{}'", name), source, read);
}

Json Hdf5File::attribute(const std::string& name, const std::string& object) const {
  const Lock lock;
  const OpenAttribute attribute(*this, name, object);
  const hid_t type = attribute.type.get();
  switch (H5Tget_class(type)) {
    case H5T_STRING: {
      std::vector<std::string> texts = strings_attribute(name, object);
      const bool is_one = attribute.is_scalar() && texts.size() == 1;
      return is_one ? Json(std::move(texts.front())) : Json(std::move(texts));
    }
    case H5T_INTEGER:
      return H5Tget_sign(type) == H5T_SGN_NONE ? numbers_of<std::uint64_t>(*this, name, attribute)
                                               : numbers_of<std::int64_t>(*this, name, attribute);
    case H5T_FLOAT: return numbers_of<double>(*this, name, attribute);
    default: return nullptr;
  }
}

std::int64_t Hdf5File::int_attribute(const std::string& name, const std::string& object) const {
  return numeric_attribute<std::int64_t>(*this, name, object);
}

std::uint64_t Hdf5File::uint_attribute(const std::string& name, const std::string& object) const {
  return numeric_attribute<std::uint64_t>(*this, name, object);
}

double Hdf5File::double_attribute(const std::string& name, const std::string& object) const {
  return numeric_attribute<double>(*this, name, object);
}

}  // namespace lime
