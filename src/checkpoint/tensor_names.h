// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lime {

/// Contains the names of a family's tensors, without `.weight` and `.bias`. The defaults are
/// LLaMA's. A tensor of a layer is `{prefix}{layers}.{layer}.{name}`, another one `{prefix}{name}`,
/// except `output`, which has no prefix. Parts of a fused tensor are known to us under the names of
/// the parts; only the file has the fused name.
struct TensorNames {
  std::string prefix = "model.";
  std::string layers = "layers";
  std::string embedding = "embed_tokens";
  std::string positions = "embed_positions";   ///< learned positions
  std::string project_in = "project_in";       ///< OPT 350M
  std::string project_out = "project_out";     ///< OPT 350M
  std::string input_norm = "input_layernorm";  ///< before attention
  /// Norms of q, k and v in layers that split their input (MUDD); empty: input_norm, "_k", "_v".
  std::vector<std::string> split_input_norms = {};
  std::string attention_norm =
      "post_attention_layernorm";                     ///< after attention: kAfter, kBoth, kAfterSum
  std::string mlp_norm = "post_attention_layernorm";  ///< before the MLP: kBefore, kBoth
  std::string output_norm =
      "post_feedforward_layernorm";  ///< after the MLP: kAfter, kBoth, kAfterSum
  std::string q = "self_attn.q_proj";
  std::string k = "self_attn.k_proj";
  std::string v = "self_attn.v_proj";
  std::string qkv = "self_attn.qkv_proj";  ///< in the file, unless QkvLayout::kSeparate
  std::string q_norm = "self_attn.q_norm";
  std::string k_norm = "self_attn.k_norm";
  std::string o = "self_attn.o_proj";
  std::string gate = "mlp.gate_proj";
  std::string up = "mlp.up_proj";            ///< the first product of a plain MLP
  std::string gate_up = "mlp.gate_up_proj";  ///< in the file, if fused_gate_up
  std::string down = "mlp.down_proj";
  std::string sinks = "self_attn.sinks";  ///< one logit per head, without `.weight`
  std::string router = "mlp.gate";        ///< of a mixture of experts
  std::string experts = "mlp.experts";    ///< `{experts}.{number}.{expert_gate}`
  std::string expert_gate = "gate_proj";
  std::string expert_up = "up_proj";
  std::string expert_down = "down_proj";
  /// Packed experts; a bias has `.bias` in place of the file's `.weight`, else it adds `_bias`.
  std::string packed_gate_up = "mlp.experts.gate_up_proj";
  std::string packed_gate = {};  ///< of ExpertLayout::kPackedParts
  std::string packed_up = {};
  std::string packed_down = "mlp.experts.down_proj";
  std::string shared_expert = "mlp.shared_expert.{}_proj";  ///< of its gate, up and down
  std::string shared_expert_gate = "mlp.shared_expert_gate";
  std::string final_norm = "norm";
  std::string output = "lm_head";
  /// Another name of `output`: that of state_dict(), where save_pretrained() renames it; or empty.
  std::string output_alias = {};
  /// Other names of parts of a layer's tensors, and ours: {".mlp.gate.",
  /// ".block_sparse_moe.gate."}.
  std::vector<std::pair<std::string, std::string>> aliases = {};
  /// Endings of buffers that follow from the config and are not read: "attn.bias" of GPT-2.
  std::vector<std::string> ignored = {};

  bool operator==(const TensorNames&) const = default;
};

}  // namespace lime
