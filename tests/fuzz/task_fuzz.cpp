// SPDX-License-Identifier: Apache-2.0
// A task of lime-eval, then after a NUL its rows, and after another the same rows as YAML. The name
// of a task of lm-evaluation-harness in place of a YAML file reads the rows as that task's.
#include <string>

#include "core/errors.h"
#include "evaluation/task_items.h"
#include "evaluation/yaml_file.h"
#include "fuzz/fuzz_target.h"

using namespace lime;

namespace {

void use_task(const EvalTask& task) {
  for (const EvalSample& item : task.items) {
    const bool is_text = task.answer == Answer::kText;
    fuzz::require(item.gold >= 0 && item.contexts.size() == item.continuations.size() + is_text,
                  "an item has a context for each choice");
    fuzz::require(is_text || item.gold < std::ssize(item.continuations), "gold is a choice");
    fuzz::require(is_text || task.answer == Answer::kContinuation || item.continuations.size() > 1,
                  "an item has several choices");
    dump_json(item.document);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [task, rest] = fuzz::split_at_nul(fuzz::text_of(data, size));
  const auto [rows, yaml] = fuzz::split_at_nul(rest);
  const bool is_name = task.size() < 40 && task.find_first_of("\n:/") == task.npos;
  const std::string name =
      is_name ? std::string(task) : fuzz::scratch_file("task.yaml", task).string();
  if (name.find('/') == name.npos && (is_yaml(name) || name.ends_with(".json"))) return 0;
  const auto lines = fuzz::scratch_file("rows.jsonl", rows);
  const auto list = fuzz::scratch_file("rows.yaml", yaml.empty() ? rows : yaml);
  ItemOptions with_examples;
  with_examples.shots = 1;
  for (const auto& file : {lines, list}) {
    fuzz::reads_or_refuses([&] { use_task(read_task(name, file, file, with_examples)); });
    fuzz::reads_or_refuses([&] { use_task(read_task(name, file, {}, {})); });
  }
  fuzz::reads_or_refuses([&] {
    const Json json = read_yaml_file(list);
    const auto again = fuzz::scratch_file("again.yaml", dump_json(json));
    dump_json(read_yaml_file(again));
  });
  return 0;
}
