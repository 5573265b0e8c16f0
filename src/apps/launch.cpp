#include "launch/control/launch.h"

#include "apps/command.h"
#include "apps/ranks.h"

namespace tessera {
namespace {

void add_places(CLI::App& command, LaunchOptions& options) {
  command.add_option("--ranks-per-node", options.ranks_per_node, "ranks on each host; default: one per GPU, else 1")
      ->check(rank_count("--ranks-per-node"));
  command.add_option("--world-size", options.world_size, "ranks in all [WORLD_SIZE]")->check(above_zero());
  command.add_option("--nnodes", options.num_nodes, "number of hosts; default: world size / ranks per node [NNODES]")
      ->check(above_zero());
  command.add_option("--node-rank", options.node_rank, "which host this is, from 0 [NODE_RANK]")->check(zero_or_more());
  command.add_option("--master-addr", options.master_addr, "name or address of host 0 [MASTER_ADDR]");
  command.add_option("--master-port", options.master_port, "port of host 0; default on one host: a free one [MASTER_PORT]")
      ->check(CLI::Range(1, 65535));
  command.add_option("--hosts", options.hosts, "start the hosts from here over ssh: a:8,b:8");
  command.add_option("--hostfile", options.hostfile, "the same, a host on each line: a:8, or a slots=8");
  command.add_option("--ssh", options.ssh, "the command in place of ssh; called as CMD HOST COMMAND");
  command.add_flag("--insecure", options.insecure,
                   "several hosts without a secret (TESSERA_JOB_SECRET_FILE): whoever reaches the master port may join, end or "
                   "fake the job [TESSERA_INSECURE]");
}

void add_faults(CLI::App& command, LaunchOptions& options) {
  command
      .add_option("--restarts", options.restarts,
                  "how often to start the ranks again, from the last checkpoint, when one fails or hangs")
      ->capture_default_str();
  command.add_option("--min-ranks", options.min_ranks,
                     "with --restarts: go on without lost hosts as long as so many ranks are left");
  command.add_option("--hang-timeout", options.hang_timeout_s, "seconds without any progress that count as a hang; 0: never")
      ->capture_default_str()
      ->check(zero_or_more());
  command.add_option("--start-timeout", options.start_timeout_s, "seconds in which all hosts must have come")
      ->capture_default_str()
      ->check(above_zero());
}

void add_output(CLI::App& command, LaunchOptions& options) {
  command.add_option("--log-dir", options.log_dir, "folder of rank-00.log, rank-01.log, ...")->capture_default_str();
  command.add_flag("--tee", options.tee,
                   "show the output of all ranks, each line after its rank; else rank 0's alone is shown");
  command.add_flag("!--no-bind", options.bind, "do not bind each rank to its share of the cores");
  command.add_flag("--reads-stdin", options.reads_stdin)->group("");  // between a starter and the launchers it starts
}

}  // namespace

void add_launch(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<LaunchOptions>();
  CLI::App* command =
      app.add_subcommand("launch", "start training as several ranks, on this host or many: launch ... -- train ...");
  add_places(*command, *options);
  add_faults(*command, *options);
  add_output(*command, *options);
  command->add_option("command", options->command, "after --: train, eval or predict with its arguments, or another program")
      ->option_text("-- COMMAND ...");
  command->footer(
      "Each rank finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, NODE_RANK, MASTER_ADDR and MASTER_PORT in its "
      "environment.\n"
      "Under srun and mpirun no launcher is needed: srun tessera train ... . See docs/distributed.md.");
  command->callback([options, &app, &exit_code] {
    for (const CLI::App* known : app.get_subcommands([](const CLI::App*) { return true; }))
      options->own_commands.push_back(known->get_name());
    exit_code = run_launch(*options);
  });
}

}  // namespace tessera
