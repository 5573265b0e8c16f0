// `tessera bench suite`: steps of a suite's cases, each in processes of its own, beside what others have published.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "apps/output_file.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "launch/cluster/command_line.h"
#include "launch/cluster/hosts.h"
#include "launch/node/command.h"
#include "study/suite/suite.h"

namespace tessera {
namespace {

struct SuiteArguments {
  std::string file, hosts, out;
  std::vector<std::string> words;
  int64_t num_hosts = 1, devices_per_host = 1, steps = 3, warmup = 2, one_case = 0;
  bool all = false;
  double timeout_s = 3600;

  int64_t devices() const { return num_hosts * devices_per_host; }
};

// The words that measure on all ranks: here, over ssh, or in the nodes of an allocation of Slurm.
std::vector<std::string> step_command(const SuiteArguments& arguments, const Suite& suite, const SuiteCase& one) {
  std::vector<std::string> words{own_program()};
  if (!arguments.hosts.empty()) {
    words.insert(words.end(), {"launch", "--hosts", arguments.hosts, "--"});
  } else if (arguments.num_hosts > 1) {
    if (std::getenv("SLURM_JOB_ID") == nullptr)
      fail_usage(
          "--num-hosts {}: which ones? expected --hosts node1:{},node2:{}, or an allocation of Slurm around this command",
          arguments.num_hosts, arguments.devices_per_host, arguments.devices_per_host);
    words = {"srun", "--kill-on-bad-exit=1", fmt::format("--nodes={}", arguments.num_hosts),
             fmt::format("--ntasks-per-node={}", arguments.devices_per_host), own_program()};
  }
  words.insert(words.end(), {"bench", "step", suite.config});
  for (const auto* set : {&suite.set, &one.set, &arguments.words}) words.insert(words.end(), set->begin(), set->end());
  words.insert(words.end(),
               {"--flops", "--steps", std::to_string(arguments.steps), "--warmup", std::to_string(arguments.warmup)});
  if (arguments.num_hosts == 1 && arguments.hosts.empty())
    words.insert(words.end(), {"-p", "ddp", "--ranks", std::to_string(arguments.devices_per_host)});
  return words;
}

SuiteRow measure(const SuiteArguments& arguments, const Suite& suite, const SuiteCase& one, std::string& machine) {
  SuiteRow row{.asked = one, .ranks = arguments.devices()};
  log_info("case of {} devices on {}", one.devices, arguments.devices());
  const CommandResult done = run_command(step_command(arguments, suite, one), arguments.timeout_s);
  const auto result = nlohmann::json::parse(done.out, nullptr, /*allow_exceptions=*/false);
  if (!done.ok() || !result.is_object()) {
    row.failure = done.complaint();
    log_warn("case of {} devices: {}", one.devices, row.failure);
    return row;
  }
  row.batch_size = result.at("batch_size").get<int64_t>();
  row.micro_batch = result.at("micro_batch").get<int64_t>();
  row.parameters = result.at("parameters").get<double>();
  row.latency_s = result.at("ms_mean").get<double>() / 1e3;
  row.latency_sd_s = result.at("ms_sd").get<double>() / 1e3;
  row.images_per_s = static_cast<double>(row.batch_size) / row.latency_s;
  row.tflops_per_device = result.at("flops").get<double>() / static_cast<double>(row.ranks) / row.latency_s / 1e12;
  row.memory_gb = result.at("peak_memory_bytes").get<double>() / 1e9;
  const nlohmann::json& environment = result.at("environment");
  const nlohmann::json gpus = environment.value("gpus", nlohmann::json::array());
  machine = gpus.empty()               ? environment.value("cpu", "")
            : gpus.front().is_string() ? gpus.front().get<std::string>()
                                       : gpus.front().dump();
  return row;
}

int bench_suite(const SuiteArguments& arguments) {
  const Suite suite = read_suite(arguments.file);
  if (!arguments.out.empty()) check_output_file(arguments.out);
  if (!arguments.hosts.empty() && static_cast<int64_t>(parse_hosts(arguments.hosts).size()) != arguments.num_hosts)
    fail_usage("--hosts {} are {} hosts, --num-hosts says {}", arguments.hosts, parse_hosts(arguments.hosts).size(),
               arguments.num_hosts);
  std::vector<SuiteCase> cases;
  if (arguments.all) {
    cases = suite.cases;
  } else {
    cases = {suite.of(arguments.one_case > 0 ? arguments.one_case : arguments.devices())};
  }
  std::vector<SuiteRow> rows;
  std::string machine;
  for (const SuiteCase& one : cases) {
    rows.push_back(measure(arguments, suite, one, machine));
    if (!arguments.out.empty()) write_file(arguments.out, suite_tsv(suite, rows, machine));
  }
  fmt::print("{}; {}\npublished: {}\n\n{}", printable(suite.title), printable(machine), printable(suite.source),
             suite_text(rows));
  return std::any_of(rows.begin(), rows.end(), [](const SuiteRow& row) { return !row.failure.empty(); }) ? 1 : 0;
}

}  // namespace

void add_bench_suite(CLI::App& bench, int& exit_code) {
  auto arguments = std::make_shared<SuiteArguments>();
  CLI::App* command = bench.add_subcommand(
      "suite", "a suite's models on so many devices: latency, TFLOP/s, parameters, memory beside published figures");
  command->add_option("file", arguments->file, "a suite's file, or a built-in one: suites/unet_coco")->required();
  command->add_option("words", arguments->words, "values to set over the suite's: key=value ...")->option_text("key=value ...");
  command->add_option("--num-hosts", arguments->num_hosts, "hosts")->capture_default_str()->check(above_zero());
  command->add_option("--num-devices-per-host", arguments->devices_per_host, "ranks on each, one per device")
      ->capture_default_str()
      ->check(above_zero());
  command->add_option("--hosts", arguments->hosts,
                      "over ssh: a:8,b:8; without it several hosts are those of a Slurm allocation");
  command->add_option("--case", arguments->one_case, "the case of another number of devices")->check(above_zero());
  command->add_flag("--all", arguments->all, "every case, one after another");
  command->add_option("--steps", arguments->steps, "steps to time")->capture_default_str()->check(above_zero());
  command->add_option("--warmup", arguments->warmup, "steps before")->capture_default_str()->check(zero_or_more());
  command->add_option("--timeout", arguments->timeout_s, "seconds after which a case has failed")
      ->capture_default_str()
      ->check(above_zero());
  command->add_option("--out", arguments->out, "write the table to this file, values parted by tabs");
  command->callback([arguments, &exit_code] { exit_code = bench_suite(*arguments); });
}

}  // namespace tessera
