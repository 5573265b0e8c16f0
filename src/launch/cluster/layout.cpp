#include "launch/cluster/layout.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"
#include "core/plural.h"
#include "launch/numbers.h"

namespace tessera {
namespace {

std::optional<int> option_or_variable(const std::optional<int>& option, const char* flag, const RankVariables& variables,
                                      const char* name, int low, int high) {
  std::string source = flag, text;
  if (option) {
    text = std::to_string(*option);
  } else if (const auto value = variables.get(name); value && !value->empty()) {
    source = name;
    text = *value;
  } else {
    return std::nullopt;
  }
  const auto number = parse_whole(text);
  if (!number || *number < low || *number > high)
    fail_usage("{}={}: expected a whole number from {} to {}", source, text, low, high);
  return static_cast<int>(*number);
}

// srun or mpirun with one task per host: each task is the launcher of its node.
std::optional<RankSpec> one_task_per_host(const RankVariables& variables) {
  if (variables.get("RANK") || variables.get("WORLD_SIZE")) return std::nullopt;
  const auto spec = rank_from_variables(variables);
  return spec && spec->world_size > 1 && spec->local_world_size == 1 ? spec : std::nullopt;
}

// How many ranks a full node has, as far as it follows from what was given.
int full_node(const LaunchOptions& options, const std::optional<int>& world, const std::optional<int>& nodes, bool alone,
              int num_gpus) {
  if (options.ranks_per_node) return *options.ranks_per_node;
  if (world && nodes) return (*world + *nodes - 1) / *nodes;
  if (world && alone) return num_gpus > 0 ? std::min(num_gpus, *world) : *world;
  return num_gpus > 0 ? num_gpus : 1;
}

void check_several_nodes(const LaunchLayout& layout, bool has_rank, bool has_address, bool has_port) {
  std::vector<std::string> missing;
  if (!has_rank) missing.emplace_back("--node-rank (NODE_RANK)");
  if (!has_address) missing.emplace_back("--master-addr (MASTER_ADDR)");
  if (!has_port) missing.emplace_back("--master-port (MASTER_PORT)");
  if (!missing.empty()) {
    fail_usage("{} ranks with {} on each node make {} nodes, but {} not given; for one node set --ranks-per-node {}",
               layout.world_size, layout.ranks_per_node, layout.num_nodes,
               fmt::format("{} {}", fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are"), layout.world_size);
  }
}

}  // namespace

LaunchLayout find_layout(const LaunchOptions& options, const RankVariables& variables, int num_gpus) {
  auto world = option_or_variable(options.world_size, "--world-size", variables, "WORLD_SIZE", 1, kMostRanks);
  auto nodes = option_or_variable(options.num_nodes, "--nnodes", variables, "NNODES", 1, kMostRanks);
  auto node_rank = option_or_variable(options.node_rank, "--node-rank", variables, "NODE_RANK", 0, kMostRanks);
  auto port = option_or_variable(options.master_port, "--master-port", variables, "MASTER_PORT", 1, 65535);
  std::string address = options.master_addr.empty() ? variables.get("MASTER_ADDR").value_or("") : options.master_addr;
  if (!world && !nodes && !node_rank) {
    if (const auto task = one_task_per_host(variables)) {
      nodes = task->world_size;
      node_rank = task->rank;
      if (address.empty()) address = task->master_addr;
      if (!port) port = task->master_port;
    }
  }
  LaunchLayout layout;
  const bool alone = !node_rank && address.empty();
  layout.ranks_per_node = full_node(options, world, nodes, alone, num_gpus);
  if (layout.ranks_per_node < 1 || layout.ranks_per_node > kMostRanksPerNode)
    fail_usage("--ranks-per-node {}: expected 1 to {}", layout.ranks_per_node, kMostRanksPerNode);
  const int64_t ranks = world ? *world : int64_t{layout.ranks_per_node} * nodes.value_or(1);
  if (ranks > kMostRanks) {
    fail_usage("{} nodes with {} ranks each make {}; expected at most {}", nodes.value_or(1), layout.ranks_per_node, ranks,
               kMostRanks);
  }
  layout.world_size = static_cast<int>(ranks);
  layout.world_given = world.has_value();
  layout.num_nodes = (layout.world_size + layout.ranks_per_node - 1) / layout.ranks_per_node;
  if (nodes && *nodes != layout.num_nodes) {
    fail_usage("--world-size {} with {} ranks per node makes {} nodes, but --nnodes is {}", layout.world_size,
               layout.ranks_per_node, layout.num_nodes, *nodes);
  }
  layout.node_rank = node_rank.value_or(0);
  layout.master_port = port.value_or(0);
  if (layout.num_nodes > 1) {
    check_several_nodes(layout, node_rank.has_value(), !address.empty(), port.has_value());
    layout.master_addr = address;
  }
  if (layout.node_rank >= layout.num_nodes) {
    fail_usage("--node-rank {} (NODE_RANK): {} ranks with {} on each node make {} {}, ranked from 0", layout.node_rank,
               layout.world_size, layout.ranks_per_node, layout.num_nodes, plural(layout.num_nodes, "node"));
  }
  layout.ranks_here = std::min(layout.ranks_per_node, layout.world_size - layout.node_rank * layout.ranks_per_node);
  return layout;
}

}  // namespace tessera
