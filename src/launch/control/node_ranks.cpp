#include "launch/control/node_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>

#include "core/clock.h"
#include "core/cpu_budget.h"
#include "core/host_name.h"
#include "core/log.h"
#include "launch/cluster/command_line.h"
#include "launch/node/proc_sample.h"
#include "launch/node/process.h"
#include "launch/node/rank_output.h"
#include "launch/node/status_file.h"

extern char** environ;

namespace tessera {
namespace {

// Less than this is the housekeeping of threads that wait.
constexpr double kBusyCpuShare = 0.05, kBusyBytesPerSecond = 65536;
constexpr double kSignalDelay_s = 0.3;

}  // namespace

struct NodeRanks::Rank {
  Rank(int number, const ProcessSpec& spec, std::unique_ptr<StatusFile> file, const fs::path& log, bool append, Show show)
      : rank(number),
        status(std::move(file)),
        output(number, log, append, show),
        process(spec),
        last(sample_process(process.pid())),
        last_s(monotonic_s()) {}
  int rank;
  std::unique_ptr<StatusFile> status;
  RankOutput output;
  Process process;
  ProcSample last;  // at the last look
  double last_s, ended_s = 0;
  bool busy = true, killed = false;
};

NodeRanks::NodeRanks(const LaunchOptions& options, const LaunchLayout& layout, Poller& poller)
    : options_(options), layout_(layout), poller_(poller) {
  const std::vector<Core> cores = allowed_cores();
  // A quota may grant less than the cores that can be seen.
  const CpuBudget budget = cpu_budget();
  num_cores_ = std::min(budget.cpus(), cores.empty() ? budget.cpus() : static_cast<int>(cores.size()));
  if (options.bind) shares_ = share_cores(cores, cpus_near_gpus(layout.ranks_here));
}

NodeRanks::~NodeRanks() {
  for (const auto& rank : ranks_) {
    poller_.forget(rank->process.out());
    poller_.forget(rank->process.err());
  }
}

void NodeRanks::set_secret(const std::string& secret) {
  secret_ = secret.empty() ? nullptr : std::make_unique<SecretFile>(secret);
}

std::vector<std::string> NodeRanks::environment(const Directive& directive, int local_rank,
                                                const std::string& status_path) const {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  const auto count = static_cast<size_t>(layout_.ranks_here);
  const size_t even = std::max<size_t>(1, static_cast<size_t>(num_cores_) / count);
  const size_t threads = shares_.empty() || cpu_budget().quota ? even : shares_[local_rank].size();
  if (variables["OMP_NUM_THREADS"].empty()) variables["OMP_NUM_THREADS"] = std::to_string(threads);
  for (const char* foreign : {"GROUP_RANK", "GROUP_WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE", "TESSERA_LAUNCHER_STORE",
                              "TESSERA_JOB_SECRET", "TESSERA_JOB_SECRET_FILE"})
    variables.erase(foreign);
  if (secret_) variables["TESSERA_JOB_SECRET_FILE"] = secret_->path();
  variables["RANK"] = std::to_string(directive.first_rank + local_rank);
  variables["WORLD_SIZE"] = std::to_string(directive.world_size);
  variables["LOCAL_RANK"] = std::to_string(local_rank);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(count);
  variables["NODE_RANK"] = std::to_string(directive.node_rank);
  variables["GROUP_WORLD_SIZE"] = std::to_string(directive.num_nodes);
  variables["MASTER_ADDR"] = layout_.master_addr;
  variables["MASTER_PORT"] = std::to_string(directive.store_port);
  variables["TESSERA_GENERATION"] = std::to_string(directive.generation);
  variables["TESSERA_STATUS_FILE"] = status_path;
  std::vector<std::string> list;
  for (const auto& [name, value] : variables) list.push_back(name + "=" + value);
  return list;
}

void NodeRanks::obey(const Directive& directive) {
  switch (directive.kind) {
    case Directive::Kind::kStart: return start(directive);
    case Directive::Kind::kSignal: return signal(directive.signal);
    case Directive::Kind::kKill: return kill();
    case Directive::Kind::kTick:
    case Directive::Kind::kOver: return;
  }
}

void NodeRanks::start(const Directive& directive) {
  for (const auto& rank : ranks_) {
    poller_.forget(rank->process.out());
    poller_.forget(rank->process.err());
  }
  ranks_.clear();
  generation_ = directive.generation;
  signalled_ = 0;
  signal_due_s_ = 0;
  for (int local = 0; local < layout_.ranks_here; ++local) {
    const int number = directive.first_rank + local;
    auto status = std::make_unique<StatusFile>();
    ProcessSpec spec;
    spec.words = rank_command(options_, directive.generation > 0);
    if (spec.words.front() == own_program()) spec.file = "/proc/self/exe";  // the same program, even if it was built anew since
    spec.environment = environment(directive, local, status->path());
    spec.inherited = {status->fd()};
    if (!shares_.empty()) spec.cores = to_cpu_set(shares_[local]);
    const Show show = options_.tee ? Show::kPrefixed : number == 0 ? Show::kPlain : Show::kNothing;
    ranks_.push_back(std::make_unique<Rank>(number, spec, std::move(status), rank_log_path(options_.log_dir, number),
                                            directive.generation > 0, show));
    Rank& rank = *ranks_.back();
    for (const bool is_error : {false, true}) {
      poller_.watch(is_error ? rank.process.err() : rank.process.out(),
                    [this, &rank, is_error] { read_output(rank, is_error); });
    }
  }
}

void NodeRanks::read_output(Rank& rank, bool is_error) {
  const int fd = is_error ? rank.process.err() : rank.process.out();
  if (!rank.output.take(fd, is_error)) poller_.forget(fd);
}

void NodeRanks::signal(int number) {
  if (signalled_ != 0) return;
  signalled_ = number;
  signal_due_s_ = monotonic_s() + kSignalDelay_s;
}

// Note [Signals once]
// Schedulers signal all processes of a job, the ranks as well as us. Ranks of ours take what comes within two seconds for one
// wish (core/signals.cpp). Other programs may drop their handler at the first signal and end at the second, so we wait a moment
// and leave out those that no longer have it.
void NodeRanks::pass_on_signal() {
  if (signal_due_s_ == 0 || monotonic_s() < signal_due_s_) return;
  signal_due_s_ = 0;
  for (const auto& rank : ranks_) {
    if (rank->process.ended()) continue;
    const bool has_it = rank->last.catches(signalled_) && !sample_process(rank->process.pid()).catches(signalled_);
    if (!has_it) rank->process.signal(signalled_);
  }
}

void NodeRanks::kill() {
  for (const auto& rank : ranks_) {
    if (rank->process.ended()) continue;
    rank->killed = true;
    rank->process.signal(SIGKILL);
  }
}

bool NodeRanks::notice_ends() {
  pass_on_signal();
  bool any = false;
  for (const auto& rank : ranks_) {
    if (rank->process.ended() || !rank->process.reap()) continue;
    any = true;
    rank->ended_s = monotonic_s();
    rank->process.signal(SIGKILL);  // what it started and left
    read_output(*rank, false);
    read_output(*rank, true);
  }
  return any;
}

RankReport NodeRanks::report(Rank& rank) const {
  const RankStatus& status = rank.status->status();
  const double now = monotonic_s();
  RankReport r;
  r.rank = rank.rank;
  r.host = host_name();
  r.pid = rank.process.pid();
  const int64_t changed_ns = status.changed_ns;
  r.speaks = changed_ns != 0;
  r.step = status.step;
  r.collective = status.collective;
  r.sample = status.sample;
  r.phase = status.phase;
  r.waiting = status.waiting;
  r.unchanged_s = r.speaks ? std::max(0.0, now - static_cast<double>(changed_ns) * 1e-9) : 0;
  r.error = std::string(status.error, strnlen(status.error, sizeof(status.error)));
  r.ended = rank.process.ended();
  if (r.ended) {
    r.state = 'X';
    r.ended_s = now - rank.ended_s;
    r.exit_code = rank.process.exit_code();
    r.killed_by = rank.process.killed_by();
    // A signal we passed on may end a program that does not catch it: that is what the user asked for.
    if (r.killed_by != 0 && r.killed_by == signalled_) {
      r.exit_code = 128 + std::exchange(r.killed_by, 0);
    }
    r.killed_by_us = rank.killed && r.killed_by == SIGKILL;
    if (r.error.empty() && r.exit_code != 0) r.error = rank.output.last_line().substr(0, sizeof(status.error));
    return r;
  }
  const ProcSample sample = sample_process(rank.process.pid());
  r.state = sample.state;
  if (const double passed = now - rank.last_s; passed >= 0.5) {
    rank.busy = sample.state == 'R' || sample.pages_read > rank.last.pages_read ||
                sample.cpu_s - rank.last.cpu_s >= kBusyCpuShare * passed ||
                static_cast<double>(sample.io_bytes - rank.last.io_bytes) >= kBusyBytesPerSecond * passed;
    rank.last = sample;
    rank.last_s = now;
  }
  r.busy = rank.busy;
  return r;
}

std::vector<RankReport> NodeRanks::reports() {
  std::vector<RankReport> list;
  for (const auto& rank : ranks_) list.push_back(report(*rank));
  return list;
}

}  // namespace tessera
