// SPDX-License-Identifier: Apache-2.0
// The list of families: a new one is a file of its own, and a line here and in CMakeLists.txt.
#include <algorithm>
#include <array>

#include "checkpoint/families/arcee.h"
#include "checkpoint/families/biogpt.h"
#include "checkpoint/families/cohere.h"
#include "checkpoint/families/cwm.h"
#include "checkpoint/families/ernie4_5.h"
#include "checkpoint/families/exaone.h"
#include "checkpoint/families/falcon.h"
#include "checkpoint/families/gemma.h"
#include "checkpoint/families/glm.h"
#include "checkpoint/families/gpt2.h"
#include "checkpoint/families/gpt_bigcode.h"
#include "checkpoint/families/gpt_neo.h"
#include "checkpoint/families/gpt_neox.h"
#include "checkpoint/families/gpt_oss.h"
#include "checkpoint/families/gptj.h"
#include "checkpoint/families/granite.h"
#include "checkpoint/families/helium.h"
#include "checkpoint/families/hunyuan.h"
#include "checkpoint/families/hyperclovax.h"
#include "checkpoint/families/llama.h"
#include "checkpoint/families/mistral.h"
#include "checkpoint/families/mixtral.h"
#include "checkpoint/families/mudd.h"
#include "checkpoint/families/olmo.h"
#include "checkpoint/families/olmoe.h"
#include "checkpoint/families/opt.h"
#include "checkpoint/families/phi.h"
#include "checkpoint/families/phi3.h"
#include "checkpoint/families/qwen.h"
#include "checkpoint/families/qwen_moe.h"
#include "checkpoint/families/seed_oss.h"
#include "checkpoint/families/smollm3.h"
#include "checkpoint/families/stablelm.h"
#include "checkpoint/families/starcoder2.h"

namespace lime {

std::span<const Family* const> all_families() {
  static constexpr std::array kFamilies = {
      &kLlama,      &kInternLm3,    &kIQuestCoder, &kExaone,    &kSeedOss,    &kCwm,
      &kArcee,      &kJais2,        &kMistral,     &kMinistral, &kStarcoder2, &kQwen2,
      &kQwen3,      &kHunYuanDense, &kSmolLm3,     &kExaone4,   &kOlmo,       &kOlmo2,
      &kOlmo3,      &kPhi,          &kPhi3,        &kGemma,     &kGemma2,     &kGemma3Text,
      &kVaultGemma, &kGranite,      &kHyperClovaX, &kHelium,    &kErnie45,    &kGlm,
      &kGlm4,       &kCohere,       &kCohere2,     &kStableLm,  &kFalcon,     &kGptNeoX,
      &kGptJ,       &kCodeGen,      &kGpt2,        &kGptNeo,    &kGptBigCode, &kOpt,
      &kBioGpt,     &kMixtral,      &kOlmoe,       &kQwen2Moe,  &kQwen3Moe,   &kGraniteMoe,
      &kGptOss,     &kMuddFormer,   &kMuddPythia};
  return kFamilies;
}

const Family* find_family(std::string_view model_type) {
  const auto families = all_families();
  const auto found = std::ranges::find(families, model_type, &Family::model_type);
  return found == families.end() ? nullptr : *found;
}

}  // namespace lime
