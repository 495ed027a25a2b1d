// SPDX-License-Identifier: Apache-2.0
#include "core/program/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>

#include "core/program/command_help.h"
#include "core/program/completion.h"
#include "core/program/program.h"
#include "core/program/suggest.h"
#include "core/program/terminal.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// CLI11 gives a list one argument each time where its maximum reaches 1 / 16 of this, and as many
/// as follow below that. Its own switch for the latter (allow_extra_args) also takes `[CLS]` apart.
constexpr int kOneByOne = CLI::detail::expected_max_vector_size;
constexpr int kAllThatFollow = 1 << 20;

class UsageError : public Error {
 public:
  using Error::Error;
  explicit UsageError(const Error& error) : Error(error) {}
};

struct BoundField {
  CLI::Option* option = nullptr;
  OptionField field;
  bool is_positional = false;
};

/// Cuts at commas; `\,` stands for a comma. Spaces are kept: ` is` and `is` are different tokens.
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> items(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      items.back() += text[++i];
    } else if (text[i] == ',') {
      items.emplace_back();
    } else {
      items.back() += text[i];
    }
  }
  return items;
}

std::vector<std::string> values_of(const BoundField& bound) {
  const OptionField& field = bound.field;
  if (!field.is_list || !field.splits_commas || bound.is_positional) return bound.option->results();
  std::vector<std::string> values;
  for (const std::string& text : bound.option->results()) {
    std::error_code ignored;
    if (field.type == "PATH" && std::filesystem::exists(text, ignored)) {
      values.push_back(text);
      continue;
    }
    for (std::string& item : split_at_commas(text)) {
      throw_if<UsageError>(item.empty(), OptionName(field.name), "a value is empty in '{}'",
                           printable(text));
      values.push_back(std::move(item));
    }
  }
  return values;
}

void assign(const BoundField& bound) {
  if (bound.option->count() == 0) return;
  const OptionField& field = bound.field;
  const std::vector<std::string> values = values_of(bound);
  try {
    field.assign(values);
  } catch (const InvalidArgument& error) {
    if (error.option() == field.name) throw UsageError(error);
    throw UsageError(OptionName(field.name), "{}", error.what());
  }
}

std::string describe(const CLI::ParseError& error) {
  std::string text = error.what();
  const std::string name = text.substr(0, text.find(": "));
  if (error.get_name() == "ArgumentMismatch") {
    const bool missing = text.find("missing") != std::string::npos;
    return name + (missing ? ": a value is missing" : ": is given more than once");
  }
  if (error.get_name() == "RequiredError") {
    return text.substr(0, text.find(" is required")) + ": is missing";
  }
  return text;
}

/// Returns another name of the option, which is accepted but not in the help.
std::string other_spelling(const std::string& name) {
  if (name == "validation_fraction") return "validation-share";
  if (name == "rendezvous_timeout") return "meeting-timeout";
  if (name == "site" || name == "layer") return name + "s";
  if (name == "sites" || name == "layers") return name.substr(0, name.size() - 1);
  return "";
}

/// CLI11 reads `--name= next` as if the value were `next`.
void refuse_empty_values(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    if (text == "--") return;
    throw_if<UsageError>(text.starts_with("--") && text.find('=') == text.size() - 1,
                         "{}: a value is missing", text.substr(0, text.size() - 1));
  }
}

}  // namespace

struct CommandLine::Impl {
  std::unique_ptr<CLI::App> owned;  // only at the root
  CLI::App* app = nullptr;
  CommandHelp help;
  std::function<int()> action;
  std::string stray_remedy;
  std::vector<BoundField> fields;
  std::vector<std::function<void()>> checks;
  std::vector<std::unique_ptr<CommandLine>> commands;

  void prepare();
  Impl& chosen();
  std::string as_typed(const std::string& field) const;
  [[noreturn]] void refuse_unknown(const std::string& text) const;
  void refuse_leftovers() const;
  void take_values(const Impl& chosen_command) const;
  CommandTree tree() const;
  bool print_docs(std::span<const char* const> arguments) const;
};

void CommandLine::Impl::prepare() {
  for (BoundField& bound : fields) {
    if (!bound.field.is_list || bound.is_positional) continue;
    const bool several = bound.field.takes_several || help.positionals.empty();
    bound.option->expected(1, several ? kAllThatFollow : kOneByOne);
    bound.field.takes_several = several;
  }
  help.options.clear();
  for (const BoundField& bound : fields) {
    if (!bound.is_positional) help.options.push_back(bound.field);
  }
  help.runs_alone = static_cast<bool>(action);
  for (const auto& command : commands) command->impl_->prepare();
}

CommandLine::Impl& CommandLine::Impl::chosen() {
  for (const auto& command : commands) {
    if (command->impl_->app->parsed()) return command->impl_->chosen();
  }
  return *this;
}

/// Returns a field of this command or of the selected one as the user types it.
std::string CommandLine::Impl::as_typed(const std::string& field) const {
  for (const BoundField& bound : fields) {
    if (bound.field.name == field) return bound.is_positional ? field : option_name(field);
  }
  for (const auto& command : commands) {
    if (command->impl_->app->parsed()) return command->impl_->as_typed(field);
  }
  return field;
}

void CommandLine::Impl::refuse_unknown(const std::string& text) const {
  const bool is_option = text.starts_with('-') && text.size() > 1;
  std::vector<std::string> known;
  if (is_option) {
    for (const OptionField& field : help.options) known.push_back(option_name(field));
    known.emplace_back("--help");
  } else {
    for (const auto& [name, description] : help.commands) known.push_back(name);
  }
  const std::string typed = printable(is_option ? text.substr(0, text.find('=')) : text);
  const std::string closest = closest_word(typed, known);
  const std::string remedy = closest.empty() ? "" : fmt::format("; did you mean '{}'?", closest);
  if (is_option) throw UsageError("unknown option '{}'{}", typed, remedy);
  if (known.empty()) throw UsageError("unexpected argument '{}'", typed);
  if (!closest.empty()) throw UsageError("unknown command '{}'{}", typed, remedy);
  throw UsageError("unknown command '{}' (available: {}){}", typed, join_words(known),
                   stray_remedy.empty() ? "" : "; " + stray_remedy);
}

void CommandLine::Impl::refuse_leftovers() const {
  std::vector<std::string> left = app->remaining();
  std::erase(left, "--");
  // An unknown option explains the stray value behind it, not conversely.
  std::stable_partition(left.begin(), left.end(),
                        [](const std::string& text) { return text.starts_with('-'); });
  if (!left.empty()) refuse_unknown(left.front());
  for (const auto& command : commands) command->impl_->refuse_leftovers();
}

void CommandLine::Impl::take_values(const Impl& chosen_command) const {
  for (const BoundField& bound : fields) assign(bound);
  for (const auto& command : commands) {
    if (command->impl_->app->parsed()) command->impl_->take_values(chosen_command);
  }
  if (this != &chosen_command) return;
  try {
    for (const auto& check : checks) check();
  } catch (const InvalidArgument& error) {
    throw UsageError(error);
  }
  if (!action) {
    std::vector<std::string> names;
    for (const auto& command : help.commands) names.push_back(command.first);
    throw UsageError("a command is missing (available: {})", join_words(names));
  }
}

CommandTree CommandLine::Impl::tree() const {
  CommandTree tree{help, {}};
  for (const auto& command : commands) tree.commands.push_back(command->impl_->tree());
  return tree;
}

/// Prints the manual page or a completion script, if that is what is asked for.
bool CommandLine::Impl::print_docs(std::span<const char* const> arguments) const {
  if (arguments.size() == 1 && std::string_view(arguments[0]) == "--help-man") {
    fmt::print("{}", format_man_page(tree(), tool_version()));
    return true;
  }
  if (arguments.size() != 2 || std::string_view(arguments[0]) != "--completion") return false;
  try {
    fmt::print("{}", format_completion(tree(), arguments[1]));
  } catch (const InvalidArgument& error) {
    throw UsageError(error);
  }
  return true;
}

CommandLine::CommandLine(std::string name, std::string description)
    : impl_(std::make_unique<Impl>()) {
  impl_->help.name = name;
  impl_->help.description = std::move(description);
  impl_->help.has_version = true;
  impl_->owned = std::make_unique<CLI::App>("", std::move(name));
  impl_->app = impl_->owned.get();
  impl_->app->allow_extras();
  impl_->app->set_version_flag("--version", tool_version());
}

CommandLine::CommandLine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CommandLine::~CommandLine() = default;

CommandLine& CommandLine::add_command(std::string name, std::string description) {
  auto impl = std::make_unique<Impl>();
  impl_->help.commands.emplace_back(name, description);
  impl->help.name = impl_->help.name + " " + name;
  impl->help.description = std::move(description);
  impl->app = impl_->app->add_subcommand(std::move(name));
  impl->app->allow_extras();
  impl_->commands.push_back(std::unique_ptr<CommandLine>(new CommandLine(std::move(impl))));
  return *impl_->commands.back();
}

void CommandLine::add_field(OptionField field) {
  std::string names = option_name(field);
  if (const std::string other = other_spelling(field.name); !other.empty()) names += ",--" + other;
  if (field.short_name != '\0') names += fmt::format(",-{}", field.short_name);
  CLI::Option* const option =
      field.is_flag ? impl_->app->add_flag(names) : impl_->app->add_option(names);
  if (field.is_list) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  impl_->fields.push_back({option, std::move(field), false});
}

void CommandLine::add_positional_field(OptionField field, bool required) {
  CLI::Option* const option = impl_->app->add_option(field.name)->required(required);
  if (field.is_list) option->expected(1, kOneByOne)->allow_extra_args();
  impl_->help.positionals.push_back({field, required});
  impl_->fields.push_back({option, std::move(field), true});
}

void CommandLine::add_check(std::function<void()> check) {
  impl_->checks.push_back(std::move(check));
}

void CommandLine::set_examples(std::string examples) { impl_->help.examples = std::move(examples); }

void CommandLine::set_stray_remedy(std::string remedy) { impl_->stray_remedy = std::move(remedy); }

void CommandLine::on_run(std::function<int()> action) { impl_->action = std::move(action); }

int CommandLine::run(int argc, const char* const* argv) {
  impl_->prepare();
  const auto as_typed = [&](const std::string& field) { return impl_->as_typed(field); };
  try {
    if (argc > 1 && impl_->print_docs({argv + 1, argv + argc})) return kExitDone;
    refuse_empty_values(argc, argv);
    try {
      impl_->app->parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      fmt::print("{}", format_help(impl_->chosen().help));
      return kExitDone;
    } catch (const CLI::CallForVersion&) {
      fmt::print("{}\n", tool_version());
      return kExitDone;
    } catch (const CLI::ParseError& error) {
      impl_->refuse_leftovers();
      throw UsageError("{}", describe(error));
    }
    impl_->refuse_leftovers();
    impl_->take_values(impl_->chosen());
  } catch (const UsageError& error) {
    print_line(stderr, "{}: {}; see {} --help", impl_->help.name, error.spelled(as_typed),
               impl_->chosen().help.name);
    return kExitUsage;
  }
  try {
    return impl_->chosen().action();
  } catch (Error& error) {
    error.spell(as_typed);
    throw;
  }
}

}  // namespace lime
