#pragma once
#include <memory>
#include <variant>

#include "config/node.h"
#include "study/executor/executor.h"
#include "study/executor/slurm_options.h"
#include "study/executor/ssh_options.h"

namespace tessera {

// This machine.
struct LocalOptions {
  static constexpr std::string_view kName = "local";
  bool reuse = true;
};
template <class V>
void describe(V& v, LocalOptions& c) {
  v.field("reuse", c.reuse,
          "a process trains one trial after another, so that libtorch is loaded and the data opened once; false: a process for "
          "each stretch of each trial");
}

using ExecutorConfig = std::variant<LocalOptions, SshOptions, SlurmOptions>;

// The `executor:` section of a study's file: local, or {type: slurm, partition: gpu} with the settings of ssh_options.h and
// slurm_options.h. Throws UsageError with file and line.
ExecutorConfig read_executor(const Node& section);

// Throws UsageError where something that it needs is missing.
std::unique_ptr<Executor> make_executor(const ExecutorConfig& config);

}  // namespace tessera
