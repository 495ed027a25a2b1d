// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <QByteArray>
#include <QString>
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include "core/files/sha256.h"
#include "core/json.h"
#include "support/test_data.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::ProgramRun;
using testing::read_text;

class LimeFigureTest : public ::testing::Test {
 protected:
  LimeFigureTest() {
    for (const FigureSource& source : {testing::sample_comparison(), testing::sample_router(),
                                       testing::sample_separability(), testing::sample_cost()}) {
      write_results(folder_ / source.path.string(), source.results);
    }
    Results empty = testing::sample_entropy().results;
    empty.rows.clear();
    write_results(folder_ / "empty.json", empty);
  }

  ProgramRun run(const std::string& arguments, const std::string& prefix = "") const {
    return testing::run_command("cd '" + folder_.path().string() +
                                "' && LC_ALL=C.UTF-8 COLUMNS=100 " + prefix + LIME_FIGURE " " +
                                arguments);
  }

  /// Returns the one-line error of a failed run, which must leave no files.
  std::string refusal(const std::string& arguments, int status) const {
    const std::ptrdiff_t before = count_files();
    const ProgramRun result = run(arguments);
    EXPECT_EQ(result.status, status) << arguments;
    EXPECT_THAT(result.output, IsEmpty()) << arguments;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
    EXPECT_EQ(count_files(), before) << arguments;
    return result.errors;
  }

  std::ptrdiff_t count_files() const {
    return std::distance(fs::recursive_directory_iterator(folder_.path()),
                         fs::recursive_directory_iterator());
  }

  testing::TemporaryFolder folder_;
};

TEST_F(LimeFigureTest, AllDrawsEveryFigureThatTheFilesFeed) {
  const ProgramRun result =
      run("all entropy.json router.json separability.json cost.json -o figures --format png,csv "
          "--dpi 60");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, IsEmpty());
  for (const char* const name : {"entropy", "comparison-entropy", "separability", "router-mean",
                                 "router-heads", "router-signed", "cost"}) {
    const std::string path = std::string("figures/") + name;
    EXPECT_TRUE(fs::exists(folder_ / (path + ".png"))) << name;
    EXPECT_TRUE(fs::exists(folder_ / (path + ".csv"))) << name;
    EXPECT_THAT(result.output, HasSubstr(path + ".png"));
  }
}

TEST_F(LimeFigureTest, ResultsOfOneMetricDoNotOverwriteEachOther) {
  fs::copy_file(folder_ / "entropy.json", folder_ / "other.json");
  ASSERT_EQ(run("all entropy.json other.json -o figures --format csv").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "figures/entropy-entropy.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "figures/entropy-other.csv"));
  for (const char* const name : {"model-0.5", "model-0.7"}) {
    fs::copy_file(folder_ / "entropy.json", folder_ / name);
  }
  ASSERT_EQ(run("all model-0.5 model-0.7 -o models --format csv").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "models/entropy-model-0.5.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "models/entropy-model-0.7.csv"));
}

TEST_F(LimeFigureTest, AllRefusesResultsWhoseFiguresWouldHaveTheSameNames) {
  fs::create_directory(folder_ / "b");
  fs::copy_file(folder_ / "entropy.json", folder_ / "b/entropy.json");
  EXPECT_EQ(refusal("all entropy.json b/entropy.json -o figures --format csv", 1),
            "lime-figure: results: figures of 'entropy.json' and 'b/entropy.json' would have the "
            "same names; rename one of the files, or write each to its own folder with -o\n");
}

TEST_F(LimeFigureTest, FilesMayHaveAnyName) {
  const std::string latin = "caf\xE9.json";
  const std::string red = "\x1B[31mred.json";
  fs::copy_file(folder_ / "cost.json", folder_ / latin);
  fs::copy_file(folder_ / "cost.json", folder_ / red);
  const std::string both = "'" + latin + "' '" + red + "'";
  for (const char* const kind : {"svg", "pdf", "png", "csv", "tex"}) {
    const ProgramRun result = run(both + " -o figure." + kind);
    EXPECT_EQ(result.status, 0) << kind << ": " << result.errors;
  }
  const ProgramRun all = run("all " + both + " -o figures --format csv");
  EXPECT_EQ(all.status, 0) << all.errors;
  EXPECT_THAT(all.output, HasSubstr("figures/cost-\\x1b[31mred.csv"));
  EXPECT_THAT(all.output, HasSubstr("figures/cost-caf\\xe9.csv"));
  const ProgramRun report = run("report " + both + " -o report.html");
  EXPECT_EQ(report.status, 0) << report.errors;
  const std::string page = read_text(folder_ / "report.html");
  EXPECT_EQ(page.find('\x1B'), std::string::npos);
  EXPECT_THAT(page, HasSubstr("x1b[31mred"));
  for (const ProgramRun& run : {all, report}) {
    EXPECT_EQ((run.output + run.errors).find('\x1B'), std::string::npos);
  }
}

TEST_F(LimeFigureTest, ProvenanceSaysHowAFigureWasMadeWhateverItsName) {
  ASSERT_EQ(run("entropy.json --site hidden --layer-base 1 -o a.pdf -o a.png -o a.svg").status, 0);
  ASSERT_EQ(run("entropy.json --site hidden --layer-base 1 -o b.pdf").status, 0);
  EXPECT_EQ(read_text(folder_ / "a.pdf"), read_text(folder_ / "b.pdf"));
  for (const char* const name : {"a.pdf", "a.png", "a.svg"}) {
    const ProgramRun shown = run(std::string("--show-provenance ") + name);
    ASSERT_EQ(shown.status, 0) << shown.errors;
    const Json provenance = parse_json(shown.output, name);
    EXPECT_EQ(provenance["command"], "lime-figure entropy.json --site hidden --layer-base 1");
    EXPECT_EQ(provenance["results"][0]["sha256"].get<std::string>().size(), 64U);
    EXPECT_EQ(provenance["created_utc"], "2026-11-21T04:10:33Z");
  }
}

TEST_F(LimeFigureTest, ListsTheFigures) {
  const ProgramRun result = run("--list");
  EXPECT_EQ(result.status, 0);
  for (const Recipe& recipe : all_recipes()) {
    const std::string line = recipe.name + std::string(23 - recipe.name.size(), ' ') + recipe.help;
    EXPECT_THAT(result.output, HasSubstr(line + "\n" + std::string(23, ' ') + "metrics: "));
  }
}

TEST_F(LimeFigureTest, AReportIsOneHtmlFileWithFiguresNumbersAndProvenance) {
  const ProgramRun result =
      run("report entropy.json router.json cost.json -o report.html "
          "--title 'LIMe <1>'");
  ASSERT_EQ(result.status, 0) << result.errors;
  const std::string html = read_text(folder_ / "report.html");
  EXPECT_THAT(html, HasSubstr("<h1>LIMe &lt;1&gt;</h1>"));
  for (const char* const name : {"entropy", "comparison-entropy", "router-mean", "cost"}) {
    EXPECT_THAT(html, HasSubstr(std::string("<figure id=\"") + name + "\">\n<h2>"));
    EXPECT_THAT(html, HasSubstr(std::string("<a href=\"#") + name + "\">"));
  }
  EXPECT_THAT(html, HasSubstr("<svg "));
  EXPECT_THAT(html, HasSubstr("<title>router-mean</title>"));
  EXPECT_THAT(html, Not(HasSubstr("Qt SVG")));
  EXPECT_THAT(html, HasSubstr("<th>panel</th><th>title</th>"));
  EXPECT_THAT(html, HasSubstr("sha256"));
  EXPECT_THAT(html, Not(HasSubstr("<?xml")));
  EXPECT_THAT(html, Not(HasSubstr(" style=\""))) << "the policy would ignore it";
  ASSERT_EQ(run("report entropy.json -o blind.html --anonymous").status, 0);
  EXPECT_THAT(read_text(folder_ / "blind.html"), Not(HasSubstr("entropy.json")));
  EXPECT_THAT(refusal("report entropy.json -o report.pdf", 2), HasSubstr("must end in .html"));
}

TEST_F(LimeFigureTest, TheScriptOfAReportIsPermittedByItsPolicyAlone) {
  ASSERT_EQ(run("report entropy.json router.json -o report.html").status, 0);
  const std::string html = read_text(folder_ / "report.html");
  const auto between = [&](const std::string& before, const std::string& after) {
    const std::size_t from = html.find(before) + before.size();
    return html.substr(from, html.find(after, from) - from);
  };
  const auto source = [](const std::string& text) {
    const QByteArray digest = QByteArray::fromHex(QByteArray::fromStdString(sha256_of(text)));
    return "'sha256-" + digest.toBase64().toStdString() + "'";
  };
  const std::string policy = between("http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  EXPECT_EQ(policy, "default-src 'none'; style-src " + source(between("<style>", "</style>")) +
                        "; script-src " + source(between("<script>", "</script>")) +
                        "; img-src data:; base-uri 'none'; form-action 'none'");
  for (const char* const loaded : {"src=\"http", "url(http", "<link", "<iframe", " onclick"}) {
    EXPECT_THAT(html, Not(HasSubstr(loaded)));
  }
  const Json data =
      parse_json(between("<script type=\"application/json\">", "</script>"), "report.html");
  EXPECT_FALSE(data.at("panels").empty());
}

TEST_F(LimeFigureTest, PrintsTheNoteThatTheCaptionNeeds) {
  const ProgramRun result = run("entropy.json --no-note -o a.svg");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("bootstrap intervals over sequences\n"));
  EXPECT_THAT(read_text(folder_ / "a.svg"), Not(HasSubstr("bootstrap intervals")));
}

TEST_F(LimeFigureTest, RefusesResultsThatDoNotFit) {
  EXPECT_THAT(refusal("router.json --kind entropy -o f.pdf", 1),
              HasSubstr("does not show results of router (supported: router-mean, router-heads"));
  EXPECT_THAT(refusal("entropy.json router.json -o f.pdf", 1), HasSubstr("of the same metric"));
  EXPECT_THAT(refusal("empty.json -o f.pdf", 1), HasSubstr("'empty.json' contains no rows"));
  EXPECT_THAT(refusal("missing.json -o f.pdf", 1), HasSubstr("missing.json"));
  testing::write_text(folder_ / "nothing.json", "");
  EXPECT_THAT(refusal("nothing.json -o f.pdf", 1), HasSubstr("nothing.json"));
}

TEST_F(LimeFigureTest, SaysWhatElseAFileIs) {
  testing::write_text(folder_ / "capture.h5", "\x89HDF\r\n\x1A\n and more");
  EXPECT_THAT(refusal("capture.h5 -o f.pdf", 1),
              HasSubstr("'capture.h5' is a capture; measure it with lime-metrics first"));
  testing::write_text(folder_ / "entropy.csv", "label,layer\n");
  EXPECT_THAT(refusal("entropy.csv -o f.pdf", 1), HasSubstr("'entropy.csv' is a table; use"));
}

TEST_F(LimeFigureTest, AFolderStandsForTheResultsInIt) {
  fs::create_directories(folder_ / "results");
  for (const char* const name : {"entropy.json", "cost.json"}) {
    fs::copy_file(folder_ / name, folder_ / "results" / name);
  }
  testing::write_text(folder_ / "results/other.json", "{}");
  ASSERT_EQ(run("all results -o figures --format csv --by task", "").status, 1);
  const ProgramRun result = run("all results -o figures --format csv --measure entropy");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_TRUE(fs::exists(folder_ / "figures/entropy.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "figures/cost.csv"));
  fs::create_directories(folder_ / "none");
  EXPECT_THAT(refusal("all none -o figures", 1),
              HasSubstr("folder 'none' contains neither results of lime-metrics (.json) nor a"));
}

TEST_F(LimeFigureTest, RefusesDifferentTextsInOneFigure) {
  for (const std::string label : {"LLaMA", "LIMe"}) {
    Results results = testing::sample_entropy().results;
    std::erase_if(results.rows,
                  [&](const ResultRow& row) { return row.cell(col::kLabel) != label; });
    results.inputs = {{label + ".h5", "1", label, "text of " + label}};
    write_results(folder_ / (label + ".json"), results);
  }
  EXPECT_THAT(refusal("LLaMA.json LIMe.json -o f.pdf", 1),
              HasSubstr("must be from the same text, 'LLaMA.h5' (LLaMA) and 'LIMe.h5' (LIMe)"));
  EXPECT_EQ(run("LLaMA.json LIMe.json --mixed-texts -o f.pdf").status, 0);
}

TEST_F(LimeFigureTest, RefusesUnknownLooksAsWrongUsage) {
  EXPECT_THAT(refusal("entropy.json --palette rainbow -o f.pdf", 2),
              ::testing::AllOf(HasSubstr("okabe-ito"), HasSubstr("grey")));
  EXPECT_THAT(refusal("entropy.json --map-palette jet -o f.pdf", 2), HasSubstr("viridis"));
  EXPECT_THAT(refusal("entropy.json --size huge -o f.pdf", 2),
              HasSubstr("acl-column, acl-page, icml-column"));
  EXPECT_THAT(refusal("entropy.json --layer-base 2 -o f.pdf", 2), HasSubstr("0 or 1"));
  EXPECT_THAT(refusal("entropy.json -o f.bmp", 1), HasSubstr(".pdf, .svg, .png, .csv or .tex"));
  EXPECT_THAT(refusal("entropy.json --font 'No Such Font' -o f.pdf", 1),
              HasSubstr("'No Such Font' is not installed"));
}

TEST_F(LimeFigureTest, SaysWhyAFileCannotBeWritten) {
  EXPECT_THAT(refusal("entropy.json -o no/such/folder/f.pdf", 1), HasSubstr("no/such/folder"));
  testing::write_text(folder_ / "file", "");
  EXPECT_THAT(refusal("all entropy.json -o file/figures", 1),
              HasSubstr("the folder cannot be created"));
}

TEST_F(LimeFigureTest, SaysSoWhereNoPermissionIsGiven) {
  fs::create_directories(folder_ / "closed");
  fs::permissions(folder_ / "closed", fs::perms(0555));
  fs::permissions(folder_.path(), fs::perms(0755));
  // Root may write anywhere, nobody may not.
  const std::string prefix =
      ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  if (run("--list", prefix).status != 0) GTEST_SKIP() << "nobody may not run lime-figure here";
  const ProgramRun result = run("entropy.json -o closed/f.pdf", prefix);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, ::testing::AllOf(HasSubstr("closed/"), HasSubstr("denied")));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  EXPECT_TRUE(fs::is_empty(folder_ / "closed"));
}

TEST_F(LimeFigureTest, SaysSoWhereNoSpaceIsLeft) {
  // A file size limit simulates a full disk.
  const std::ptrdiff_t before = count_files();
  const ProgramRun result = testing::run_command("cd '" + folder_.path().string() +
                                                 "' && trap '' XFSZ && ulimit -f 1 && " LIME_FIGURE
                                                 " entropy.json --dpi 600 -o big.png");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("big.png"));
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  EXPECT_EQ(count_files(), before);
}

}  // namespace
}  // namespace lime
