#include "launch/cluster/rank_environment.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/host_name.h"
#include "core/loopback.h"
#include "launch/cluster/addresses.h"
#include "launch/cluster/nodelist.h"
#include "launch/numbers.h"

namespace tessera {
namespace {

constexpr int kMaxWorld = 1 << 20, kMaxPort = 65535;
constexpr const char* kLoopback = "127.0.0.1";

class Reader {
 public:
  explicit Reader(const RankVariables& variables) : variables_(variables) {}

  std::optional<std::string> text(const std::string& name) const {
    auto value = variables_.get(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  bool has(const std::string& name) const { return text(name).has_value(); }

  // The first of the names that is set.
  std::optional<std::string> first(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (auto found = text(name)) return found;
    }
    return std::nullopt;
  }

  int number(const std::string& name, int low, int high) const {
    const auto found = text(name);
    if (!found) fail_usage("{} is not set; it must be a number from {} to {}", name, low, high);
    const auto value = parse_whole(*found);
    if (!value || *value < low || *value > high)
      fail_usage("{}={}: expected a whole number from {} to {}", name, *found, low, high);
    return static_cast<int>(*value);
  }

  int number_or(const std::string& name, int low, int high, int otherwise) const {
    return has(name) ? number(name, low, high) : otherwise;
  }

  int64_t parent_pid() const { return variables_.parent_pid; }

 private:
  const RankVariables& variables_;
};

// Jobs of one machine must not meet on one port, and the system hands out ports from 32768 upwards by itself.
int port_of_job(const std::string& job) {
  constexpr int kFirst = 10000, kCount = 20000;
  return kFirst + static_cast<int>(crc32c(std::string_view(job)) % kCount);
}

void check_place(const RankSpec& spec, const char* rank_name) {
  if (spec.local_rank >= spec.local_world_size || spec.local_world_size > spec.world_size || spec.node_rank >= spec.num_nodes) {
    fail_usage("{}={}: local rank {} of {} on node {} of {} does not fit a world of {}; the variables contradict one another",
               rank_name, spec.rank, spec.local_rank, spec.local_world_size, spec.node_rank, spec.num_nodes, spec.world_size);
  }
}

// Names all that is missing at once: setting them one by one after an error each would be tedious.
void require(const Reader& read, const char* because, std::initializer_list<const char*> names) {
  std::vector<std::string> missing;
  for (const char* name : names) {
    if (!read.has(name)) missing.emplace_back(name);
  }
  if (!missing.empty()) {
    fail_usage(
        "{} is set, so this process should be one rank of many, but {} {} not set; set {}, or let 'tessera launch' do it",
        because, fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are", missing.size() == 1 ? "it" : "them");
  }
}

RankSpec from_torchrun(const Reader& read) {
  require(read, read.has("RANK") ? "RANK" : "WORLD_SIZE", {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"});
  RankSpec spec;
  spec.world_size = read.number("WORLD_SIZE", 1, kMaxWorld);
  spec.rank = read.number("RANK", 0, spec.world_size - 1);
  spec.master_addr = *read.text("MASTER_ADDR");
  spec.master_port = read.number("MASTER_PORT", 1, kMaxPort);
  const bool alone = spec.world_size == 1, one_host = alone || is_loopback(spec.master_addr);
  if (!one_host) require(read, "RANK", {"LOCAL_RANK", "LOCAL_WORLD_SIZE"});
  spec.local_world_size = read.number_or("LOCAL_WORLD_SIZE", 1, spec.world_size, spec.world_size);
  spec.local_rank = read.number_or("LOCAL_RANK", 0, spec.local_world_size - 1, spec.rank % spec.local_world_size);
  const int nodes = (spec.world_size + spec.local_world_size - 1) / spec.local_world_size;
  spec.num_nodes = read.number_or("GROUP_WORLD_SIZE", 1, spec.world_size, nodes);
  const char* node_name = read.has("GROUP_RANK") ? "GROUP_RANK" : "NODE_RANK";
  spec.node_rank = read.number_or(node_name, 0, spec.num_nodes - 1, spec.rank / spec.local_world_size);
  spec.launcher_store = read.text("TESSERA_LAUNCHER_STORE") == "1" || read.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  spec.generation =
      read.number_or("TESSERA_GENERATION", 0, kMaxWorld, read.number_or("TORCHELASTIC_RESTART_COUNT", 0, kMaxWorld, 0));
  check_place(spec, "RANK");
  return spec;
}

// The host of the mpirun process, where rank 0 usually is too. Open MPI 4: "1234.0;tcp://10.0.0.1,192.168.0.7:4711";
// Open MPI 5 has it in the name of the job: "prterun-HOST-1234@1".
std::optional<std::string> host_of_mpirun(const Reader& read) {
  if (const auto uri = read.text("OMPI_MCA_orte_hnp_uri")) {
    const size_t begin = uri->find("//");
    if (begin != std::string::npos) return uri->substr(begin + 2, uri->find_first_of(",:;", begin + 2) - begin - 2);
  }
  if (const auto space = read.text("PMIX_NAMESPACE"); space && space->starts_with("prterun-")) {
    const size_t begin = std::string("prterun-").size(), end = space->rfind('-');
    if (end > begin && end != std::string::npos) return space->substr(begin, end - begin);
  }
  return std::nullopt;
}

std::optional<std::string> first_slurm_host(const Reader& read) {
  const auto list = read.first({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (!list) return std::nullopt;
  const std::vector<std::string> hosts = expand_nodelist(*list);
  if (hosts.empty()) return std::nullopt;
  return hosts.front();
}

// What the two kinds of mpirun have in common: how many ranks share this host, but not which host is which.
RankSpec from_mpirun(const Reader& read, const char* rank, const char* size, const char* local_rank, const char* local_size,
                     const std::string& job) {
  require(read, rank, {size, local_rank, local_size});
  RankSpec spec;
  spec.world_size = read.number(size, 1, kMaxWorld);
  spec.rank = read.number(rank, 0, spec.world_size - 1);
  spec.local_world_size = read.number(local_size, 1, spec.world_size);
  spec.local_rank = read.number(local_rank, 0, spec.local_world_size - 1);
  spec.num_nodes = (spec.world_size + spec.local_world_size - 1) / spec.local_world_size;
  spec.node_rank = std::min(spec.rank / spec.local_world_size, spec.num_nodes - 1);
  if (const auto given = read.text("MASTER_ADDR")) {
    spec.master_addr = *given;
  } else if (spec.num_nodes == 1) {
    spec.master_addr = kLoopback;
  } else if (const auto host = host_of_mpirun(read)) {
    spec.master_addr = *host;
  } else if (const auto first = first_slurm_host(read)) {
    spec.master_addr = *first;
  } else {
    fail_usage(
        "MASTER_ADDR is not set and the variables of mpirun do not tell where rank 0 is; set it to the host of rank 0: "
        "mpirun -x MASTER_ADDR=HOST, or -genv MASTER_ADDR HOST");
  }
  spec.master_port = read.number_or("MASTER_PORT", 1, kMaxPort, port_of_job(job));
  check_place(spec, rank);
  return spec;
}

RankSpec from_open_mpi(const Reader& read) {
  const auto job = read.first({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri"});
  return from_mpirun(read, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                     "OMPI_COMM_WORLD_LOCAL_SIZE", "ompi " + job.value_or(std::to_string(read.parent_pid())));
}

RankSpec from_pmi(const Reader& read) {
  std::string job = fmt::format("pmi {}", read.parent_pid());
  if (read.text("PMI_SIZE") != read.text("MPI_LOCALNRANKS")) {
    // The ranks of several hosts have different parents; only a number given to all of them will do.
    const auto shared = read.first({"MASTER_PORT", "SLURM_JOB_ID"});
    if (!shared)
      fail_usage(
          "PMI_RANK is set for ranks on several hosts, but MASTER_PORT is not set; set it: mpirun -genv MASTER_PORT 29500");
    job = "pmi " + *shared;
  }
  return from_mpirun(read, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", job);
}

// Slurm gives the script of sbatch and interactive shells step numbers at the very top of 32 bits, or none.
bool in_slurm_step(const Reader& read) {
  constexpr int64_t kFirstSpecialStep = 0xFFFFFFF0;
  const auto step = read.first({"SLURM_STEP_ID", "SLURM_STEPID"});
  if (!step || !read.has("SLURM_PROCID")) return false;
  const auto number = parse_whole(*step);
  return number && *number < kFirstSpecialStep;
}

std::string step_name(const Reader& read) {
  const auto job = read.first({"SLURM_JOB_ID", "SLURM_JOBID"}), step = read.first({"SLURM_STEP_ID", "SLURM_STEPID"}),
             again = read.text("SLURM_RESTART_COUNT");
  return fmt::format("{}.{}{}", job.value_or(""), step.value_or(""), again ? "-" + *again : "");
}

std::optional<RankSpec> from_slurm(const Reader& read) {
  const char* size = read.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  require(read, "SLURM_PROCID", {size, "SLURM_LOCALID", "SLURM_NODEID"});
  RankSpec spec;
  spec.world_size = read.number(size, 1, kMaxWorld);
  if (spec.world_size == 1) return std::nullopt;  // also the shell of srun --pty: one task that may start ranks itself
  spec.rank = read.number("SLURM_PROCID", 0, spec.world_size - 1);
  const char* nodes = read.has("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES";
  spec.num_nodes = read.number_or(nodes, 1, spec.world_size, 1);
  spec.node_rank = read.number("SLURM_NODEID", 0, spec.num_nodes - 1);
  spec.local_world_size = std::max(1, spec.world_size / spec.num_nodes);
  if (const auto counts = read.first({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"})) {
    const std::vector<int> per_node = expand_counts(*counts);
    if (spec.node_rank < static_cast<int>(per_node.size())) spec.local_world_size = per_node[spec.node_rank];
  }
  spec.local_rank = read.number("SLURM_LOCALID", 0, kMaxWorld);
  const auto host = read.has("MASTER_ADDR") ? read.text("MASTER_ADDR")
                    : spec.num_nodes == 1   ? kLoopback
                                            : first_slurm_host(read);
  if (!host) fail_usage("SLURM_STEP_NODELIST is not set, so the host of rank 0 is unknown; set MASTER_ADDR to it");
  spec.master_addr = *host;
  const auto job = read.first({"SLURM_JOB_ID", "SLURM_JOBID"}), step = read.first({"SLURM_STEP_ID", "SLURM_STEPID"});
  if (!job && !read.has("MASTER_PORT"))
    fail_usage("neither SLURM_JOB_ID nor MASTER_PORT is set; one of them tells the ranks where to meet");
  spec.master_port =
      read.number_or("MASTER_PORT", 1, kMaxPort, port_of_job(fmt::format("slurm {}.{}", job.value_or(""), step.value_or(""))));
  spec.srun_step = step_name(read);
  check_place(spec, "SLURM_PROCID");
  return spec;
}

// srun --mpi=pmi2 sets PMI's variables as well, with Slurm's numbers and without the local ones.
bool pmi_is_slurms(const Reader& read) {
  return in_slurm_step(read) && read.text("PMI_RANK") == read.text("SLURM_PROCID") && !read.has("MPI_LOCALRANKID");
}

}  // namespace

std::optional<RankSpec> rank_from_variables(const RankVariables& variables) {
  const Reader read(variables);
  if (read.has("RANK")) return from_torchrun(read);
  if (read.has("OMPI_COMM_WORLD_RANK")) return from_open_mpi(read);
  if (read.has("PMI_RANK") && read.has("PMI_SIZE") && !pmi_is_slurms(read)) return from_pmi(read);
  if (in_slurm_step(read)) {
    if (const auto spec = from_slurm(read)) return spec;
  }
  if (read.has("WORLD_SIZE") && read.text("WORLD_SIZE") != "1") return from_torchrun(read);  // says what is missing
  return std::nullopt;
}

std::optional<std::string> slurm_step(const RankVariables& variables) {
  const Reader read(variables);
  return in_slurm_step(read) ? std::optional(step_name(read)) : std::nullopt;
}

RankVariables process_variables() {
  return {[](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
          },
          getppid()};
}

std::optional<RankSpec> rank_from_environment() {
  const RankVariables variables = process_variables();
  const auto spec = rank_from_variables(variables);
  const bool guessed = spec && spec->num_nodes > 1 && variables.get("OMPI_COMM_WORLD_RANK") && !variables.get("MASTER_ADDR");
  if (guessed && spec->rank == 0 && !is_own_address(spec->master_addr)) {
    fail_usage("mpirun runs on {}, but rank 0 does not; name rank 0's host: mpirun -x MASTER_ADDR={}", spec->master_addr,
               host_name());
  }
  return spec;
}

}  // namespace tessera
