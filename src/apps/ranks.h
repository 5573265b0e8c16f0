#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>

#include "config/experiment.h"
#include "core/access.h"
#include "dist/world.h"

namespace tessera {

// -d, -p and --ranks as the subcommands that run on several ranks take them.
struct RankArguments {
  std::string devices, parallel;
  int ranks = 0;
  void add_to(CLI::App& command);
  bool sharded() const { return parallel == "zero1"; }
  std::string make_log_dir() const;      // for the ranks' output, when this process becomes their launcher
  std::filesystem::path logs_in;         // set by the subcommand: logs are a folder in this one; empty: a temporary folder
  Access log_access = Access::kPrivate;  // of both
};

// Runs `body` on this process's ranks and waits for them: alone, one thread per device (dp), or as one process of many
// (ddp, zero1). A process that should be many but was started as one becomes `tessera launch` with the same arguments, and
// never returns. Inside a launcher, srun, mpirun or torchrun the ranks are those of the launcher. identity: what all ranks
// must have in common.
void run_on_ranks(const RankArguments& arguments, const Experiment& experiment, const Identity& identity,
                  const std::function<void(World& world, const std::string& device)>& body);

// The check of an option that says how many ranks a host gets.
CLI::Validator rank_count(const char* option);

// What ranks that train together must agree on: the program and the experiment.
Identity identity_of(const Experiment& experiment);

}  // namespace tessera
