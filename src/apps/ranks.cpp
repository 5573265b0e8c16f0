#include "apps/ranks.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>

#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/rank_status.h"
#include "core/split.h"
#include "core/version.h"
#include "dist/thread_ranks.h"
#include "launch/cluster/job_secret.h"
#include "launch/cluster/rank_environment.h"
#include "launch/numbers.h"
#include "tensor/core_watch.h"
#include "tensor/device.h"
#include "tensor/error_text.h"

namespace tessera {
namespace {

// The devices that -d names, or that train.device stands for when all of them are to be used.
std::vector<std::string> device_list(const std::string& asked, const std::string& configured, bool all) {
  if (asked.empty()) {
    const bool gpus = cuda_plugin() != nullptr && !cuda_plugin()->gpus().empty();
    if (!all || configured != "auto" || !gpus) return {configured};
    std::vector<std::string> every;
    for (size_t i = 0; i < cuda_plugin()->gpus().size(); ++i) every.push_back(fmt::format("cuda:{}", i));
    return every;
  }
  std::vector<std::string> devices;
  for (const std::string& part : split(asked, ',')) {
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (!number && part != "cpu")
      fail_usage("-d {}: expected GPU numbers such as 0 or 0,1,2, or cpu; '{}' is neither", asked, part);
    devices.push_back(number ? "cuda:" + part : part);
  }
  return devices;
}

bool is_cuda(const std::string& device) {
  return pick_device(device).is_cuda();
}

// NCCL takes ranks with one host id and one GPU for a mistake; several ranks on a GPU are for trying things out.
void allow_shared_gpus(const RankSpec& spec, size_t num_devices) {
  if (static_cast<size_t>(spec.local_world_size) > num_devices) setenv("NCCL_HOSTID", std::to_string(spec.rank).c_str(), 0);
}

[[noreturn]] void become_launcher(int ranks, const std::string& log_dir) {
  std::vector<std::string> words{"tessera", "launch", "--ranks-per-node", std::to_string(ranks), "--log-dir", log_dir, "--"};
  const std::string line = read_text("/proc/self/cmdline");
  std::vector<std::string> own = split(line, '\0');
  if (!own.empty() && own.back().empty()) own.pop_back();
  words.insert(words.end(), own.begin() + 1, own.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  fail("cannot start the launcher: {}", std::strerror(errno));
}

constexpr double kSecret_s = 300;  // for rank 0 to come and leave it, and for a file to be seen on another host

void run_as_rank(const RankSpec& spec, const Experiment& experiment, const Identity& identity,
                 const std::vector<std::string>& devices, const std::function<void(World&, const std::string&)>& body) {
  const std::string& device = devices[static_cast<size_t>(spec.local_rank) % devices.size()];
  const bool cuda = is_cuda(device);
  if (cuda) allow_shared_gpus(spec, devices.size());
  try {
    JobSecret secret = rank_secret(spec, process_variables());
    const auto world =
        meet_world(spec, identity, {.cuda = cuda, .timeout = std::chrono::seconds(experiment.dist.timeout_s), .secret = [&] {
                                      return secret.wait(kSecret_s);
                                    }});
    secret.all_have_it();
    body(*world, device);
    enter_phase(RankPhase::kEnding);
    world->control.barrier();  // rank 0 serves the store: it must not leave first
  } catch (const std::exception& e) {
    note_error(error_text(e));
    throw;
  }
}

}  // namespace

CLI::Validator rank_count(const char* option) {
  const auto complaint = [option](const std::string& text) -> std::string {
    const auto ranks = parse_whole(text);
    try {
      if (ranks || text.starts_with("-")) check_ranks(option, ranks.value_or(-1));
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";  // what is no number is for CLI11 to say
  };
  return {complaint, ""};
}

void RankArguments::add_to(CLI::App& command) {
  command.add_option("-d,--devices", devices, "GPUs to use: 0 or 0,1,2; or cpu; default: train.device, or all with -p");
  command
      .add_option("-p,--parallel", parallel,
                  "none; dp: a thread per device; ddp: a process per device; zero1: ddp with the optimizer's state split. The "
                  "result is the same. Default: none, or ddp inside a launcher, srun, mpirun or torchrun")
      ->check(CLI::IsMember({"none", "dp", "ddp", "zero1"}));
  command.add_option("--ranks", ranks, "how many ranks on this host; default: one per device")->check(rank_count("--ranks"));
}

std::string RankArguments::make_log_dir() const {
  if (logs_in.empty()) return make_new_folder(fs::temp_directory_path(), "tessera-logs-", log_access).string();
  make_folders(logs_in, log_access);
  make_folders(logs_in / "logs", log_access);
  return (logs_in / "logs").string();
}

Identity identity_of(const Experiment& experiment) {
  const std::string yaml = experiment_yaml(experiment);
  return {{"program version", version() + " (" + build_commit() + ")"},
          {"config", fmt::format("{:016x}", XXH3_64bits(yaml.data(), yaml.size()))}};
}

void run_on_ranks(const RankArguments& arguments, const Experiment& experiment, const Identity& identity,
                  const std::function<void(World&, const std::string&)>& body) {
  const auto spec = rank_from_environment();
  const bool launched = spec && spec->world_size > 1;
  const std::string mode = !arguments.parallel.empty() ? arguments.parallel : launched ? "ddp" : "none";
  const auto devices = device_list(arguments.devices, experiment.train.device, mode != "none");
  const int ranks = arguments.ranks > 0 ? arguments.ranks : static_cast<int>(devices.size());
  const CoreWatch watch;
  if (mode == "none") {
    if (launched) fail_usage("-p none inside a world of {} ranks: each would train on its own; leave -p out", spec->world_size);
    if (devices.size() > 1 || arguments.ranks > 1)
      fail_usage("several devices or ranks need -p dp (threads), ddp (processes) or zero1; e.g. -p ddp");
    World alone;
    return body(alone, devices[0]);
  }
  if (mode == "dp") {
    if (launched)
      fail_usage("-p dp is one process with a thread per device; inside a world of {} ranks use -p ddp", spec->world_size);
    return run_on_threads(ranks, is_cuda(devices[0]), std::chrono::seconds(experiment.dist.timeout_s),
                          [&](World& world) { body(world, devices[static_cast<size_t>(world.rank()) % devices.size()]); });
  }
  if (launched) return run_as_rank(*spec, experiment, identity, devices, body);
  if (!spec && ranks > 1) become_launcher(ranks, arguments.make_log_dir());
  World alone;
  body(alone, devices[0]);
}

}  // namespace tessera
