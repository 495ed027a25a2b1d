// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/options.h"

namespace lime {

/// Returns "--layer-base" for the field "layer_base".
std::string option_name(std::string_view field);

/// Converts OptionField::value for OptionField::assign: list items, nothing for null, else one.
std::vector<std::string> option_texts(const Json& value);

/// Describes a positional argument in the help.
struct PositionalHelp {
  OptionField field;
  bool required = false;
};

/// Contains everything that the help of one command shows.
struct CommandHelp {
  std::string name;         ///< as typed, e.g. "lime-metrics entropy"
  std::string description;  ///< its first line stands for it in the list of commands
  std::string examples;     ///< one command per line; may be empty
  std::vector<PositionalHelp> positionals;
  std::vector<OptionField> options;
  std::vector<std::pair<std::string, std::string>> commands;  ///< name and description
  bool runs_alone = true;    ///< does something without one of `commands`
  bool has_version = false;  ///< offers --version
};

/// Describes a program or command and its subcommands.
struct CommandTree {
  CommandHelp help;
  std::vector<CommandTree> commands;
};

/// Returns the option's name: `--max-per-class` for the field max_per_class.
std::string option_name(const OptionField& field);

/// Returns the field's help, followed by its default if it has one.
std::string described_with_default(const OptionField& field);

/// Returns the headings of the options in order; the first is empty.
std::vector<std::string> option_groups(const CommandHelp& help);

/// Returns usage, arguments, options by group, commands and examples in 100 columns.
std::string format_help(const CommandHelp& help);

/// Returns the manual page of a program and all its commands, in troff's man macros.
/// @param version  e.g. "lime 0.1.0".
std::string format_man_page(const CommandTree& program, std::string_view version);

}  // namespace lime
