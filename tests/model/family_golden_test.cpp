// SPDX-License-Identifier: Apache-2.0
// Every family of decoders on small random models, compared with transformers, and every kind of
// RoPE on sequences beyond the context; see tests/golden/make_family_goldens.py.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "checkpoint/families/family.h"
#include "checkpoint/parse_model_config.h"
#include "checkpoint/weights/safetensors.h"
#include "core/json.h"
#include "core/options.h"
#include "model/decoders/decoder.h"
#include "model/gauge/gauge.h"
#include "model/model_fixture.h"
#include "model/passes/prefix_tree.h"
#include "store/hdf5/hdf5_file.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::activations;
using testing::golden_file;
using testing::relative_error;
using testing::TemporaryFolder;

/// Returns float32(offset + scale * u), u uniform in [-1, 1) from splitmix64 seeded by FNV-1a.
std::vector<float> fill(std::string_view seed_text, std::int64_t count, double offset,
                        double scale) {
  std::uint64_t state = 0xCBF29CE484222325ULL;
  for (const char byte : seed_text) {
    state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001B3ULL;
  }
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    state += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    const double uniform = std::ldexp(static_cast<double>(z >> 40), -23) - 1.0;
    values.push_back(static_cast<float>(offset + scale * uniform));
  }
  return values;
}

/// One model of a family's golden file: a checkpoint and its activations.
class FamilyModel {
 public:
  FamilyModel(const Hdf5File& file, const std::string& family, const std::string& index)
      : index_(index), config_(file.string_attribute("config", index)), folder_() {
    read_activations(file, index);
    testing::write_text(folder_ / "config.json", config_);
    write_weights(parse_json(file.string_attribute("tensors", index), "tensors"),
                  family + "/" + index + "/");
  }

  const std::string& index() const { return index_; }
  const std::string& config() const { return config_; }
  bool has(const std::string& name) const { return activations_.contains(name); }
  const at::Tensor& golden(const std::string& name) const { return activations_.at(name); }
  Checkpoint checkpoint() const { return Checkpoint::open(folder_.path()); }
  Decoder decoder(ComputeType dtype) const { return load_decoder(checkpoint(), {.dtype = dtype}); }

 private:
  void read_activations(const Hdf5File& file, const std::string& index) {
    std::vector<double> values = file.read<double>(index);
    std::int64_t first = 0;
    const at::Tensor all = torch::from_blob(values.data(), {std::ssize(values)}, torch::kDouble);
    for (const Json& part : parse_json(file.string_attribute("layout", index), "layout")) {
      const auto shape = part[1].get<std::vector<std::int64_t>>();
      const std::int64_t count = element_count(shape);
      activations_[part[0].get<std::string>()] = all.narrow(0, first, count).view(shape).clone();
      first += count;
    }
  }

  void write_weights(const Json& formulas, const std::string& seed_text) const {
    const std::int64_t num_layers = golden("q").size(0);
    std::vector<std::vector<float>> weights;
    std::vector<TensorView> tensors;
    for (const Json& formula : formulas) {
      const std::string pattern = formula[0].get<std::string>();
      const std::size_t star = pattern.find('*');
      const bool is_repeated = star != std::string::npos;
      for (std::int64_t layer = 0; layer < (is_repeated ? num_layers : 1); ++layer) {
        std::string name = pattern;
        if (is_repeated) name.replace(star, 1, std::to_string(layer));
        auto shape = formula[1].get<Shape>();
        weights.push_back(fill(seed_text + name, element_count(shape), formula[2].get<double>(),
                               formula[3].get<double>()));
        tensors.push_back({.name = std::move(name),
                           .dtype = Dtype::kF32,
                           .shape = std::move(shape),
                           .bytes = std::as_bytes(std::span(weights.back()))});
      }
    }
    write_safetensors(folder_ / "model.safetensors", tensors);
  }

  std::string index_;
  std::string config_;
  TemporaryFolder folder_;
  std::map<std::string, at::Tensor> activations_;
};

using FamilyCase = std::tuple<std::string, ComputeType>;

class FamilyGoldenTest : public ::testing::TestWithParam<FamilyCase> {
 protected:
  FamilyGoldenTest() : file_(folder() / (family() + ".h5")) {}

  /// bench/parity/check_families.py compares models of its own.
  static std::filesystem::path folder() {
    const char* const other = std::getenv("LIME_FAMILY_GOLDENS");
    return other != nullptr ? other : golden_file("families");
  }

  static const std::string& family() { return std::get<0>(GetParam()); }
  static ComputeType dtype() { return std::get<1>(GetParam()); }
  /// float64: the other program sums in another order. float32: rounding, which grows with the
  /// activations and differs between the matrix products of CPUs.
  static double tolerance() { return dtype() == ComputeType::kFloat64 ? 1e-9 : 2e-5; }

  at::Tensor integers(const std::string& name) const {
    std::vector<std::int64_t> values = file_.read<std::int64_t>(name);
    return torch::from_blob(values.data(), {std::ssize(values)}, torch::kLong).clone();
  }
  at::Tensor ids() const { return integers("ids").unsqueeze(0); }

  /// Calls `check` with every model of the family.
  template <typename Check> void for_each_model(Check check) const {
    for (const std::string& index : file_.datasets()) {
      if (index == "ids" || index == "positions") continue;
      const FamilyModel model(file_, family(), index);
      SCOPED_TRACE(family() + "/" + index + ": " + model.config());
      check(model);
    }
  }

  Hdf5File file_;
};

TEST_P(FamilyGoldenTest, ActivationsEqualTransformers) {
  const at::Tensor positions = integers("positions");
  // Dataset, hook of every layer, dimension of the tokens.
  const std::vector<std::tuple<std::string, HookKind, std::int64_t>> hooks = {
      {"q", HookKind::kQ, 0},         {"k", HookKind::kK, 0},
      {"v", HookKind::kV, 0},         {"rot_q", HookKind::kRotQ, 0},
      {"rot_k", HookKind::kRotK, 0},  {"pattern", HookKind::kPattern, 1},
      {"mlp", HookKind::kMlpPost, 0},
  };
  const std::vector<std::pair<std::string, HookKind>> routers = {
      {"router_logits", HookKind::kRouterLogits},
      {"expert_weights", HookKind::kExpertWeights},
      {"expert_indices", HookKind::kExpertIndices},
  };
  double largest = 0.0;
  for_each_model([&](const FamilyModel& model) {
    const Decoder decoder = model.decoder(dtype());
    const auto found = activations(decoder, ids(), {"blocks.*"});
    const auto error = [&](HookKind kind, std::int64_t layer, const at::Tensor& expected,
                           std::int64_t dim) {
      const std::string name = hook_name({kind, static_cast<int>(layer)});
      const double found_error =
          relative_error(found.at(name)[0].index_select(dim, positions), expected);
      largest = std::max(largest, found_error);
      return found_error;
    };
    const at::Tensor& hidden = model.golden("hidden");
    EXPECT_LT(error(HookKind::kResidPre, 0, hidden[0], 0), tolerance());
    for (std::int64_t layer = 0; layer + 1 < hidden.size(0); ++layer) {
      for (const auto& [name, kind, dim] : hooks) {
        if (!model.has(name)) continue;
        EXPECT_LT(error(kind, layer, model.golden(name)[layer], dim), tolerance())
            << name << " of layer " << layer;
      }
      EXPECT_LT(error(HookKind::kResidPost, layer, hidden[layer + 1], 0), tolerance())
          << "layer " << layer;
    }
    const at::Tensor layers =
        model.has("expert_layers") ? model.golden("expert_layers") : torch::empty({0});
    EXPECT_EQ(layers.numel() > 0, decoder.config().spec.experts.has_value());
    for (std::int64_t i = 0; i < layers.numel(); ++i) {
      const auto layer = static_cast<std::int64_t>(layers[i].item<double>());
      for (const auto& [name, kind] : routers) {
        EXPECT_LT(error(kind, layer, model.golden(name)[i], 0), tolerance())
            << name << " of layer " << layer;
      }
    }
    const at::Tensor logits = decoder.forward(ids()).logits[0].index_select(0, positions);
    const double of_logits = relative_error(logits, model.golden("logits"));
    EXPECT_LT(of_logits, tolerance());
    largest = std::max(largest, of_logits);
  });
  RecordProperty("largest_error", fmt::format("{:.1e}", largest));
}

/// Returns true if the angles of the first tokens depend on how many tokens follow, so that cached
/// keys differ from those of a full pass, in transformers too.
bool angles_depend_on_length(const ModelConfig& config, std::int64_t length) {
  return std::any_of(config.spec.ropes.begin(), config.spec.ropes.end(), [&](const RopeSpec& rope) {
    const bool depends = rope.kind == RopeKind::kDynamic || rope.kind == RopeKind::kLongRope;
    return depends && length > rope.original_max_position_embeddings;
  });
}

TEST_P(FamilyGoldenTest, DecodingWithTheCacheEqualsTheFullPass) {
  for_each_model([&](const FamilyModel& model) {
    const Decoder decoder = model.decoder(dtype());
    const std::int64_t length = ids().size(1);
    if (angles_depend_on_length(decoder.config(), length)) return;
    KeyValueCache cache;
    std::vector<at::Tensor> logits = {
        decoder.forward(ids().narrow(1, 0, 3), {.cache = &cache}).logits};
    for (std::int64_t position = 3; position < length; ++position) {
      logits.push_back(decoder.forward(ids().narrow(1, position, 1), {.cache = &cache}).logits);
    }
    EXPECT_LT(relative_error(torch::cat(logits, 1), decoder.forward(ids()).logits), tolerance());
  });
}

TEST_P(FamilyGoldenTest, ATreeOfItsSequencesEqualsTheFullPass) {
  for_each_model([&](const FamilyModel& model) {
    const Decoder decoder = model.decoder(dtype());
    const std::int64_t length = ids().size(1);
    if (angles_depend_on_length(decoder.config(), length)) return;
    std::vector<std::vector<std::int64_t>> sequences;
    for (std::int64_t i = 0; i < ids().size(0); ++i) {
      const at::Tensor row = ids()[i].contiguous();
      sequences.emplace_back(row.data_ptr<std::int64_t>(), row.data_ptr<std::int64_t>() + length);
      sequences.push_back(sequences.back());
      sequences.back().resize(static_cast<std::size_t>(length) / 2);
      sequences.back().push_back(sequences.back().front());
    }
    const PrefixTree tree(sequences);
    const at::Tensor logits = decoder.forward(tree.ids(), {.tree = &tree}).logits[0];
    const at::Tensor whole = decoder.forward(ids()).logits;
    for (std::int64_t i = 0; i < ids().size(0); ++i) {
      const at::Tensor rows = torch::tensor(tree.rows_of(static_cast<std::size_t>(2 * i)));
      EXPECT_LT(relative_error(logits.index_select(0, rows), whole[i]), tolerance());
    }
  });
}

TEST_P(FamilyGoldenTest, ChangesOfCoordinatesAreExactOrRefused) {
  if (dtype() != ComputeType::kFloat64) return;
  Json inexact = Json::object();
  for_each_model([&](const FamilyModel& model) {
    const Checkpoint checkpoint = model.checkpoint();
    const at::Tensor logits = model.decoder(dtype()).forward(ids()).logits.clone();
    Json& rejected = inexact[model.index()] = Json::array();
    for (const Gauge* const gauge : all_gauges()) {
      if (!gauge->refusal(checkpoint.config()).empty()) {
        rejected.push_back(gauge->name);
        continue;
      }
      SCOPED_TRACE(std::string(gauge->name));
      GaugeWeights weights(checkpoint);
      apply_gauge({.transform = std::string(gauge->name), .seed = 1}, weights);
      // config.json can be written, even if the output projection is no longer tied.
      EXPECT_NO_THROW(model_config_to_json(weights.config()));
      // Rounding, which the factors of exp(z) amplify.
      EXPECT_LT(relative_error(weights.decoder().forward(ids()).logits, logits), 1e-11);
    }
  });
  // Which transforms are exact for a family is documented (docs/invariance.md): it changes there,
  // too. The golden lists the others, by model of the family.
  if (std::getenv("LIME_FAMILY_GOLDENS") != nullptr) return;
  const Json golden = read_json_file(golden_file("gauge_inexact.json"));
  EXPECT_EQ(golden.value(family(), Json()), inexact) << family() << " " << inexact.dump();
}

/// Returns the names of the golden files: a new family needs no line here.
std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_file("families"))) {
    names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

TEST(FamilyGoldenFilesTest, CoverEveryReaderOfAFamily) {
  const std::vector<std::string> names = golden_names();
  for (const Family* const family : all_families()) {
    if (!family->is_for_new_models) continue;  // compared in golden_test.cpp
    const bool is_covered = std::ranges::any_of(names, [&](const std::string& name) {
      const Family* const other = find_family(name);
      return other != nullptr && other->read == family->read;
    });
    EXPECT_TRUE(is_covered) << family->model_type;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyGoldenTest,
                         ::testing::Combine(::testing::ValuesIn(golden_names()),
                                            ::testing::Values(ComputeType::kFloat32,
                                                              ComputeType::kFloat64)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(enum_name(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace lime
