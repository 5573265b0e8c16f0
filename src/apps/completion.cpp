#include "apps/command.h"
#include "config/builtin_configs.h"

namespace tessera {
namespace {

std::string command_words(const CLI::App& app) {
  std::string words;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) words += command->get_name() + " ";
  return words;
}

std::string key_words() {
  Experiment defaults;
  std::string words;
  for (const SchemaLine& line : experiment_lines(defaults)) {
    if (!line.is_group) words += line.key + "= ";
  }
  return words;
}

std::string config_words() {
  std::string words;
  for (const std::string& word : builtin_config_words()) words += word + " ";
  return words;
}

void print_bash(const CLI::App& app) {
  fmt::print(R"(_tessera() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
    data) [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "{}" -- "$current")) && return ;;
    recipe) [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "{}" -- "$current")) && return ;;
    config) [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "{}" -- "$current")) && return ;;
  esac
  compopt -o nospace 2>/dev/null
  COMPREPLY=($(compgen -W "{}" -- "$current") $(compgen -f -- "$current"))
}}
complete -F _tessera tessera
)",
             command_words(app), command_words(*app.get_subcommand("data")), command_words(*app.get_subcommand("recipe")),
             command_words(*app.get_subcommand("config")), config_words() + key_words());
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "print a completion script: source <(tessera completion bash)");
  command->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  command->callback([shell, &app] {
    if (*shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
    print_bash(app);
  });
}

}  // namespace tessera
