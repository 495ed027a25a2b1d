// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/hunyuan.h"

#include <cmath>

#include "checkpoint/families/rope_reading.h"

namespace lime {
namespace {

/// Returns the rotary embedding. One of type dynamic with a fixed `alpha` raises the base once and
/// for all: theta alpha^(head_dim / (head_dim - 2)).
RopeSpec read_hunyuan_rope(const KeyReader& keys, ModelConfig& config) {
  constexpr std::array<const char*, 5> kOwnKeys = {"alpha", "beta_fast", "beta_slow", "mscale",
                                                   "mscale_all_dim"};
  refuse_partial_rotation(keys);
  RopeSpec rope = read_rope(keys, config, {.own_keys = kOwnKeys});
  const Json* object = keys.find("rope_scaling");
  if (object == nullptr || object->empty()) object = keys.find("rope_parameters");
  if (rope.kind != RopeKind::kDynamic || object == nullptr) return rope;
  const KeyReader inner(*object, fmt::format("{}: {}", keys.where(), rope_place(config, 0)));
  const double alpha = inner.number("alpha").value_or(0.0);
  if (alpha == 0.0) return rope;
  const auto dim = static_cast<double>(config.head_dim);
  RopeSpec raised;
  raised.theta = rope.theta * std::pow(inner.positive("alpha", 1.0), dim / (dim - 2.0));
  return raised;
}

void read_hunyuan(const KeyReader& keys, ModelConfig& config) {
  DecoderSpec& spec = config.spec;
  spec.norm.eps = read_norm_eps(keys, "rms_norm_eps", 1e-5);
  spec.ropes = {read_hunyuan_rope(keys, config)};
  spec.qk_norm = QkNorm::kPerHead;
  spec.rotates_before_norm = true;
  read_attention_bias(keys, config);
  spec.names.q_norm = "self_attn.query_layernorm";
  spec.names.k_norm = "self_attn.key_layernorm";
}

}  // namespace

const Family kHunYuanDense = {.model_type = "hunyuan_v1_dense",
                              .architecture = "HunYuanDenseV1ForCausalLM",
                              .read = read_hunyuan};

}  // namespace lime
