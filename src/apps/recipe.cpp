#include "config/recipe.h"

#include <fmt/ranges.h>

#include <map>

#include "apps/auto_config.h"
#include "apps/command.h"
#include "apps/output_file.h"
#include "apps/train_command.h"
#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"

namespace tessera {
namespace {

void list_recipes() {
  for (const EmbeddedFile* recipe : builtin_recipes()) fmt::print("{:<8} {}\n", recipe_name(*recipe), summary_of(*recipe));
  fmt::print(
      "{:<8} Made for your images and this device: `tessera recipe auto data.path=FOLDER` writes it, with a reason for each "
      "value.\n",
      "auto");
}

std::map<std::string, std::string> values_by_key(const Node& config) {
  Experiment experiment = read_experiment(config, MissingSecrets::kKeep);  // the data need not be there
  std::map<std::string, std::string> values;
  for (const SchemaLine& line : experiment_lines(experiment)) {
    if (!line.is_group) values[line.key] = line.value;
  }
  return values;
}

std::string place_and_reason(const Origin& origin) {
  const std::string reason = comment_at(origin);
  return reason.empty() ? origin.text() : reason;
}

struct AutoArguments {
  ConfigArguments config;
  std::string output;
  bool overwrite = false;
  double minutes = 60;
};

// A config is edited by hand once it is there, and it may be the very one that is read: nobody wants it replaced unasked.
void write_auto_config(const AutoArguments& arguments) {
  const std::string& file = arguments.output;
  if (!file.empty()) check_output_file(file);
  std::error_code error;
  if (!file.empty() && !arguments.overwrite && !is_stream(file) && std::filesystem::exists(file, error))
    fail_usage("{} is there already; name another file, or add --overwrite to replace it", printable(file));
  const std::string text = make_auto_config(arguments.config, arguments.minutes).text;
  if (file.empty()) {
    fmt::print("{}", text);
  } else {
    write_file(file, text);
    fmt::print("{}: train with `tessera train {}`\n", printable(file), shell_word(printable(file)));
  }
}

// What the recipe changes in the experiment, key by key in the order of the schema.
void show_recipe(const ConfigArguments& arguments) {
  if (arguments.words.empty())
    fail_usage("which recipe? `tessera recipe list` lists them; expected `tessera recipe show NAME [CONFIG] [key=value ...]`");
  const std::string name = arguments.words.front();
  if (name == "auto")
    fail_usage("recipe auto is made for one's data: `tessera recipe auto data.path=FOLDER` prints it with its reasons");
  ConfigArguments rest = arguments;
  rest.words.erase(rest.words.begin());
  std::vector<std::string> without = rest.overrides(), with = without;
  without.emplace_back("recipe=none");
  with.push_back("recipe=" + name);
  const Node plain = compose(rest.file(), without), laid = compose(rest.file(), with);
  const Node recipe = recipe_values(name, plain);
  const auto before = values_by_key(plain), after = values_by_key(laid);

  Experiment defaults;
  std::vector<std::string> same;
  fmt::print("{} over {}:\n\n", name, rest.file().empty() ? "the defaults" : rest.file().string());
  for (const SchemaLine& line : experiment_lines(defaults)) {
    const Node *said = find_path(recipe, line.key), *own = find_path(laid, line.key);
    if (line.is_group || (said == nullptr && before.at(line.key) == after.at(line.key))) continue;
    if (before.at(line.key) != after.at(line.key)) {
      fmt::print("{}: {} -> {}\n", line.key, before.at(line.key), after.at(line.key));
      // Values may follow from others that the recipe sets.
      fmt::print("    {}\n", said != nullptr ? place_and_reason(said->origin) : "follows from the values beside it");
    } else if (own != nullptr && own->origin.text() != said->origin.text()) {
      fmt::print("{}: {} stays: {} sets it, over the recipe's {}\n", line.key, after.at(line.key), own->origin.text(),
                 ConfigWriter().text_of(*said));
    } else {
      same.push_back(line.key);
    }
  }
  if (!same.empty()) fmt::print("\nas they were: {}\n", fmt::join(same, ", "));
}

}  // namespace

void add_recipe(CLI::App& app, int& exit_code) {
  exit_code = 0;
  CLI::App* command = app.add_subcommand("recipe", "what recipes there are, and what they change");
  command->require_subcommand(1);
  command->footer(
      "A recipe says how long and how to train: length, the shape of the rate, averaged weights, sharpness-aware steps, "
      "mixing, loss. It says nothing of data, model, batch and learning rate, so it goes over any config: `tessera train "
      "CONFIG recipe=medium`, or `recipe: medium` in the config. docs/recipes.md.");
  command->add_subcommand("list", "the recipes that the program carries")->callback(list_recipes);
  auto made = std::make_shared<AutoArguments>();
  CLI::App* automatic = command->add_subcommand(
      "auto", "look at a folder of images and at this device, and write a config for them, each choice with its reason");
  made->config.add_to(*automatic);
  automatic->add_option("-o,--output", made->output, "the config's file, a new one; default: it is printed")
      ->option_text("FILE");
  automatic->add_flag("--overwrite", made->overwrite, "replace the config's file where it is there");
  automatic->add_option("--minutes", made->minutes, "that training may take on this device (60)")->check(above_zero());
  automatic->callback([=] { write_auto_config(*made); });

  auto shown = std::make_shared<ConfigArguments>();
  CLI::App* show = command->add_subcommand("show", "print what a recipe changes in a config (or in the defaults), and why");
  show->add_option("-c,--config", shown->config, "config: a file or the name of a built-in one; may also be a word")
      ->option_text("CONFIG");
  show->add_option("words", shown->words, "recipe: a name or a file; then a config and key=value words")
      ->option_text("NAME [CONFIG] [key=value ...]");
  show->callback([=] { show_recipe(*shown); });
}

}  // namespace tessera
