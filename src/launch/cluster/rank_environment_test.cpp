#include "launch/cluster/rank_environment.h"

#include <gtest/gtest.h>

#include <map>

#include "core/error.h"

namespace tessera {
namespace {

using Table = std::map<std::string, std::string>;

std::optional<RankSpec> read(const Table& table, int64_t parent_pid = 1) {
  return rank_from_variables({[&](const std::string& name) -> std::optional<std::string> {
                                const auto found = table.find(name);
                                return found == table.end() ? std::nullopt : std::optional(found->second);
                              },
                              parent_pid});
}

std::string complaint(const Table& table) {
  try {
    read(table);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "nothing";
}

Table with(Table table, const Table& more) {
  for (const auto& [name, value] : more) table[name] = value;
  return table;
}

Table without(Table table, const std::string& name) {
  table.erase(name);
  return table;
}

const Table kTorchrun = {{"RANK", "5"},       {"WORLD_SIZE", "8"},   {"LOCAL_RANK", "1"},     {"LOCAL_WORLD_SIZE", "4"},
                         {"GROUP_RANK", "1"}, {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
const Table kSlurm = {{"SLURM_PROCID", "3"},  {"SLURM_NTASKS", "5"},  {"SLURM_LOCALID", "1"},
                      {"SLURM_NODEID", "1"},  {"SLURM_NNODES", "2"},  {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                      {"SLURM_JOB_ID", "42"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "2,3"}};
const Table kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                        {"PMIX_NAMESPACE", "3141592"}};

TEST(RankEnvironment, NothingSetMeansNoRank) {
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({{"MASTER_ADDR", "x"}, {"WORLD_SIZE", "1"}, {"NODE_RANK", "0"}}));
}

TEST(RankEnvironment, ReadsTorchrun) {
  const auto spec = read(kTorchrun);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->rank, 5);
  EXPECT_EQ(spec->world_size, 8);
  EXPECT_EQ(spec->local_rank, 1);
  EXPECT_EQ(spec->local_world_size, 4);
  EXPECT_EQ(spec->node_rank, 1);
  EXPECT_EQ(spec->num_nodes, 2);
  EXPECT_EQ(spec->master_addr, "n0");
  EXPECT_EQ(spec->master_port, 29500);
  EXPECT_FALSE(spec->launcher_store);
  EXPECT_EQ(spec->generation, 0);
}

TEST(RankEnvironment, TheAgentOfTorchrunServesTheStore) {
  const auto spec = read(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "3"}}));
  EXPECT_TRUE(spec->launcher_store);
  EXPECT_EQ(spec->generation, 3);
}

TEST(RankEnvironment, OwnLauncherAddsGenerationAndStore) {
  const auto spec = read(with(without(kTorchrun, "GROUP_RANK"),
                              {{"NODE_RANK", "1"}, {"TESSERA_GENERATION", "2"}, {"TESSERA_LAUNCHER_STORE", "1"}}));
  EXPECT_EQ(spec->generation, 2);
  EXPECT_EQ(spec->node_rank, 1);
  EXPECT_TRUE(spec->launcher_store);
}

TEST(RankEnvironment, ByHandOnOneHostNeedsFourVariables) {
  const auto spec = read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1234"}});
  EXPECT_EQ(spec->local_rank, 1);
  EXPECT_EQ(spec->local_world_size, 2);
  EXPECT_EQ(spec->num_nodes, 1);
}

TEST(RankEnvironment, NamesAllThatIsMissing) {
  EXPECT_NE(complaint({{"RANK", "0"}}).find("WORLD_SIZE, MASTER_ADDR, MASTER_PORT are not set"), std::string::npos);
  EXPECT_NE(complaint({{"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}}).find("RANK, MASTER_PORT are not set"), std::string::npos);
  EXPECT_NE(complaint(without(kTorchrun, "LOCAL_RANK")).find("LOCAL_RANK is not set"), std::string::npos);
  EXPECT_NE(complaint(without(kOpenMpi, "OMPI_COMM_WORLD_SIZE")).find("OMPI_COMM_WORLD_SIZE is not set"), std::string::npos);
  EXPECT_NE(complaint(without(kSlurm, "SLURM_NODEID")).find("SLURM_NODEID is not set"), std::string::npos);
}

TEST(RankEnvironment, NamesWhatIsWrong) {
  EXPECT_NE(complaint(with(kTorchrun, {{"RANK", "8"}})).find("RANK=8: expected a whole number from 0 to 7"), std::string::npos);
  EXPECT_NE(complaint(with(kTorchrun, {{"WORLD_SIZE", "eight"}})).find("WORLD_SIZE=eight"), std::string::npos);
  EXPECT_NE(complaint(with(kTorchrun, {{"MASTER_PORT", "70000"}})).find("MASTER_PORT=70000"), std::string::npos);
  EXPECT_NE(complaint(with(kTorchrun, {{"LOCAL_RANK", "-1"}})).find("LOCAL_RANK=-1"), std::string::npos);
  EXPECT_NE(complaint(with(kTorchrun, {{"GROUP_RANK", "2"}})).find("GROUP_RANK=2"), std::string::npos);
  EXPECT_NE(complaint(with(kSlurm, {{"SLURM_LOCALID", "3"}})).find("contradict"), std::string::npos);
}

TEST(RankEnvironment, ReadsSlurm) {
  const auto spec = read(kSlurm);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->rank, 3);
  EXPECT_EQ(spec->world_size, 5);
  EXPECT_EQ(spec->local_rank, 1);
  EXPECT_EQ(spec->local_world_size, 3);
  EXPECT_EQ(spec->node_rank, 1);
  EXPECT_EQ(spec->num_nodes, 2);
  EXPECT_EQ(spec->master_addr, "gpu07");
  EXPECT_GE(spec->master_port, 10000);
  EXPECT_LT(spec->master_port, 30000);
}

TEST(RankEnvironment, PortsOfSlurmStepsDiffer) {
  EXPECT_EQ(read(kSlurm)->master_port, read(with(kSlurm, {{"SLURM_PROCID", "4"}, {"SLURM_LOCALID", "2"}}))->master_port);
  EXPECT_NE(read(kSlurm)->master_port, read(with(kSlurm, {{"SLURM_STEP_ID", "1"}}))->master_port);
  EXPECT_EQ(read(with(kSlurm, {{"MASTER_PORT", "4000"}}))->master_port, 4000);
}

TEST(RankEnvironment, ScriptsAndShellsOfSlurmAreNoRanks) {
  EXPECT_FALSE(read(without(kSlurm, "SLURM_STEP_ID")));                                             // sbatch
  EXPECT_FALSE(read(without(without(kSlurm, "SLURM_STEP_ID"), "SLURM_PROCID")));                    // salloc
  EXPECT_FALSE(read(with(kSlurm, {{"SLURM_STEP_ID", "4294967290"}})));                              // interactive step
  EXPECT_FALSE(read(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}})));         // srun --pty
  EXPECT_EQ(read(with(kTorchrun, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}))->world_size, 8);  // launched inside a job
}

TEST(RankEnvironment, ReadsOpenMpi) {
  const auto spec = read(kOpenMpi);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->rank, 2);
  EXPECT_EQ(spec->world_size, 4);
  EXPECT_EQ(spec->num_nodes, 1);
  EXPECT_EQ(spec->master_addr, "127.0.0.1");
  EXPECT_NE(spec->master_port, read(with(kOpenMpi, {{"PMIX_NAMESPACE", "3141593"}}))->master_port);
}

TEST(RankEnvironment, OpenMpiOnSeveralHostsMeetsWhereMpirunIs) {
  const Table two = with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
  EXPECT_EQ(read(with(two, {{"OMPI_MCA_orte_hnp_uri", "99.0;tcp://10.0.0.1,192.168.0.7:4711"}}))->master_addr, "10.0.0.1");
  EXPECT_EQ(read(with(two, {{"PMIX_NAMESPACE", "prterun-node-a-1234@1"}}))->master_addr, "node-a");
  EXPECT_EQ(read(with(two, {{"MASTER_ADDR", "h"}}))->master_addr, "h");
  EXPECT_EQ(read(with(two, {{"MASTER_ADDR", "h"}}))->node_rank, 1);
  EXPECT_NE(complaint(two).find("MASTER_ADDR is not set"), std::string::npos);
}

TEST(RankEnvironment, ReadsMpich) {
  const Table mpich = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
  const auto spec = read(mpich, 77);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->rank, 1);
  EXPECT_EQ(spec->master_addr, "127.0.0.1");
  EXPECT_EQ(spec->master_port, read(mpich, 77)->master_port);
  EXPECT_NE(spec->master_port, read(mpich, 78)->master_port);
  EXPECT_NE(complaint(with(mpich, {{"PMI_SIZE", "4"}})).find("MASTER_PORT"), std::string::npos);
}

TEST(RankEnvironment, PmiOfSrunIsSlurm) {
  EXPECT_EQ(read(with(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "5"}}))->master_addr, "gpu07");
}

}  // namespace
}  // namespace tessera
