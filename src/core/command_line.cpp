// SPDX-License-Identifier: Apache-2.0
#include "core/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "core/program.h"

namespace lime {
namespace {

std::string option_name(const std::string& field_name) {
  std::string name = "--" + field_name;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string default_text(const OptionField& field) {
  const Json value = field.value();
  if (value.is_null() || (value.is_array() && value.empty()) || value == "") return "";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) {
    text += (text.empty() ? "" : ",") + (item.is_string() ? item.get<std::string>() : item.dump());
  }
  return text;
}

/// Reports a value that the field refuses as a usage error of CLI11.
void assign_or_refuse(const OptionField& field, const std::vector<std::string>& values) {
  try {
    field.assign(values);
  } catch (const Error& error) {
    throw CLI::ValidationError(option_name(field.name), error.what());
  }
}

}  // namespace

struct CommandLine::Impl {
  std::unique_ptr<CLI::App> owned;  // only at the root
  CLI::App* app = nullptr;
  std::function<int()> action;
  std::vector<std::unique_ptr<CommandLine>> commands;
  std::vector<std::function<void()>> assignments;
};

CommandLine::CommandLine(std::string name, std::string description)
    : impl_(std::make_unique<Impl>()) {
  impl_->owned = std::make_unique<CLI::App>(std::move(description), std::move(name));
  impl_->app = impl_->owned.get();
  impl_->app->set_version_flag("--version", tool_version());
  impl_->app->get_formatter()->column_width(34);
}

CommandLine::CommandLine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CommandLine::~CommandLine() = default;
CommandLine::CommandLine(CommandLine&&) noexcept = default;
CommandLine& CommandLine::operator=(CommandLine&&) noexcept = default;

CommandLine& CommandLine::add_command(std::string name, std::string description) {
  auto impl = std::make_unique<Impl>();
  impl->app = impl_->app->add_subcommand(std::move(name), std::move(description));
  impl_->commands.push_back(std::unique_ptr<CommandLine>(new CommandLine(std::move(impl))));
  return *impl_->commands.back();
}

void CommandLine::add_field(OptionField field) {
  const std::string name = option_name(field.name);
  const std::string help = field.help;
  CLI::Option* option = nullptr;
  if (field.is_flag) {
    option = impl_->app->add_flag(name, help);
  } else {
    option = impl_->app->add_option(name, help)->type_name(field.type);
    option->default_str(default_text(field));
  }
  if (field.is_list) {
    option->expected(1, CLI::detail::expected_max_vector_size);
  }
  if (!field.is_flag) option->run_callback_for_default(false);
  impl_->assignments.emplace_back([option, field = std::move(field)] {
    if (option->count() == 0) return;
    assign_or_refuse(field, option->results());
  });
}

void CommandLine::add_positional_field(OptionField field, bool required) {
  CLI::Option* const option = impl_->app->add_option(field.name, field.help);
  option->type_name(field.type)->required(required);
  if (field.is_list) option->expected(required ? 1 : 0, CLI::detail::expected_max_vector_size);
  impl_->assignments.emplace_back([option, field = std::move(field)] {
    if (option->count() > 0) assign_or_refuse(field, option->results());
  });
}

void CommandLine::set_examples(std::string examples) {
  impl_->app->footer("Examples:\n" + std::move(examples));
}

void CommandLine::on_run(std::function<int()> action) { impl_->action = std::move(action); }

int CommandLine::run(int argc, const char* const* argv) {
  const auto chosen = [&](const CommandLine& command) -> const CommandLine* {
    for (const auto& child : command.impl_->commands) {
      if (child->impl_->app->parsed()) return child.get();
    }
    return &command;
  };
  const CommandLine* command = this;
  try {
    impl_->app->parse(argc, argv);
    for (const auto& assign : impl_->assignments) assign();
    command = chosen(*this);
    if (command != this) {
      for (const auto& assign : command->impl_->assignments) assign();
    }
    if (!command->impl_->action) {
      throw CLI::RequiredError("a command");
    }
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return impl_->app->exit(error);
    fmt::print(stderr, "{}: {}; see {} --help\n", impl_->app->get_name(), error.what(),
               impl_->app->get_name());
    return kExitUsage;
  }
  return command->impl_->action();
}

}  // namespace lime
