// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/run_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "analysis/counting_analysis.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::AllOf;
using testing::counting_analysis;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Returns a report's JSON without run-specific fields.
std::string comparable(Report report) {
  report.results.provenance = Json::object();
  return format_report(report, ResultsFormat::kJson);
}

Report run_with(const Analysis& analysis, const RunOptions& run, Journal& journal,
                const std::stop_token& stop = {}) {
  return report_of(analysis, compute_share(analysis, run, journal, {}, stop).value());
}

class RunAnalysisTest : public ::testing::Test {
 protected:
  Journal journal(bool resume = false) const { return Journal(path_, resume); }

  /// Returns the message of the InvalidArgument thrown when `analysis` is resumed.
  std::string refusal(const Analysis& analysis, bool resume = true) const {
    return testing::refusal_of([&] {
      Journal kept = journal(resume);
      run_with(analysis, {.threads = 1}, kept);
    });
  }

  /// Stops after `num_units` units and leaves their journal.
  void interrupt_after(int num_units, int num_layers) const {
    std::stop_source stop;
    int started = 0;
    auto counting = counting_analysis(num_layers, [&](const std::string&, int) {
      if (++started == num_units) stop.request_stop();
      if (started > num_units) throw Interrupted("stopped on request");
    });
    Journal kept = journal();
    EXPECT_THROW(run_with(counting.analysis, {.threads = 1}, kept, stop.get_token()), Interrupted);
  }

  testing::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "out.json.part";
};

TEST_F(RunAnalysisTest, RowsStandInTheOrderOfTheUnitsForAnyNumberOfThreads) {
  const auto counting = counting_analysis(7, [](const std::string&, int layer) {
    std::this_thread::sleep_for(std::chrono::milliseconds(7 - layer));
  });
  const std::string expected = comparable(run_analysis(counting.analysis, {.threads = 1}));
  for (const int threads : {2, 5, 16}) {
    EXPECT_EQ(comparable(run_analysis(counting.analysis, {.threads = threads})), expected);
  }
  const Results results = run_analysis(counting.analysis, {.threads = 3}).results;
  ASSERT_EQ(results.rows.size(), 14u);
  EXPECT_EQ(results.rows[8].cell(col::kLabel), "b");
  EXPECT_EQ(results.rows[8].cell(col::kLayer), 1);
  EXPECT_EQ(results.rows[8].cells().front().name, "label");
}

TEST_F(RunAnalysisTest, RemarksThatCapturesHoldDifferentSequences) {
  auto counting = counting_analysis(2);
  EXPECT_TRUE(run_analysis(counting.analysis, {}).remarks.empty());
  counting.analysis.units.back().identity = "other sequences";
  EXPECT_TRUE(run_analysis(counting.analysis, {}).remarks.empty()) << "the first layer decides";
  for (Unit& unit : counting.analysis.units) {
    if (unit.key.cell(col::kLabel) == "b") unit.identity = "other sequences";
  }
  const Report report = run_analysis(counting.analysis, {});
  const std::string remark =
      "captures contain different sequences: 'b' not those of 'a'; differences are not due to the "
      "models alone, capture all with the same text to compare models";
  EXPECT_EQ(report.results.provenance.at("remark"), remark);
  EXPECT_THAT(format_report(report, ResultsFormat::kTable),
              ::testing::EndsWith("\n\n" + remark + "\n"));
  EXPECT_THAT(format_report(report, ResultsFormat::kLatex), HasSubstr("% " + remark));
}

TEST_F(RunAnalysisTest, GoesOnWhereItWasInterruptedWithTheSameBytes) {
  const auto whole = counting_analysis(5);
  const std::string expected = comparable(run_analysis(whole.analysis, {.threads = 2}));
  interrupt_after(3, 5);
  ASSERT_TRUE(exists(path_));

  const auto rest = counting_analysis(5);
  Journal kept = journal(true);
  const Report report = run_with(rest.analysis, {.threads = 2}, kept);
  EXPECT_EQ(comparable(report), expected);
  EXPECT_EQ(report.results.provenance.at("resumed_units"), 3);
  EXPECT_EQ(*rest.runs, 7);
  EXPECT_TRUE(exists(path_)) << "its owner removes it when the report is safe";
  kept.remove();
  EXPECT_FALSE(exists(path_));
}

TEST_F(RunAnalysisTest, DropsALineThatWasCutShort) {
  interrupt_after(3, 5);
  const std::string text = testing::read_text(path_);
  const std::size_t last = text.rfind('\n', text.size() - 2);
  for (const std::size_t size : {text.size() - 1, last + 20, last + 1, std::size_t{5}}) {
    testing::write_text(path_, text.substr(0, size));
    const auto rest = counting_analysis(5);
    Journal kept = journal(true);
    const Report report = run_with(rest.analysis, {.threads = 1}, kept);
    EXPECT_EQ(comparable(report), comparable(run_analysis(rest.analysis, {.threads = 1}))) << size;
  }
}

TEST_F(RunAnalysisTest, DropsALastLineThatIsDamaged) {
  interrupt_after(3, 5);
  const std::string text = testing::read_text(path_);
  const std::string expected =
      comparable(run_analysis(counting_analysis(5).analysis, {.threads = 1}));
  for (const char* const last : {"garbage\n", "\n", "{}\n", "{\"unit\":{},\"result\":[]}\ncut"}) {
    testing::write_text(path_, text + last);
    Journal kept = journal(true);
    const Report report = run_with(counting_analysis(5).analysis, {.threads = 1}, kept);
    EXPECT_EQ(comparable(report), expected) << last;
    EXPECT_EQ(report.results.provenance.at("resumed_units"), 3) << last;
  }
}

TEST_F(RunAnalysisTest, RefusesToGoOnWithAJournalOfAnotherSchema) {
  interrupt_after(3, 5);
  std::string text = testing::read_text(path_);
  const std::string schema = kJournalSchema;
  text.replace(text.find(schema), schema.size(), "lime-journal/9");
  const std::string expected =
      "'" + path_.string() +
      "': is a journal of schema 'lime-journal/9', this build resumes 'lime-journal/3'; resume "
      "with the version that started it, or remove the file to start over";
  for (const char* const more : {"", "{\"another\":\"line\"}\n{\"and\":\"more\"}\n"}) {
    testing::write_text(path_, text + more);
    EXPECT_EQ(refusal(counting_analysis(5).analysis), expected);
    EXPECT_EQ(testing::read_text(path_), text + more) << "stays for the version that reads it";
  }
}

TEST_F(RunAnalysisTest, RefusesToGoOnWithOtherOptionsInputsOrUnits) {
  interrupt_after(2, 3);
  const std::string begun = "'" + path_.string() + "': was started with different options, ";
  auto other = counting_analysis(3);
  other.analysis.options["alpha"] = 1.0;
  EXPECT_EQ(
      refusal(other.analysis),
      begun + "options.alpha was 0.5, now 1.0; rerun with the original ones, or remove the file");

  other = counting_analysis(3);
  const auto file = folder_ / "a.h5";
  testing::write_text(file, "one");
  other.analysis.inputs = {{file.string(), "a", {file}}};
  EXPECT_THAT(refusal(other.analysis), StartsWith(begun + "inputs.a is new, '"));

  EXPECT_THAT(refusal(counting_analysis(4).analysis), StartsWith(begun + "units was "));
  EXPECT_EQ(refusal(counting_analysis(3).analysis, false),
            "'" + path_.string() +
                "': contains the finished part of an interrupted run; resume it with --resume, or "
                "remove the file");
  EXPECT_EQ(refusal(counting_analysis(3).analysis), "");
}

TEST_F(RunAnalysisTest, RefusesToGoOnWhenAnInputHasChanged) {
  const auto file = folder_ / "a.h5";
  testing::write_text(file, "one");
  const auto with_input = [&](const std::function<void(const std::string&, int)>& on_unit) {
    auto counting = counting_analysis(3, on_unit);
    counting.analysis.inputs = {{file.string(), "a", {file}}};
    return counting;
  };
  std::stop_source stop;
  int started = 0;
  const auto first = with_input([&](const std::string&, int) {
    if (++started > 1) throw Interrupted("stopped on request");
    stop.request_stop();
  });
  Journal kept = journal();
  EXPECT_THROW(run_with(first.analysis, {.threads = 1}, kept, stop.get_token()), Interrupted);
  kept = Journal();
  testing::write_text(file, "two");
  EXPECT_THAT(refusal(with_input({}).analysis),
              HasSubstr("was started with different options, inputs.a was '"));
}

TEST_F(RunAnalysisTest, GoesOnOnceADamagedInputIsRestored) {
  const auto file = folder_ / "a.h5";
  const auto with_input = [&](const std::string& identity, int first_damaged) {
    auto counting = counting_analysis(5, [=](const std::string& label, int layer) {
      if (label == "a" && layer >= first_damaged) throw FormatError("store: the file is damaged");
    });
    counting.analysis.inputs = {{file.string(), "a", {file}, "", "", identity}};
    return counting;
  };
  testing::write_text(file, "damaged");
  {
    Journal kept = journal();
    EXPECT_EQ(testing::refusal_of<FormatError>(
                  [&] { run_with(with_input("capture", 3).analysis, {.threads = 1}, kept); }),
              "store: the file is damaged; finished work is stored in '" + path_.string() +
                  "', then resume with --resume");
  }
  testing::write_text(file, "whole");
  EXPECT_THAT(refusal(with_input("another capture", 5).analysis),
              HasSubstr("was started with different options, inputs.a was '"));
  Journal kept = journal(true);
  const auto rest = with_input("capture", 5);
  const Report report = run_with(rest.analysis, {.threads = 1}, kept);
  EXPECT_EQ(report.results.provenance.at("resumed_units"), 3);
  EXPECT_EQ(*rest.runs, 7);
  EXPECT_EQ(comparable(report), comparable(run_analysis(rest.analysis, {.threads = 1})));
}

TEST_F(RunAnalysisTest, DamageBeforeAnythingIsFinishedLeavesNothingBehind) {
  const auto counting = counting_analysis(
      2, [](const std::string&, int) { throw FormatError("store: the file is damaged"); });
  Journal kept = journal();
  EXPECT_EQ(
      testing::refusal_of<FormatError>([&] { run_with(counting.analysis, {.threads = 1}, kept); }),
      "store: the file is damaged");
  EXPECT_FALSE(exists(path_));
}

TEST_F(RunAnalysisTest, RefusesAJournalThatIsDamagedOrInUse) {
  interrupt_after(3, 5);
  const std::string text = testing::read_text(path_);
  const std::size_t second = text.find('\n') + 1;
  std::string damaged = text;
  damaged[second] = 'x';
  testing::write_text(path_, damaged);
  const std::string line_2 = "'" + path_.string() + "' line 2: ";
  const std::string remedy = "; remove the file to start over";
  EXPECT_EQ(refusal(counting_analysis(5).analysis), line_2 + "does not have its checksum" + remedy);
  // A result that looks intact.
  damaged = text;
  damaged[text.find_first_of("0123456789", text.find("\"rows\"", second))] ^= 1;
  testing::write_text(path_, damaged);
  EXPECT_EQ(refusal(counting_analysis(5).analysis), line_2 + "does not have its checksum" + remedy);
  testing::write_text(path_, "x" + text.substr(0, second));
  EXPECT_EQ(refusal(counting_analysis(5).analysis),
            "'" + path_.string() + "' line 1: does not have its checksum" + remedy);

  const auto write_lines = [&](const std::vector<std::string>& lines) {
    testing::write_text(path_, "");
    CheckedLinesWriter(path_).append(lines);
  };
  for (const char* const header : {"[]", "null", "{}", "{\"journal\":1}"}) {
    write_lines({header, "{}"});
    EXPECT_EQ(refusal(counting_analysis(5).analysis),
              "'" + path_.string() + "' line 1: is not a header" + remedy);
  }
  write_lines({text.substr(0, text.find('\t')),
               R"({"unit":{},"result":{"rows":[],"samples":[],)"
               R"("matrices":[{"name":"m","rows":2,"columns":3,"values":[1]}]}})",
               "{}"});
  EXPECT_EQ(refusal(counting_analysis(5).analysis),
            line_2 + "a matrix must have 2 x 3 numbers, got 1" + remedy);

  testing::write_text(path_, text);
  Journal other = journal(true);
  EXPECT_THROW(other.open(Json::object()), InvalidArgument);  // keeps the file open
  EXPECT_EQ(refusal(counting_analysis(5).analysis),
            "'" + path_.string() + "': another process is writing this file");
}

TEST_F(RunAnalysisTest, RefusesAFifoInTheJournalsPlaceAtOnce) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(testing::refusal_of<IoError>([&] { journal(true).open(Json::object()); }),
              HasSubstr("out.json.part': is not a regular file"));
}

TEST_F(RunAnalysisTest, SaysWhatIsKept) {
  std::stop_source stop;
  stop.request_stop();
  const auto counting = counting_analysis(2);
  const auto message = [&](Journal& kept) -> std::string {
    return testing::refusal_of<Interrupted>(
        [&] { run_with(counting.analysis, {}, kept, stop.get_token()); });
  };
  Journal none;
  EXPECT_EQ(message(none),
            "interrupted; finished work was discarded because there is no output file, add -o FILE "
            "to keep it");
  Journal unused = journal();
  EXPECT_EQ(message(unused), "interrupted before anything was finished; run the command again");
  EXPECT_EQ(*counting.runs, 0);
}

TEST_F(RunAnalysisTest, AnErrorThatWouldComeAgainLeavesNothingBehind) {
  const auto counting = counting_analysis(6, [](const std::string& label, int layer) {
    if (label == "a" && layer >= 3) throw NumericalError("row {} is NaN", layer);
  });
  for (const int threads : {1, 4}) {
    Journal kept = journal();
    try {
      run_with(counting.analysis, {.threads = threads}, kept);
      FAIL();
    } catch (const NumericalError& error) {
      EXPECT_STREQ(error.what(), "'a.h5': site 'values', layer 3: row 3 is NaN");
    }
    EXPECT_FALSE(exists(path_));
  }
}

TEST_F(RunAnalysisTest, RefusesSamplesThatAreNotFinite) {
  auto counting = counting_analysis(1);
  counting.analysis.units[0].measure = [](const UnitContext&) {
    UnitResult result;
    result.samples = {{.quantity = "entropy", .items = "sequences", .values = {1.0, std::nan("")}}};
    return result;
  };
  EXPECT_EQ(refusal(counting.analysis),
            "'a.h5': site 'values', layer 0: entropy of item 1 of the sequences is not finite");
}

TEST_F(RunAnalysisTest, RunsAsManyUnitsAtOnceAsFitIntoTheMemory) {
  std::mutex mutex;
  int running = 0;
  int most = 0;
  auto counting = counting_analysis(6);
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (Unit& unit : counting.analysis.units) {
    unit.bytes = kHuge;
    unit.measure = [&](const UnitContext&) {
      {
        const std::lock_guard lock(mutex);
        most = std::max(most, ++running);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const std::lock_guard lock(mutex);
      --running;
      return UnitResult{};
    };
  }
  run_analysis(counting.analysis, {.threads = 6, .memory_limit = ByteSize{5 * kHuge / 2}});
  EXPECT_EQ(most, 2);
  EXPECT_EQ(peak_memory(counting.analysis, {.threads = 1, .memory_limit = ByteSize{8 * kHuge}}),
            kHuge);
  EXPECT_EQ(peak_memory(counting.analysis, {.threads = 3, .memory_limit = ByteSize{8 * kHuge}}),
            3 * kHuge);
}

TEST_F(RunAnalysisTest, SaysBeforeItStartsWhatDoesNotFit) {
  auto counting = counting_analysis(3);
  counting.analysis.units[4].bytes = std::int64_t{1} << 40;
  const auto refusal_with = [&](const RunOptions& run) -> std::string {
    return testing::refusal_of<InvalidArgument>([&] { run_analysis(counting.analysis, run); });
  };
  EXPECT_THAT(refusal_with({.memory_limit = ByteSize::parse("2GB")}),
              StartsWith("memory_limit: 1 of 6 units needs more than 2GB, the largest is 'b.h5': "
                         "site 'values', layer 1 with 1 TiB; set --memory-limit to 110"));
  EXPECT_THAT(refusal_with({}),
              StartsWith("memory: 'b.h5': site 'values', layer 1 needs 1 TiB, but only "));
  EXPECT_EQ(*counting.runs, 0);
}

TEST_F(RunAnalysisTest, GivesThreadsToUnitsThatAskForThem) {
  auto counting = counting_analysis(2);
  counting.analysis.threads = UnitThreads::kInside;
  std::set<int> threads;
  for (Unit& unit : counting.analysis.units) {
    unit.measure = [&](const UnitContext& context) {
      threads.insert(context.pool.num_threads());
      return UnitResult{};
    };
  }
  run_analysis(counting.analysis, {.threads = 5});
  EXPECT_EQ(threads, std::set<int>{5});
  // As many of them as fit into memory.
  for (Unit& unit : counting.analysis.units) unit.bytes_per_thread = std::int64_t{1} << 40;
  threads.clear();
  run_analysis(counting.analysis,
               {.threads = 5, .memory_limit = ByteSize{(std::int64_t{1} << 40) * 7 / 2}});
  EXPECT_EQ(threads, std::set<int>{3});
}

TEST_F(RunAnalysisTest, AnAnalysisWithoutUnitsHasNoRows) {
  auto counting = counting_analysis(0);
  EXPECT_TRUE(run_analysis(counting.analysis, {}).results.rows.empty());
}

}  // namespace
}  // namespace lime
