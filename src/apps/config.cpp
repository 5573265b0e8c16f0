#include <algorithm>

#include "apps/command.h"
#include "config/builtin_configs.h"
#include "core/error.h"
#include "core/files.h"
#include "core/suggest.h"

namespace tessera {
namespace {

// Where a key's value came from: its own place, and those of its older forms that lie beside or over it.
std::string set_by(const Node& root, const std::string& key, const std::vector<SchemaLine>& lines) {
  const auto is_set = [](const Node* node) { return node != nullptr && node->kind != Node::Kind::kNull; };
  const Node* own = find_path(root, key);
  std::string places = is_set(own) ? own->origin.text() : "";
  for (const SchemaLine& line : lines) {
    const Node* older = line.alias_of == key ? find_path(root, line.key) : nullptr;
    if (!is_set(older) || (is_set(own) && older->origin.layer < own->origin.layer)) continue;
    places += fmt::format("{}{} ({})", places.empty() ? "" : ", ", older->origin.text(), line.key);
  }
  return places.empty() ? "default" : places;
}

void explain(const ConfigArguments& arguments, const std::string& key) {
  const Node node = compose(arguments.file(), arguments.overrides());
  Experiment experiment = read_experiment(node);
  std::vector<std::string> keys;
  const std::vector<SchemaLine> lines = experiment_lines(experiment);
  for (const SchemaLine& line : lines) {
    keys.push_back(line.key);
    if (line.key != key) continue;
    const Node* set = find_path(node, key);
    const bool older = !line.alias_of.empty() && set != nullptr && set->kind != Node::Kind::kNull;
    fmt::print("{}{}{}\n  {}\n", key, line.is_group ? "" : ": ", older ? ConfigWriter().text_of(*set) : line.value, line.help);
    if (!line.is_group) fmt::print("  type    {}{}{}\n", line.type, line.range.empty() ? "" : ", ", line.range);
    fmt::print("  set by  {}\n", set_by(node, key, lines));
    return;
  }
  fail_usage("there is no config key '{}'{}; `tessera config show` lists all", key, did_you_mean(key, keys));
}

void list_trainings() {
  for (const EmbeddedFile* training : builtin_trainings()) fmt::print("{:<34} {}\n", training->name, summary_of(*training));
}

// The text of a config as it was written, comments and all: something to begin an own one with.
void print_source(const ConfigArguments& arguments) {
  if (!arguments.overrides().empty()) fail_usage("--source prints a config as it is written; leave the key=value words out");
  if (arguments.file().empty()) fail_usage("--source needs a config: a file or a built-in name of `tessera config list`");
  std::error_code error;
  const bool on_disk = fs::exists(arguments.file(), error);
  const EmbeddedFile* builtin = on_disk ? nullptr : find_builtin_config(arguments.file().string());
  fmt::print("{}", builtin != nullptr ? std::string(builtin->content) : read_text_or_pipe(arguments.file()));
}

// docs/config.md.
void print_reference() {
  Experiment defaults;
  fmt::print(
      "# Config reference\n\nMade by `tessera config reference` from the schema that parses configs; do not edit.\n\n"
      "Durations: `25ep` epochs, `1000ba` batches (optimizer steps), `0.5dur` a share of the run. Sizes: `512` or `[height, "
      "width]`.\n"
      "A file may name others to build on: `base: [a.yaml, b.yaml]`, later wins. `${{VAR}}` and `${{VAR:-default}}` are "
      "replaced by the environment, `~/` at the beginning of a value by the home folder.\n\n"
      "A run saves the values, so that it can be evaluated elsewhere and a variable that has changed is found out when it is "
      "resumed. Secrets are the exception, because reports and runs are passed on: a text is saved as it was written, with the "
      "variable's name, where the name has TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE or CREDENTIAL in it or a word that ends "
      "in KEY, where it is written `${{secret:VAR}}`, and where the variable is a credential of a URL (user, password, query) "
      "or holds such a URL. Who reads the run needs the variable again, or sets the key: `data.path=...`; `model.pretrained` "
      "is needed for the start alone. Logs show `${{VAR}}` in place of such values of six letters or more. Credentials that "
      "are written out in a URL are saved and shown as `***`. Numbers are saved as numbers.\n");
  bool in_table = false;
  for (const SchemaLine& line : experiment_lines(defaults)) {
    if (line.is_group) {
      fmt::print("\n{} {}\n\n{}.\n", line.depth == 0 ? "##" : "###", line.key, line.help);
      in_table = false;
      continue;
    }
    if (!in_table) fmt::print("\n| key | default | type | meaning |\n|---|---|---|---|\n");
    in_table = true;
    const auto cell = [](std::string text) {
      for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
      return text;
    };
    fmt::print("| `{}` | `{}` | {}{} | {} |\n", line.key, cell(line.value), cell(line.type),
               line.range.empty() ? "" : " " + line.range, cell(line.help));
  }
  const auto one = [](auto options) {
    fmt::print("\n### {}\n\n{}.\n\n| option | default | meaning |\n|---|---|---|\n", options.kName, options.kHelp);
    for (const SchemaLine& line : ConfigWriter::lines(options))
      fmt::print("| `{}` | `{}` | {} |\n", line.name, line.value, line.help);
  };
  const auto all = [&]<class... Options>(const std::variant<Options...>&) { (one(Options{}), ...); };
  fmt::print("\n## Loss terms\n\nEntries of `loss.terms`, written `- name: {{option: value}}`, or just `- name`.\n");
  all(LossTermConfig{});
  fmt::print(
      "\n## Transforms\n\nEntries of `data.train.transforms` and `data.val.transforms`, written `- name: {{option: value}}`, "
      "or just `- name`.\n");
  all(TransformConfig{});
}

}  // namespace

void add_config(CLI::App& app, int& exit_code) {
  exit_code = 0;
  CLI::App* command = app.add_subcommand("config", "show, explain and document configs");
  command->require_subcommand(1);
  command->footer(
      "A config is a YAML or JSON file, or one that the program carries (`tessera config list`), called by its name: "
      "pairs/unet, or by its last part where that is enough: unet. A file of that name goes first; builtin:NAME is always the "
      "built-in one.\n"
      "Values are laid over one another: defaults, then the files of `base:`, then the config itself, then key=value words. A "
      "`recipe:` (`tessera recipe list`) goes last among the bases of the config that names it; recipe=NAME over the config.\n"
      "`base: [a.yaml, b.yaml]` names configs to build on, a later one over an earlier one: files relative to the folder of "
      "the config that names them, or built-in ones: `base: pairs/unet`. Groups are merged key by key, lists are replaced.");

  command->add_subcommand("list", "the configs that the program carries, and what they are")->callback(list_trainings);

  auto shown = std::make_shared<ConfigArguments>();
  CLI::App* show = command->add_subcommand("show", "print the whole config as it would be used, checked");
  shown->add_to(*show);
  auto source = std::make_shared<bool>(false);
  show->add_flag("--source", *source, "print the config as it is written instead, with its comments");
  show->callback([=] {
    if (*source) return print_source(*shown);
    fmt::print("{}", experiment_yaml(shown->load()));
  });

  auto explained = std::make_shared<ConfigArguments>();
  auto key = std::make_shared<std::string>();
  CLI::App* explain_command =
      command->add_subcommand("explain", "say what a key means, its value, and where that value came from");
  explain_command->add_option("key", *key, "dotted key, e.g. optimizer.lr")->required();
  explained->add_to(*explain_command);
  explain_command->callback([=] { explain(*explained, *key); });

  command->add_subcommand("reference", "print docs/config.md")->callback(print_reference);
}

}  // namespace tessera
