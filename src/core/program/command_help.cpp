// SPDX-License-Identifier: Apache-2.0
#include "core/program/command_help.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace lime {
namespace {

std::string as_word(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 32;

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

/// Breaks `text` at spaces into lines of at most `width`; keeps the line breaks that it has.
std::vector<std::string> wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream paragraphs(text);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::string line;
    std::istringstream words(paragraph);
    for (std::string word; words >> word;) {
      if (!line.empty() && line.size() + 1 + word.size() > width) {
        lines.push_back(std::move(line));
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// `left` in the first column, `right` wrapped in the second.
std::string two_columns(const std::string& left, const std::string& right) {
  std::string text = left;
  bool first = true;
  for (const std::string& line : wrap(right, kWidth - kColumn)) {
    if (!first || left.size() + 2 > kColumn) {
      text += "\n" + std::string(kColumn, ' ');
    } else {
      text += std::string(kColumn - left.size(), ' ');
    }
    text += line;
    first = false;
  }
  return text + "\n";
}

std::string default_text(const OptionField& field) {
  const Json value = field.value();
  if (field.is_flag || value.is_null() || (value.is_array() && value.empty()) || value == "") {
    return "";
  }
  return fmt::format("{}", fmt::join(option_texts(value), ","));
}

/// Returns "..." after the value of a list.
const char* repetition(const OptionField& field) {
  if (!field.is_list) return "";
  return field.takes_several ? "..." : ",...";
}

std::string option_entry(const OptionField& field) {
  std::string left = field.short_name != '\0' ? fmt::format("  -{}, ", field.short_name) : "      ";
  left += option_name(field);
  if (!field.is_flag) left += " " + field.type;
  return two_columns(left + repetition(field), described_with_default(field));
}

std::string usage(const CommandHelp& help) {
  std::string text;
  if (help.runs_alone) {
    text = fmt::format("Usage: {} [OPTIONS]", help.name);
    for (const auto& [field, required] : help.positionals) {
      const std::string name = upper(field.name) + (field.is_list ? "..." : "");
      text += required ? " " + name : " [" + name + "]";
    }
    text += "\n";
  }
  if (!help.commands.empty()) {
    text += fmt::format("{} {} COMMAND [OPTIONS]\n", text.empty() ? "Usage:" : "      ", help.name);
  }
  return text;
}

std::string options_by_group(const CommandHelp& help) {
  std::string text;
  for (const std::string& group : option_groups(help)) {
    text += "\n" + (group.empty() ? "Options" : group) + ":\n";
    for (const OptionField& field : help.options) {
      if (field.group == group) text += option_entry(field);
    }
    if (!group.empty()) continue;
    text += two_columns("  -h, --help", "show this help");
    if (help.has_version) text += two_columns("      --version", "show the version");
  }
  return text;
}

std::string examples(const std::string& commands) {
  std::string text = "\nExamples:\n";
  std::istringstream lines(commands);
  for (std::string line; std::getline(lines, line);) {
    text += line.empty()
                ? "\n"
                : "  " + line.substr(std::min(line.find_first_not_of(' '), line.size())) + "\n";
  }
  return text;
}

}  // namespace

std::string option_name(std::string_view field) {
  std::string name = "--" + std::string(field);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::vector<std::string> option_texts(const Json& value) {
  if (value.is_null()) return {};
  if (!value.is_array()) return {as_word(value)};
  std::vector<std::string> texts;
  texts.reserve(value.size());
  for (const Json& item : value) texts.push_back(as_word(item));
  return texts;
}

std::string option_name(const OptionField& field) { return option_name(field.name); }

std::string described_with_default(const OptionField& field) {
  const std::string standard = default_text(field);
  return standard.empty() ? field.help : fmt::format("{} [{}]", field.help, standard);
}

std::vector<std::string> option_groups(const CommandHelp& help) {
  std::vector<std::string> groups = {""};
  for (const OptionField& field : help.options) {
    if (std::ranges::find(groups, field.group) == groups.end()) groups.push_back(field.group);
  }
  return groups;
}

std::string format_help(const CommandHelp& help) {
  std::string text;
  for (const std::string& line : wrap(help.description, kWidth)) text += line + "\n";
  text += "\n" + usage(help);
  if (!help.positionals.empty()) {
    text += "\nArguments:\n";
    for (const auto& [field, required] : help.positionals) {
      text += two_columns("  " + upper(field.name) + (field.is_list ? "..." : ""),
                          described_with_default(field));
    }
  }
  if (!help.commands.empty()) {
    text += "\nCommands:\n";
    for (const auto& [name, what] : help.commands) {
      text += two_columns("  " + name, what.substr(0, what.find('\n')));
    }
  }
  text += options_by_group(help);
  if (!help.examples.empty()) text += examples(help.examples);
  if (!help.commands.empty()) {
    text += fmt::format("\n`{} COMMAND --help` shows the options of a command.\n", help.name);
  }
  if (help.has_version) {
    text += fmt::format(
        "\n`{0} --help-man` prints the manual page.\n`{0} --completion bash|zsh|fish` prints the "
        "shell completion script.\n",
        help.name);
  }
  return text;
}

namespace {

std::string plain(std::string_view text) {
  std::string escaped;
  bool is_line_start = true;
  for (const char letter : text) {
    // A request or a quoted argument would begin here.
    if (is_line_start && (letter == '.' || letter == '\'')) escaped += "\\&";
    if (letter == '\\') {
      escaped += "\\e";
    } else if (letter == '-') {
      escaped += "\\-";
    } else if (letter == '|') {
      escaped += "|\\:";  // a long list of choices may break here
    } else {
      escaped += letter;
    }
    is_line_start = letter == '\n';
  }
  return escaped;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

std::string argument(const PositionalHelp& positional) {
  const std::string name =
      italic(upper(positional.field.name)) + (positional.field.is_list ? "..." : "");
  return positional.required ? name : "[" + name + "]";
}

std::string synopsis(const CommandHelp& help) {
  std::string text;
  if (help.runs_alone) {
    text += bold(help.name) + " [" + italic("OPTIONS") + "]";
    for (const PositionalHelp& positional : help.positionals) text += " " + argument(positional);
    text += "\n";
  }
  if (!help.commands.empty()) {
    if (!text.empty()) text += ".br\n";
    text += bold(help.name) + " " + italic("COMMAND") + " [" + italic("OPTIONS") + "]\n";
  }
  return text;
}

std::string paragraphs(const std::string& text) {
  std::string written;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    written += line.empty() ? ".PP\n" : plain(line) + "\n";
  }
  return written;
}

std::string entry(const std::string& term, const std::string& text) {
  return ".TP\n" + term + "\n" + plain(text) + "\n";
}

std::string option(const OptionField& field) {
  std::string term =
      field.short_name != '\0' ? bold(std::string{'-', field.short_name}) + ", " : "";
  term += bold(option_name(field));
  if (!field.is_flag) term += " " + italic(field.type);
  return entry(term + repetition(field), described_with_default(field));
}

std::string options(const CommandHelp& help) {
  std::string text;
  for (const std::string& title : option_groups(help)) {
    if (!title.empty()) text += ".PP\n" + bold(title) + "\n";
    for (const OptionField& field : help.options) {
      if (field.group == title) text += option(field);
    }
  }
  text += entry(bold("-h") + ", " + bold("--help"), "show this help");
  if (help.has_version) text += entry(bold("--version"), "show the version");
  return text;
}

std::string arguments(const CommandHelp& help) {
  std::string text;
  for (const PositionalHelp& positional : help.positionals) {
    text += entry(argument(positional), described_with_default(positional.field));
  }
  return text;
}

std::string examples(const CommandHelp& help) {
  std::string text;
  std::istringstream lines(help.examples);
  for (std::string line; std::getline(lines, line);) text += plain(line) + "\n";
  return text.empty() ? text : ".PP\n.nf\n" + text + ".fi\n";
}

/// Appends everything about a command except its name.
void describe(const CommandTree& tree, std::string& text) {
  for (const CommandTree& command : tree.commands) {
    const CommandHelp& help = command.help;
    text += ".SS " + plain(help.name) + "\n" + synopsis(help) + ".PP\n" +
            paragraphs(help.description) + arguments(help) + options(help) + examples(help);
    describe(command, text);
  }
}

}  // namespace

std::string format_man_page(const CommandTree& program, std::string_view version) {
  const CommandHelp& help = program.help;
  const std::string first = help.description.substr(0, help.description.find('\n'));
  std::string text = ".\\\" Generated from the options of the program.\n";
  text += ".TH " + upper(plain(help.name)) + " 1 \"\" \"" + plain(version) +
          "\" \"User Commands\"\n.nh\n.ad l\n";
  text += ".SH NAME\n" + plain(help.name) + " \\- " + plain(first) + "\n";
  text += ".SH SYNOPSIS\n" + synopsis(help);
  text += ".SH DESCRIPTION\n" + paragraphs(help.description) + arguments(help);
  text += ".SH OPTIONS\n" + options(help);
  if (!program.commands.empty()) {
    text += ".SH COMMANDS\n";
    describe(program, text);
  }
  if (!help.examples.empty()) text += ".SH EXAMPLES\n" + examples(help);
  text += ".SH EXIT STATUS\n" + entry(bold("0"), "success") +
          entry(bold("1"), "failure; one line on standard error gives the reason") +
          entry(bold("2"), "wrong usage") +
          entry(bold("130"), "interrupted; finished output is kept");
  return text;
}

}  // namespace lime
