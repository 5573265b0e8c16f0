#include "launch/control/launch.h"

#include "core/error.h"
#include "core/log.h"
#include "launch/cluster/hosts.h"
#include "launch/cluster/job_secret.h"
#include "launch/cluster/layout.h"
#include "launch/cluster/ssh_hosts.h"
#include "launch/control/node_roles.h"
#include "launch/node/affinity.h"

namespace tessera {
namespace {

void check_options(const LaunchOptions& options) {
  if (options.command.empty()) fail_usage("nothing to launch; expected e.g. tessera launch --ranks-per-node 2 -- train CONFIG");
  if (options.restarts < 0) fail_usage("--restarts {}: expected 0 or more", options.restarts);
  if (options.min_ranks < 0) fail_usage("--min-ranks {}: expected 1 or more", options.min_ranks);
  if (options.min_ranks > 0 && options.restarts == 0)
    fail_usage("--min-ranks {} says how few ranks a restart may have; give --restarts too", options.min_ranks);
  if (!options.hosts.empty() && !options.hostfile.empty())
    fail_usage("--hosts and --hostfile both name the hosts; give one of them");
}

std::vector<Host> named_hosts(const LaunchOptions& options) {
  if (!options.hosts.empty()) return parse_hosts(options.hosts);
  if (!options.hostfile.empty()) return read_hostfile(options.hostfile);
  return {};
}

}  // namespace

int run_launch(const LaunchOptions& options) {
  check_options(options);
  if (const std::vector<Host> hosts = named_hosts(options); !hosts.empty()) {
    if (options.node_rank || options.world_size || options.num_nodes) {
      fail_usage(
          "--hosts and --hostfile tell how many nodes and ranks there are; leave out --node-rank, --nnodes and --world-size");
    }
    return run_hosts(options, hosts);
  }
  const LaunchLayout layout = find_layout(options, process_variables(), num_gpus());
  log_debug("node {} of {}, {} of {} ranks here", layout.node_rank, layout.num_nodes, layout.ranks_here, layout.world_size);
  JobSecret secret = launcher_secret(options, layout, process_variables());
  return layout.node_rank == 0 ? run_first_node(options, layout, secret) : run_other_node(options, layout, secret);
}

}  // namespace tessera
