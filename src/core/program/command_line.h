// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/options.h"

namespace lime {

/// Parses the command line of one program, built from options structs.
///
///   CommandLine line("lime-metrics", "Turns captures into numbers.");
///   CommandLine& entropy = line.add_command("entropy", "Entropy per layer.");
///   entropy.add_options(options);
///   entropy.add_positional("captures", paths, "capture files");
///   entropy.set_examples("lime-metrics entropy --layer all");
///   entropy.on_run([&] { ... });
///   return run_program(line, argc, argv);
///
/// Options must outlive run(). Syntax of values:
/// - a list takes comma-separated values, kept with their spaces (`\,` is a comma), and may be
///   repeated. If the command has no positional arguments, or the field `takes_several`, it also
///   accepts the arguments that follow, as the shell's `*` expands to. A path that names an
///   existing file is never cut;
/// - `--name=value` and `--name value` are the same; `--` ends the options;
/// - an option `site` is also accepted as `--sites`, `layers` as `--layer`, and so on.
///
/// `PROGRAM --help-man` prints the manual page, `PROGRAM --completion bash` (zsh, fish) the script
/// that completes its command line: what an installation needs, at the end of the help.
class CommandLine {
 public:
  CommandLine(std::string name, std::string description);
  ~CommandLine();

  /// Adds a subcommand, such as `info`; the first line of its description is in the list of them.
  CommandLine& add_command(std::string name, std::string description);

  /// Adds every field as `--name-with-dashes`. If the struct has a `validate()` without arguments,
  /// an InvalidArgument that it throws counts as wrong usage.
  template <DescribedOptions T> void add_options(T& options) {
    for (OptionField& field : option_fields(options)) add_field(std::move(field));
    if constexpr (requires { std::as_const(options).validate(); }) {
      add_check([&options] { std::as_const(options).validate(); });
    }
  }
  void add_field(OptionField field);

  template <typename T>
  void add_positional(std::string name, T& target, std::string help, bool required = false) {
    OptionList list;
    list.add(std::move(name), target, std::move(help));
    add_positional_field(list.fields().front(), required);
  }

  void add_positional_field(OptionField field, bool required = false);

  /// Adds a check that runs after the values are assigned; InvalidArgument counts as wrong usage.
  void add_check(std::function<void()> check);

  /// Sets the examples at the end of `--help`, one command per line.
  void set_examples(std::string examples);
  /// Sets the remedy for an argument that is not a command, e.g. "pass text with --text".
  void set_stray_remedy(std::string remedy);
  /// Sets the action that run() calls if this command was selected; it returns the exit status.
  void on_run(std::function<int()> action);

  /// Parses, then calls the action of the selected command. Errors about an option name it as the
  /// user types it: `--batch-size`.
  /// Exit status 2 with one line on stderr for wrong usage, 0 after --help or --version.
  int run(int argc, const char* const* argv);

 private:
  struct Impl;
  explicit CommandLine(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace lime
