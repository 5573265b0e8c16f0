#include "study/executor/job_command.h"

#include <algorithm>

namespace tessera {

std::vector<std::string> job_arguments(const Job& job) {
  std::vector<std::string> words = job.arguments;
  if (job.ranks <= 1) return words;
  const auto says = [&](const std::string& option) {
    return std::any_of(job.arguments.begin(), job.arguments.end(),
                       [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
  };
  if (!says("-p") && !says("--parallel")) words.insert(words.end(), {"-p", job.threads ? "dp" : "ddp"});
  if (!says("--ranks")) words.insert(words.end(), {"--ranks", std::to_string(job.ranks)});
  return words;
}

}  // namespace tessera
