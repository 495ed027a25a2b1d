// SPDX-License-Identifier: Apache-2.0
#include "core/program/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/layer_selection.h"
#include "core/program/program.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Colour { kRed, kGreen };

}  // namespace

template <> struct EnumNames<Colour> {
  static constexpr std::array<std::pair<Colour, std::string_view>, 2> kNames = {
      {{Colour::kRed, "red"}, {Colour::kGreen, "green"}}};
};

namespace {

struct Options {
  double alpha = 0.5;
  std::vector<std::string> site;
  std::vector<std::string> label;
  std::vector<std::filesystem::path> output;
  LayerSelection layer;
  std::optional<int> top_k;
  Colour colour = Colour::kRed;
  bool quiet = false;

  void describe(OptionList& list) {
    list.add("alpha", alpha, "order of the entropy, > 0");
    list.add("site", site, "sites");
    list.add("label", label, "names").takes_several = true;
    list.add("layer", layer, "layers");
    list.add("top_k", top_k, "leading eigenvalues");
    list.group("Output");
    list.add("output", output, "files");
    list.add("colour", colour, "colour of the table");
    list.add("quiet", quiet, "print nothing");
  }
  void validate() const {
    check_option(alpha > 0.0, "alpha", "> 0", alpha);
    check_option(top_k.value_or(1) >= 1, "top_k", ">= 1", top_k.value_or(1));
  }
};

/// A program `tool` with a command `measure` that has options and captures, and a command `info`.
class CommandLineTest : public ::testing::Test {
 protected:
  int run(std::vector<const char*> arguments) {
    CommandLine line("tool", "Measures things.");
    CommandLine& measure = line.add_command("measure", "Measures one thing.\nIn many words.");
    measure.add_options(options_);
    measure.add_positional("captures", captures_, "files");
    measure.set_examples("tool measure --layer all");
    measure.on_run([this] {
      ran_ = true;
      return 7;
    });
    line.add_command("info", "Says what a file holds.").on_run([] { return 8; });
    return run(line, std::move(arguments));
  }

  int run(CommandLine& line, std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "tool");
    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    const int status = line.run(static_cast<int>(arguments.size()), arguments.data());
    output_ = ::testing::internal::GetCapturedStdout();
    errors_ = ::testing::internal::GetCapturedStderr();
    return status;
  }

  /// Runs with invalid arguments and returns the one-line error.
  std::string refusal(std::vector<const char*> arguments) {
    EXPECT_EQ(run(std::move(arguments)), kExitUsage);
    EXPECT_FALSE(ran_);
    return errors_;
  }

  Options options_;
  std::vector<std::string> captures_ = {"capture.h5"};
  bool ran_ = false;
  std::string output_;
  std::string errors_;
};

TEST_F(CommandLineTest, RunsTheChosenCommandAndReturnsItsStatus) {
  EXPECT_EQ(run({"measure"}), 7);
  EXPECT_TRUE(ran_);
  EXPECT_THAT(captures_, ElementsAre("capture.h5"));
  EXPECT_EQ(run({"info"}), 8);
}

TEST_F(CommandLineTest, ListsTakeCommasAndRepetitionAndLeaveThePositionals) {
  EXPECT_EQ(run({"measure", "--site", "values,hidden", "a.h5", "--site", "keys", "b.h5"}), 7);
  EXPECT_THAT(options_.site, ElementsAre("values", "hidden", "keys"));
  EXPECT_THAT(captures_, ElementsAre("a.h5", "b.h5"));
}

TEST_F(CommandLineTest, ListItemsKeepTheirSpacesBracketsAndEscapedCommas) {
  EXPECT_EQ(run({"measure", "--site", " is, are,[CLS],a\\,b", "--site=[SEP]"}), 7);
  EXPECT_THAT(options_.site, ElementsAre(" is", " are", "[CLS]", "a,b", "[SEP]"));
}

TEST_F(CommandLineTest, AListMayTakeTheArgumentsThatFollow) {
  EXPECT_EQ(run({"measure", "a.h5", "b.h5", "--label", "LLaMA", "LIMe", "--quiet"}), 7);
  EXPECT_THAT(options_.label, ElementsAre("LLaMA", "LIMe"));
  EXPECT_THAT(captures_, ElementsAre("a.h5", "b.h5"));
  EXPECT_EQ(run({"measure", "--label", "one", "two", "--", "c.h5"}), 7);
  EXPECT_THAT(options_.label, ElementsAre("one", "two"));
  EXPECT_THAT(captures_, ElementsAre("c.h5"));
}

TEST_F(CommandLineTest, ListsTakeWhatFollowsWhereThereAreNoPositionals) {
  CommandLine line("tool", "");
  line.add_options(options_);
  line.on_run([] { return 0; });
  EXPECT_EQ(run(line, {"--site", "values", "hidden", "--quiet"}), 0);
  EXPECT_THAT(options_.site, ElementsAre("values", "hidden"));
}

TEST_F(CommandLineTest, APathThatExistsIsNotCutAtItsComma) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "a,b.json";
  testing::write_text(path, "");
  EXPECT_EQ(run({"measure", "--output", path.c_str(), "-o", "c.json,d.csv"}), 7);
  EXPECT_THAT(options_.output, ElementsAre(path, "c.json", "d.csv"));
}

TEST_F(CommandLineTest, ReadsNumbersEnumerationsLayersAndFlags) {
  EXPECT_EQ(run({"measure", "--alpha", "inf", "--colour=green", "--layer", "0,3-5", "--top-k", "12",
                 "--quiet"}),
            7);
  EXPECT_TRUE(std::isinf(options_.alpha));
  EXPECT_EQ(options_.colour, Colour::kGreen);
  EXPECT_EQ(options_.layer.to_string(), "0,3-5");
  EXPECT_EQ(options_.top_k, 12);
  EXPECT_TRUE(options_.quiet);
  EXPECT_EQ(run({"measure", "--quiet=false", "--alpha", "1e-3"}), 7);
  EXPECT_FALSE(options_.quiet);
  EXPECT_EQ(options_.alpha, 1e-3);
}

TEST_F(CommandLineTest, RefusesWhatItCannotRead) {
  EXPECT_EQ(refusal({"measure", "--alpha", "half"}),
            "tool: --alpha: expected a number, got 'half'; see tool measure --help\n");
  EXPECT_EQ(refusal({"measure", "--top-k", "2.5"}),
            "tool: --top-k: expected a whole number, got '2.5'; see tool measure --help\n");
  EXPECT_EQ(refusal({"measure", "--colour", "blue"}),
            "tool: --colour: expected one of red, green, got 'blue'; see tool measure --help\n");
  EXPECT_EQ(
      refusal({"measure", "--layer", "5-3"}),
      "tool: --layer: a range must be ascending, got '5-3'; write 3-5; see tool measure --help\n");
  EXPECT_EQ(refusal({"measure", "--site", "values,"}),
            "tool: --site: a value is empty in 'values,'; see tool measure --help\n");
}

TEST_F(CommandLineTest, RefusesWhatValidateRefuses) {
  EXPECT_EQ(refusal({"measure", "--alpha", "-1"}),
            "tool: --alpha: must be > 0, got -1; see tool measure --help\n");
  options_.alpha = 0.5;
  EXPECT_EQ(refusal({"measure", "--top-k", "0"}),
            "tool: --top-k: must be >= 1, got 0; see tool measure --help\n");
}

TEST_F(CommandLineTest, ErrorsOfTheActionNameOptionsAsTheyAreTyped) {
  const auto error_about = [&](const char* name) {
    CommandLine line("tool", "Measures things.");
    CommandLine& measure = line.add_command("measure", "Measures one thing.");
    measure.add_options(options_);
    measure.add_positional("captures", captures_, "files");
    measure.on_run([&]() -> int {
      throw prefixed("layer 3", NumericalError(OptionName(name), "must be less"));
    });
    try {
      line.run(2, std::array{"tool", "measure"}.data());
    } catch (const NumericalError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_about("top_k"), "layer 3: --top-k: must be less");
  EXPECT_EQ(error_about("captures"), "layer 3: captures: must be less");
  EXPECT_EQ(error_about("of_others"), "layer 3: of_others: must be less");
}

TEST_F(CommandLineTest, RefusesMissingAndRepeatedValues) {
  EXPECT_EQ(refusal({"measure", "--alpha"}),
            "tool: --alpha: a value is missing; see tool measure --help\n");
  EXPECT_THAT(refusal({"measure", "--alpha=", "a.h5"}), HasSubstr("--alpha: a value is missing"));
  EXPECT_EQ(refusal({"measure", "--alpha", "1", "--alpha", "2"}),
            "tool: --alpha: is given more than once; see tool measure --help\n");
}

TEST_F(CommandLineTest, SuggestsWhatWasMeant) {
  EXPECT_EQ(refusal({"mesure"}),
            "tool: unknown command 'mesure'; did you mean 'measure'?; see tool --help\n");
  EXPECT_EQ(refusal({"paint"}),
            "tool: unknown command 'paint' (available: measure, info); see tool --help\n");
  EXPECT_EQ(refusal({"measure", "--layr=all"}),
            "tool: unknown option '--layr'; did you mean '--layer'?; see tool measure --help\n");
  EXPECT_THAT(refusal({"measure", "--frobnicate", "1"}),
              HasSubstr("unknown option '--frobnicate'; see"));
  EXPECT_EQ(refusal({"info", "extra"}),
            "tool: unexpected argument 'extra'; see tool info --help\n");
  EXPECT_EQ(refusal({}),
            "tool: a command is missing (available: measure, info); see tool --help\n");
}

TEST_F(CommandLineTest, RequiredPositionalsMustBeGiven) {
  std::string path;
  CommandLine line("tool", "");
  line.add_positional("capture", path, "a file", true);
  line.on_run([] { return 0; });
  EXPECT_EQ(run(line, {}), kExitUsage);
  EXPECT_EQ(errors_, "tool: capture: is missing; see tool --help\n");
  EXPECT_EQ(run(line, {"x.h5"}), 0);
  EXPECT_EQ(path, "x.h5");
}

TEST_F(CommandLineTest, TakesTheSpellingOfOtherPrograms) {
  struct {
    std::vector<std::string> site;
    std::vector<std::string> layers;
    void describe(OptionList& list) {
      list.add("site", site, "sites");
      list.add("layers", layers, "layers");
    }
  } options;
  CommandLine line("tool", "Does things.");
  line.add_options(options);
  line.on_run([] { return 0; });
  EXPECT_EQ(run(line, {"--sites", "values,hidden", "--layer", "3"}), 0);
  EXPECT_EQ(options.site, (std::vector<std::string>{"values", "hidden"}));
  EXPECT_EQ(options.layers, (std::vector<std::string>{"3"}));
  EXPECT_EQ(run(line, {"--help"}), 0);
  EXPECT_THAT(output_, ::testing::Not(HasSubstr("--sites")));
  EXPECT_EQ(run(line, {"--sites"}), kExitUsage);
  EXPECT_EQ(errors_, "tool: --site: a value is missing; see tool --help\n");
}

TEST_F(CommandLineTest, SaysWhatToDoWithAStrayArgument) {
  CommandLine line("tool", "Does things.");
  line.add_command("info", "Says what there is.").on_run([] { return 0; });
  line.set_stray_remedy("pass text with --text");
  EXPECT_EQ(run(line, {"web.txt"}), kExitUsage);
  EXPECT_EQ(errors_,
            "tool: unknown command 'web.txt' (available: info); pass text with --text; see tool "
            "--help\n");
}

TEST_F(CommandLineTest, HelpShowsGroupsDefaultsAndExamples) {
  EXPECT_EQ(run({"measure", "--help"}), kExitDone);
  EXPECT_THAT(errors_, IsEmpty());
  EXPECT_FALSE(ran_);
  EXPECT_EQ(output_,
            "Measures one thing.\n"
            "In many words.\n"
            "\n"
            "Usage: tool measure [OPTIONS] [CAPTURES...]\n"
            "\n"
            "Arguments:\n"
            "  CAPTURES...                   files [capture.h5]\n"
            "\n"
            "Options:\n"
            "      --alpha NUMBER            order of the entropy, > 0 [0.5]\n"
            "      --site TEXT,...           sites\n"
            "      --label TEXT...           names\n"
            "      --layer LAYERS            layers [all]\n"
            "      --top-k INT               leading eigenvalues\n"
            "  -h, --help                    show this help\n"
            "\n"
            "Output:\n"
            "  -o, --output PATH,...         files\n"
            "      --colour red|green        colour of the table [red]\n"
            "      --quiet                   print nothing\n"
            "\n"
            "Examples:\n"
            "  tool measure --layer all\n");
}

TEST_F(CommandLineTest, HelpOfTheProgramListsItsCommands) {
  EXPECT_EQ(run({"--help"}), kExitDone);
  EXPECT_THAT(output_, HasSubstr("Usage: tool COMMAND [OPTIONS]\n"));
  EXPECT_THAT(output_, HasSubstr("  measure                       Measures one thing.\n"));
  EXPECT_THAT(output_, HasSubstr("      --version "));
  EXPECT_THAT(output_, HasSubstr("`tool --help-man` prints the manual page.\n`tool --completion "));
  EXPECT_EQ(run({"--version"}), kExitDone);
  EXPECT_THAT(output_, HasSubstr("lime "));
}

}  // namespace
}  // namespace lime
