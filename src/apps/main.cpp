#include <csignal>
#include <string_view>

#include "apps/command_line.h"
#include "apps/worker.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of files' sizes is then an error like a full disk
  // Not a command for people.
  if (argc == 3 && std::string_view(argv[1]) == tessera::kWorkerCommand) return tessera::be_worker(argv[0], argv[2]);
  return tessera::run_command_line(argc, argv);
}
