// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/make_lens_goldens.py (transformers).
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "capture/scores.h"
#include "core/json.h"
#include "store/lens_row.h"
#include "support/test_data.h"

namespace lime {
namespace {

TEST(LogitLensTest, EqualsTransformersAndEndsAtTheFinalDistribution) {
  const Json golden = read_json_file(testing::golden_file("lens.json"));
  CaptureInput input;
  std::int64_t longest = 0;
  for (const Json& ids : golden.at("ids")) {
    const auto row = ids.get<std::vector<std::int32_t>>();
    input.add(std::span(row).first(1), std::span(row).subspan(1), {});
    longest = std::max(longest, std::ssize(ids));
  }
  at::Tensor ids = at::zeros({2, longest}, at::kLong);
  for (std::int64_t s = 0; s < 2; ++s) {
    for (std::int64_t t = 0; t < input.length(s); ++t) {
      ids[s][t] = input.ids_of(s)[static_cast<std::size_t>(t)];
    }
  }
  const Checkpoint checkpoint = Checkpoint::open(testing::golden_file("model/llama-plain"));
  const Decoder decoder = load_decoder(checkpoint, {.dtype = ComputeType::kFloat64});
  std::vector<CapturePoint> points;
  for (int layer = 0; layer < 3; ++layer) points.push_back({{HookKind::kLogitLens, layer}, "", {}});
  const at::NoGradGuard no_grad;
  LogitLens lens(decoder, input, points);
  HookSet hooks;
  std::vector<ScopedHook> readers;
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_TRUE(lens.is_lens(i));
    readers.push_back(hooks.read(
        points[i].hook(), [&, i](const HookPoint&, const at::Tensor& x) { lens.keep(i, x); }));
  }
  const ForwardResult result = decoder.forward(ids, {.hooks = &hooks, .logits = LogitsFor::kNone});
  std::map<std::size_t, at::Tensor> found;
  lens.finish(result.hidden, std::vector<std::int64_t>{0, 1},
              [&](std::size_t point, const at::Tensor& rows) { found[point] = rows.clone(); });
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    for (std::int64_t s = 0; s < 2; ++s) {
      for (std::int64_t t = 0; t < input.length(s); ++t) {
        const Json& row = golden.at("layers")
                              .at(layer)
                              .at(static_cast<std::size_t>(s))
                              .at(static_cast<std::size_t>(t));
        for (std::int64_t m = 0; m < std::ssize(row); ++m) {
          const double expected = row.at(static_cast<std::size_t>(m));
          // Stored as float32.
          EXPECT_NEAR(found.at(layer)[s][t][m].item<double>(), expected, 1e-6)
              << layer << " " << s << " " << t << " " << m;
        }
      }
    }
  }
  // The most probable token, in the last layer that of the model.
  const at::Tensor largest = decoder.logits_of(result.hidden).argmax(-1);
  for (std::int64_t s = 0; s < 2; ++s) {
    for (std::int64_t t = 0; t < input.length(s); ++t) {
      const at::Tensor row = found.at(2)[s][t];
      EXPECT_EQ(row[5].item<double>() * kLensIdBase + row[6].item<double>(),
                largest[s][t].item<double>());
    }
  }
  EXPECT_EQ(found.at(2).select(2, 0).abs().max().item<double>(), 0.0);
  EXPECT_EQ(found.at(0)[1][4][4].item<double>(), 0.0) << "the last token has no next one";
}

}  // namespace
}  // namespace lime
