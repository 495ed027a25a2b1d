// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/errors.h"
#include "core/program/command_help.h"
#include "core/program/completion.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

enum class RowChoice { kAll, kSome };

}  // namespace

template <> struct EnumNames<RowChoice> {
  static constexpr std::array<std::pair<RowChoice, std::string_view>, 2> kNames = {
      {{RowChoice::kAll, "all"}, {RowChoice::kSome, "some"}}};
};

namespace {

struct DocumentedOptions {
  double alpha = 0.5;
  RowChoice rows = RowChoice::kAll;
  bool force = false;
  std::filesystem::path output;
  void describe(OptionList& list) {
    list.add("alpha", alpha, "order: [0, 1], it's \\ a number");
    list.add("rows", rows, "which rows");
    list.group("Output");
    list.add("force_it", force, "replace what is there");
    list.add("output", output, "file to write");
  }
};

/// A program `tool` with the command `measure`.
class CommandDocsTest : public ::testing::Test {
 protected:
  CommandDocsTest() {
    program_.help.name = "tool";
    program_.help.description = "Does things.";
    program_.help.runs_alone = false;
    program_.help.has_version = true;
    program_.help.commands = {{"measure", "Measures.\n.not a request"}};
    CommandTree measure;
    measure.help.name = "tool measure";
    measure.help.description = "Measures.\n.not a request";
    measure.help.examples = "tool measure --alpha 1 'a file'";
    measure.help.options = option_fields(options_);
    program_.commands = {measure};
  }

  DocumentedOptions options_;
  CommandTree program_;
};

TEST_F(CommandDocsTest, TheManualPageTellsOfEveryCommandAndOption) {
  const std::string page = format_man_page(program_, "tool 1.0");
  EXPECT_THAT(page, HasSubstr(".TH TOOL 1 \"\" \"tool 1.0\""));
  EXPECT_THAT(page, HasSubstr("tool \\- Does things."));
  EXPECT_THAT(page, HasSubstr(".SS tool measure"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-alpha\\fR \\fINUMBER\\fR"));
  EXPECT_THAT(page, HasSubstr("order: [0, 1], it's \\e a number [0.5]"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIPATH\\fR"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-force\\-it\\fR\nreplace"));
  EXPECT_THAT(page, HasSubstr("\\&.not a request")) << "a line of text is no request";
  EXPECT_THAT(page, HasSubstr("EXIT STATUS"));
}

TEST_F(CommandDocsTest, BashCompletesCommandsOptionsAndChoices) {
  const std::string script = format_completion(program_, "bash");
  EXPECT_THAT(script, HasSubstr("complete -F _tool tool"));
  EXPECT_THAT(script, HasSubstr("'--alpha --rows --force-it --output -o --help'"));
  EXPECT_THAT(script, HasSubstr("measure:--rows) mapfile -t COMPREPLY < <(compgen -W 'all some'"));
  EXPECT_THAT(script, HasSubstr("measure:--output | measure:-o) _lime_files"));
  EXPECT_THAT(script, Not(HasSubstr("measure:--force-it"))) << "it takes no value";
}

TEST_F(CommandDocsTest, ZshAndFishGetTheHelpToo) {
  const std::string zsh = format_completion(program_, "zsh");
  EXPECT_THAT(zsh, HasSubstr("#compdef tool\n"));
  EXPECT_THAT(zsh, HasSubstr("'measure:Measures.'"));
  EXPECT_THAT(zsh, HasSubstr("--rows[which rows]:rows:(all some)"));
  EXPECT_THAT(zsh, HasSubstr("order\\: \\[0, 1\\], it'\\''s \\\\ a number"));
  const std::string fish = format_completion(program_, "fish");
  EXPECT_THAT(fish, HasSubstr("-n 'not __fish_seen_subcommand_from measure' -a measure"));
  EXPECT_THAT(fish, HasSubstr("-l output -s o -r -d 'file to write'"));
  EXPECT_THROW(format_completion(program_, "csh"), InvalidArgument);
}

}  // namespace
}  // namespace lime
