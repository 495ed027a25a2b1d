// SPDX-License-Identifier: Apache-2.0
#include "core/program/man_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace lime {
namespace {

/// Escapes text for troff.
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

std::string capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text;
}

std::string argument(const PositionalHelp& positional) {
  const std::string name =
      italic(capitals(positional.field.name)) + (positional.field.is_list ? "..." : "");
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
  if (field.is_list) term += field.takes_several ? "..." : ",...";
  return entry(term, described_with_default(field));
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
  text += ".TH " + capitals(plain(help.name)) + " 1 \"\" \"" + plain(version) +
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
