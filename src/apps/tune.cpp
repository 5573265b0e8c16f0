#include "apps/command.h"

namespace tessera {

void add_tune(CLI::App& app, int& /*exit_code*/) {
  CLI::App* command = app.add_subcommand("tune", "find settings: docs/studies.md");
  command->require_subcommand(1);
  add_tune_lr(*command);
}

}  // namespace tessera
