// SPDX-License-Identifier: Apache-2.0
// lime-metrics audit: every documented invariance on random models, transforms and strengths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analysis/audit/audit_changes.h"
#include "app/lime_capture_fixture.h"
#include "core/json.h"
#include "core/random.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeCaptureTest;
using testing::ProgramRun;
using testing::run_command;

class LimeMetricsAuditTest : public LimeCaptureTest {
 protected:
  ProgramRun audit(const std::string& arguments) const {
    return run_command("cd '" + folder_.path().string() + "' && " LIME_METRICS " audit " +
                       arguments);
  }

  /// Audits a random model with a random strength. Returns the rows of the changes.
  Json changes_of(const std::string& decoder, std::uint64_t seed) {
    testing::write_tiny_checkpoint(folder_ / decoder, testing::tiny_config(decoder));
    const double strength = Random(seed).uniform(0.2, 0.8);
    const ProgramRun done = audit(
        fmt::format("{} --text text.txt --seq-len 16 --max-sequences 6 --only ' is, are' "
                    "--probe-sequences 30 --strength {} --seed {} --threads 1 --folder {}-files "
                    "-o {}.json --quiet",
                    decoder, strength, seed, decoder, decoder));
    EXPECT_EQ(done.status, 0) << done.errors;
    if (done.status != 0) return Json::array();
    Json changes = Json::array();
    const Json results = read_json_file(folder_ / (decoder + ".json"));
    for (const Json& row : results["rows"]) {
      if (!row.contains("kind")) changes.push_back(row);
    }
    return changes;
  }
};

class LimeMetricsAuditOfTest : public LimeMetricsAuditTest,
                               public ::testing::WithParamInterface<const char*> {};

TEST_P(LimeMetricsAuditOfTest, NoMeasureMovesAgainstItsProof) {
  const Json changes = changes_of(GetParam(), 3);
  std::set<std::string> verdicts;
  for (const Json& row : changes) {
    verdicts.insert(row["verdict"]);
    EXPECT_NE(row["verdict"], audit_verdict::kContradiction) << row.dump();
  }
  EXPECT_TRUE(verdicts.contains(std::string(audit_verdict::kByProof)));
  EXPECT_TRUE(verdicts.contains(std::string(audit_verdict::kCoordinates)));
}

INSTANTIATE_TEST_SUITE_P(Decoders, LimeMetricsAuditOfTest,
                         ::testing::Values("lime", "mhc", "olmoe"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(LimeMetricsAuditTest, ContinuesWithTheCapturesOfItsFolder) {
  const std::string command =
      "model --text text.txt --seq-len 16 --max-sequences 6 --transform value-scale "
      "--metric entropy-raw --threads 1 ";
  ASSERT_EQ(audit(command + "-o first.json --quiet").status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "audit" / "value-scale-checkpoint"));
  const auto made = std::filesystem::last_write_time(folder_ / "audit" / "value-scale.h5");
  const ProgramRun again = audit(command);
  EXPECT_EQ(again.status, 0) << again.errors;
  EXPECT_THAT(again.output, HasSubstr("entropy-raw"));
  EXPECT_THAT(again.output, HasSubstr("hidden, entropy-raw: entropy"));
  EXPECT_EQ(made, std::filesystem::last_write_time(folder_ / "audit" / "value-scale.h5"));
  const ProgramRun other = audit(command + "--seed 5");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.errors, HasSubstr("--folder: 'audit' has captures that were made with other "
                                      "options (seed was 0, now 5); pass another folder"));
}

TEST_F(LimeMetricsAuditTest, ListsWhatIsNotExactAndRefusesWhatIsUnknown) {
  const std::string input = "model --text text.txt --seq-len 16 --max-sequences 6 --threads 1 ";
  const ProgramRun refused =
      audit(input + "--transform route-scale,value-scale --metric entropy-raw");
  EXPECT_EQ(refused.status, 0) << refused.errors;
  EXPECT_THAT(refused.output, HasSubstr("route-scale: not exact: it has no router"));
  const ProgramRun unknown = audit(input + "--transform none --metric entropy-raw");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.errors, HasSubstr("--transform: unknown transform 'none'"));
  EXPECT_EQ(audit("model").status, 2);
  EXPECT_EQ(audit(input + "--lengths 8").status, 2);
  EXPECT_EQ(audit(input + "--over texts --transform value-scale").status, 2);
}

TEST_F(LimeMetricsAuditTest, OfTextsChangesLengthOrderAndRepetition) {
  const ProgramRun done = audit(
      "model --text text.txt --over texts --seq-len 16 --lengths 8,16,32 --max-sequences 6 "
      "--threads 1 -o texts.json --quiet");
  ASSERT_EQ(done.status, 0) << done.errors;
  std::set<std::string> variants;
  bool is_repeated_smaller = false;
  const Json results = read_json_file(folder_ / "texts.json");
  for (const Json& row : results["rows"]) {
    if (row.contains("kind")) continue;
    variants.insert(row["label"]);
    if (row["label"] != "repeated" || row["measure"] != "entropy") continue;
    if (row["quantity"] != "entropy-raw" || row["site"] != "hidden") continue;
    is_repeated_smaller = row["mean"] < row["baseline_mean"];
  }
  EXPECT_EQ(variants, (std::set<std::string>{"8 tokens", "32 tokens", "shuffled", "repeated"}));
  EXPECT_TRUE(is_repeated_smaller);
}

TEST_F(LimeCaptureTest, GaugeListsTheTransformsOfACheckpoint) {
  const ProgramRun list = run("gauge model --list");
  EXPECT_EQ(list.status, 0) << list.errors;
  EXPECT_THAT(list.output, HasSubstr("value-scale           exact\n"));
  EXPECT_THAT(list.output,
              HasSubstr("route-scale           not exact: it has no router over layers\n"));
  EXPECT_EQ(run("gauge model --list -o list.json --quiet").status, 0);
  const Json transforms = read_json_file(folder_ / "list.json");
  EXPECT_EQ(transforms[0]["name"], "value-scale");
  EXPECT_EQ(transforms[0]["has_strength"], true);
  EXPECT_EQ(transforms[0]["reason"], "");
  expect_refusal("gauge model --list --transform value-scale", 2,
                 "--transform: is not applied with --list; omit one of them");
}

}  // namespace
}  // namespace lime
