// A worker (Note [Workers]) whose jobs are shell commands: shell_worker SOCKET. The shell's parent is the worker.
#include <sys/wait.h>

#include <cstdlib>

#include "study/executor/worker_link.h"

int main(int count, char** words) {
  if (count != 2) return 2;
  tessera::run_jobs(tessera::Descriptor(std::atoi(words[1])), [](const std::vector<std::string>& job) {
    const int how = std::system(job.at(0).c_str());
    return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
  });
  return 0;
}
