#include "launch/cluster/layout.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace tessera {
namespace {

using Table = std::map<std::string, std::string>;

LaunchLayout find(const LaunchOptions& options, const Table& table = {}, int num_gpus = 0) {
  return find_layout(options,
                     {[&](const std::string& name) -> std::optional<std::string> {
                        const auto found = table.find(name);
                        return found == table.end() ? std::nullopt : std::optional(found->second);
                      },
                      1},
                     num_gpus);
}

std::string complaint(const LaunchOptions& options, const Table& table = {}) {
  try {
    find(options, table);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(LaunchLayout, AloneTakesTheGpusOrOne) {
  EXPECT_EQ(find({}).world_size, 1);
  EXPECT_EQ(find({}, {}, 8).world_size, 8);
  EXPECT_EQ(find({}, {}, 8).num_nodes, 1);
}

TEST(LaunchLayout, WorldSizeOnOneHost) {
  LaunchOptions options;
  options.world_size = 3;
  const LaunchLayout layout = find(options);
  EXPECT_EQ(layout.num_nodes, 1);
  EXPECT_EQ(layout.ranks_here, 3);
}

TEST(LaunchLayout, SixteenRanksOnTwoNodesByFlagsOrVariables) {
  LaunchOptions flags;
  flags.world_size = 16;
  flags.ranks_per_node = 8;
  flags.node_rank = 1;
  flags.master_addr = "a";
  flags.master_port = 29500;
  LaunchOptions fewer;
  fewer.ranks_per_node = 8;
  const Table table = {{"WORLD_SIZE", "16"}, {"NODE_RANK", "1"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
  for (const LaunchLayout& layout : {find(flags), find(fewer, table), find({}, table, 8)}) {
    EXPECT_EQ(layout.num_nodes, 2);
    EXPECT_EQ(layout.node_rank, 1);
    EXPECT_EQ(layout.ranks_here, 8);
    EXPECT_EQ(layout.master_addr, "a");
    EXPECT_EQ(layout.master_port, 29500);
  }
}

TEST(LaunchLayout, TheLastNodeTakesTheRest) {
  LaunchOptions options;
  options.world_size = 5;
  options.ranks_per_node = 2;
  options.node_rank = 2;
  options.master_addr = "a";
  options.master_port = 1;
  EXPECT_EQ(find(options).ranks_here, 1);
}

TEST(LaunchLayout, NamesWhatIsMissingOrWrong) {
  LaunchOptions options;
  options.world_size = 4;
  options.ranks_per_node = 2;
  EXPECT_NE(complaint(options).find("--node-rank (NODE_RANK), --master-addr (MASTER_ADDR), --master-port (MASTER_PORT)"),
            std::string::npos);
  EXPECT_NE(complaint({}, {{"WORLD_SIZE", "x"}}).find("WORLD_SIZE=x"), std::string::npos);
  EXPECT_NE(complaint({}, {{"NODE_RANK", "1"}}).find("NODE_RANK"), std::string::npos);
  options.num_nodes = 3;
  EXPECT_NE(complaint(options).find("--nnodes is 3"), std::string::npos);
}

TEST(LaunchLayout, SumsOfRanksFit) {
  LaunchOptions options;
  options.ranks_per_node = 4096;
  options.num_nodes = 1 << 20;
  options.node_rank = 0;
  options.master_addr = "a";
  options.master_port = 1;
  EXPECT_NE(complaint(options).find("4294967296"), std::string::npos) << complaint(options);
}

TEST(LaunchLayout, OneTaskPerHostOfSlurmIsANode) {
  LaunchOptions options;
  options.ranks_per_node = 8;
  const Table table = {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "0"},
                       {"SLURM_NODEID", "1"}, {"SLURM_NNODES", "2"}, {"SLURM_STEP_NODELIST", "n[1-2]"},
                       {"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}};
  const LaunchLayout layout = find(options, table);
  EXPECT_EQ(layout.world_size, 16);
  EXPECT_EQ(layout.node_rank, 1);
  EXPECT_EQ(layout.master_addr, "n1");
  EXPECT_GT(layout.master_port, 0);
}

}  // namespace
}  // namespace tessera
