// SPDX-License-Identifier: Apache-2.0
#include "core/program/completion.h"

#include <algorithm>

#include "core/utf8.h"

namespace lime {
namespace {

/// A command as it is typed after the program's name, empty for the program itself.
struct Completed {
  std::string name;
  const CommandHelp* help = nullptr;
};

void collect(const CommandTree& tree, const std::string& name, std::vector<Completed>& all) {
  all.push_back({name, &tree.help});
  for (const CommandTree& command : tree.commands) {
    collect(command, command.help.name.substr(command.help.name.rfind(' ') + 1), all);
  }
}

std::vector<Completed> commands_of(const CommandTree& program) {
  std::vector<Completed> all;
  collect(program, "", all);
  return all;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  return fmt::format("{}", fmt::join(words, between));
}

/// Returns the choices of an option, joined; empty if it accepts anything.
std::string words_of(const OptionField& field) {
  if (!field.choices.empty()) return joined(field.choices, " ");
  if (field.type.find('|') == std::string::npos) return "";
  std::string words = field.type;
  std::replace(words.begin(), words.end(), '|', ' ');
  return words;
}

std::vector<std::string> command_names(const CommandTree& program) {
  std::vector<std::string> names;
  for (const Completed& command : commands_of(program)) {
    if (!command.name.empty()) names.push_back(command.name);
  }
  return names;
}

std::vector<std::string> option_names(const CommandHelp& help) {
  std::vector<std::string> names;
  for (const OptionField& field : help.options) {
    names.push_back(option_name(field));
    if (field.short_name != '\0') names.push_back({'-', field.short_name});
  }
  names.emplace_back("--help");
  if (help.has_version) names.emplace_back("--version");
  return names;
}

std::string function_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return "_" + name;
}

/// Patterns `command:--option` of the options that take a value, and what completes it.
std::string bash_values(const Completed& command) {
  std::string text;
  for (const OptionField& field : command.help->options) {
    if (field.is_flag) continue;
    std::string pattern = fmt::format("{}:{}", command.name, option_name(field));
    if (field.short_name != '\0') {
      pattern += fmt::format(" | {}:-{}", command.name, field.short_name);
    }
    std::string reply = "COMPREPLY=()";
    if (const std::string words = words_of(field); !words.empty()) {
      reply =
          fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$cur\")", single_quoted(words));
    } else if (field.type == "PATH") {
      reply = "_lime_files";
    }
    text += fmt::format("    {}) {}; return ;;\n", pattern, reply);
  }
  return text;
}

std::string bash(const CommandTree& program) {
  const std::string& name = program.help.name;
  const std::vector<Completed> commands = commands_of(program);
  std::string values;
  std::string options;
  for (const Completed& command : commands) {
    values += bash_values(command);
    options += fmt::format("      {}) words={} ;;\n", single_quoted(command.name),
                           single_quoted(joined(option_names(*command.help), " ")));
  }
  const std::string names = joined(command_names(program), "|");
  std::string text = fmt::format("# bash completion of {}, made from its options\n", name);
  text += R"(_lime_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
)";
  text += fmt::format("{}() {{\n", function_name(name));
  text += R"(  local cur=${COMP_WORDS[COMP_CWORD]} before='' command='' word words=''
  [ "$COMP_CWORD" -gt 0 ] && before=${COMP_WORDS[COMP_CWORD-1]}
  # `--name=value` comes as three words.
  if [ "$cur" = '=' ]; then
    cur=''
  elif [ "$before" = '=' ] && [ "$COMP_CWORD" -gt 1 ]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  COMPREPLY=()
)";
  if (!names.empty()) {
    text += fmt::format(
        "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n    case $word in\n"
        "      {}) command=$word; break ;;\n    esac\n  done\n",
        names);
  }
  text += "  case $command:$before in\n" + values + "  esac\n";
  text += "  if [ \"${cur:0:1}\" = '-' ]; then\n    case $command in\n" + options + "    esac\n";
  text += R"(    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    return
  fi
)";
  if (!names.empty()) {
    text += fmt::format(
        "  if [ -z \"$command\" ]; then\n    mapfile -t COMPREPLY < <(compgen -W {} -- \"$cur\")\n"
        "    [ ${{#COMPREPLY[@]}} -gt 0 ] && return\n  fi\n",
        single_quoted(joined(command_names(program), " ")));
  }
  return text + fmt::format("  _lime_files\n}}\ncomplete -F {} {}\n", function_name(name), name);
}

/// Text between the brackets of zsh's _arguments.
std::string zsh_text(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') safe += '\\';
    safe += letter;
  }
  return safe;
}

std::string zsh_options(const CommandHelp& help) {
  std::string text;
  for (const OptionField& field : help.options) {
    const std::string repeat = field.is_list ? "*" : "";
    std::string value;
    if (!field.is_flag) {
      std::string what = " ";
      if (const std::string words = words_of(field); !words.empty()) {
        what = fmt::format("({})", words);
      } else if (field.type == "PATH") {
        what = "_files";
      }
      value = fmt::format(":{}:{}", zsh_text(field.name), what);
    }
    const auto line = [&](const std::string& spelled) {
      return fmt::format(" \\\n    {}", single_quoted(fmt::format("{}{}[{}]{}", repeat, spelled,
                                                                  zsh_text(field.help), value)));
    };
    text += line(option_name(field));
    if (field.short_name != '\0') text += line({'-', field.short_name});
  }
  text += " \\\n    '--help[show this help]'";
  if (help.has_version) text += " \\\n    '--version[show the version]'";
  return text;
}

std::string zsh(const CommandTree& program) {
  const std::string& name = program.help.name;
  std::string text = fmt::format("#compdef {}\n# Made from the options of the program.\n", name);
  text += "local curcontext=\"$curcontext\" state line\n";
  const std::vector<Completed> commands = commands_of(program);
  if (commands.size() == 1)
    return text + "_arguments" + zsh_options(program.help) + " \\\n    '*:file:_files'\n";
  text += "if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n  local -a commands=(\n";
  for (const Completed& command : commands) {
    if (command.name.empty()) continue;
    const std::string& what = command.help->description;
    text += "    " + single_quoted(command.name + ":" + zsh_text(what.substr(0, what.find('\n')))) +
            "\n";
  }
  text += "  )\n  _describe command commands\n  return\nfi\n";
  text += "local command=$words[2]\ncase $command in\n";
  for (const Completed& command : commands) {
    if (command.name.empty()) continue;
    text += fmt::format("{})\n  shift words; (( CURRENT-- ))\n  _arguments{}", command.name,
                        zsh_options(*command.help));
    text += " \\\n    '*:file:_files' ;;\n";
  }
  return text + "*)\n  _arguments" + zsh_options(program.help) + " ;;\nesac\n";
}

std::string fish(const CommandTree& program) {
  const std::string& name = program.help.name;
  const std::string names = joined(command_names(program), " ");
  std::string text = fmt::format("# Completion of {}, made from its options\n", name);
  for (const Completed& command : commands_of(program)) {
    std::string when;
    if (!command.name.empty()) {
      const std::string& what = command.help->description;
      text +=
          fmt::format("complete -c {} -n 'not __fish_seen_subcommand_from {}' -a {} -d {}\n", name,
                      names, command.name, single_quoted(what.substr(0, what.find('\n'))));
      when = fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
    } else if (!names.empty()) {
      when = fmt::format(" -n 'not __fish_seen_subcommand_from {}'", names);
    }
    for (const OptionField& field : command.help->options) {
      text += fmt::format("complete -c {}{} -l {}", name, when, option_name(field).substr(2));
      if (field.short_name != '\0') text += fmt::format(" -s {}", field.short_name);
      if (!field.is_flag) text += field.type == "PATH" ? " -r" : " -x";
      if (const std::string words = words_of(field); !words.empty()) {
        text += fmt::format(" -a {}", single_quoted(words));
      }
      text += " -d " + single_quoted(field.help) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string format_completion(const CommandTree& program, std::string_view shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell == "fish") return fish(program);
  throw InvalidArgument("completion: expected one of bash, zsh, fish, got '{}'", shell);
}

}  // namespace lime
