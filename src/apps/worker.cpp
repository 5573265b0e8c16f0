#include "apps/worker.h"

#include "apps/command_line.h"
#include "apps/kept_data.h"
#include "core/log.h"
#include "launch/numbers.h"
#include "tensor/too_large.h"

namespace tessera {

int be_worker(const char* program, const char* socket) {
  const std::optional<int64_t> number = parse_whole(socket);
  if (!number) {
    log_error("a worker is started by `tessera tune`; expected the number of a socket, got '{}'", socket);
    return 2;
  }
  keep_run_data();
  run_jobs(Descriptor(static_cast<int>(*number)), [&](std::vector<std::string> words) {
    words.insert(words.begin(), program);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int exit_code = run_command_line(static_cast<int>(words.size()), arguments.data());
    release_kept_memory();  // others need it while this process waits
    return exit_code;
  });
  return 0;
}

}  // namespace tessera
