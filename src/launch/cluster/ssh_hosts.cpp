#include "launch/cluster/ssh_hosts.h"

#include <fcntl.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <sstream>

#include "core/clock.h"
#include "core/host_name.h"
#include "core/log.h"
#include "core/loopback.h"
#include "launch/cluster/addresses.h"
#include "launch/cluster/command_line.h"
#include "launch/cluster/job_secret.h"
#include "launch/cluster/passed_on.h"
#include "launch/node/poller.h"
#include "launch/node/ports.h"
#include "launch/node/process.h"
#include "launch/node/rank_output.h"
#include "launch/node/stop_source.h"

extern char** environ;

namespace tessera {
namespace {

constexpr int kLook_ms = 200, kSshFailed = 255;
constexpr double kLongestEnd_s = 15;

std::string without_user(const std::string& host) {
  return host.substr(host.find('@') + 1);
}

// Variables go over standard input: a command line is shown by ps to everybody on both hosts. A shell that reads them before it
// becomes the launcher is all that the other host needs; `read` takes no more than its line. It is sh by name, for the user's
// own shell there may be another.
std::string remote_command(const std::vector<std::string>& words) {
  std::string script =
      R"(_n=$(printf '\n_'); _n=${_n%_}; while IFS= read -r _v && [ -n "$_v" ]; do eval "export $_v"; done; unset _n _v; cd )" +
      shell_quoted(fs::current_path().string()) + " && exec";
  for (const std::string& word : words) script += " " + shell_quoted(word);
  return "exec sh -c " + shell_quoted(script);
}

// NAME='value' for that shell, a line each, and an empty line. $_n is its newline.
std::string variable_lines() {
  const std::string newline = R"('"$_n"')";
  std::string text;
  for (const auto& [name, plain] : passed_on_variables()) {
    std::string value = shell_quoted(plain);
    for (size_t at = 0; (at = value.find('\n', at)) != std::string::npos; at += newline.size()) value.replace(at, 1, newline);
    text += name + "=" + value + "\n";
  }
  return text + "\n";
}

// What starts the launcher of a node, and what is written to it first.
struct Transport {
  ProcessSpec spec;
  std::string input;
};

Transport transport(const LaunchOptions& options, const Host& host, const std::vector<std::string>& words) {
  Transport way;
  for (char** entry = environ; *entry != nullptr; ++entry) way.spec.environment.emplace_back(*entry);
  way.spec.pipe_stdin = true;
  if (options.ssh.empty() && is_own_address(without_user(host.name))) {
    way.spec.words = words;
    return way;
  }
  std::istringstream ssh(options.ssh.empty() ? "ssh -o BatchMode=yes" : options.ssh);
  for (std::string word; ssh >> word;) way.spec.words.push_back(word);
  way.spec.words.push_back(host.name);
  way.spec.words.push_back(remote_command(words));
  way.input = variable_lines();
  return way;
}

class Node {
 public:
  Node(const Transport& way, const std::string& secret) : process(way.spec), unsent_(way.input + "secret " + secret + "\n") {
    fcntl(process.in(), F_SETFL, O_NONBLOCK);  // one that is not connected yet reads nothing, and the others must not wait
    flush();
  }

  void tell(const std::string& line) {
    unsent_ += line + "\n";
    flush();
  }

  void flush() {
    while (!unsent_.empty() && !process.ended()) {
      const ssize_t sent = write(process.in(), unsent_.data(), unsent_.size());
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno != EAGAIN) {
        log_debug("a launcher does not listen any more");
        unsent_.clear();
      }
      if (sent < 0) return;
      unsent_.erase(0, static_cast<size_t>(sent));
    }
  }

  Process process;

 private:
  std::string unsent_;
};

class HostStarter {
 public:
  HostStarter(const LaunchOptions& options, const std::vector<Host>& hosts)
      : hosts_(hosts), stop_(poller_, options.reads_stdin) {
    std::string address = without_user(hosts.front().name);
    // "localhost" as the first of several hosts would mean something else on each of them.
    const bool others =
        std::any_of(hosts.begin(), hosts.end(), [](const Host& host) { return !is_loopback(without_user(host.name)); });
    if (is_loopback(address) && others) address = host_name();
    port_ = std::make_unique<ReservedPort>(options.master_port.value_or(0));
    const int port = options.master_port.value_or(port_->number());
    port_.reset();
    const std::string secret = make_secret();
    for (size_t n = 0; n < hosts.size(); ++n) {
      nodes_.push_back(
          std::make_unique<Node>(transport(options, hosts[n], node_command(options, hosts, n, address, port)), secret));
      pass_through(nodes_.back()->process.out(), STDOUT_FILENO);
      pass_through(nodes_.back()->process.err(), STDERR_FILENO);
    }
  }

  int run() {
    Process& first = nodes_.front()->process;
    while (!first.reap()) {
      poller_.wait(kLook_ms);
      pass_on_signals();
      notice_lost_nodes();
    }
    wait_for_the_others();
    const bool cut_off = first.killed_by() != 0 || first.exit_code() == kSshFailed;
    if (cut_off || (first.exit_code() != 0 && !heard_errors_)) {
      log_error("the launcher of node 0 on {} could not be started or was cut off", hosts_.front().name);
    }
    return cut_off ? 1 : first.exit_code();
  }

 private:
  void pass_through(int from, int to) {
    poller_.watch(from, [this, from, to] {
      char buffer[65536];
      ssize_t got = 0;
      while ((got = read(from, buffer, sizeof(buffer))) > 0) {
        heard_errors_ = heard_errors_ || to == STDERR_FILENO;
        if (write(to, buffer, static_cast<size_t>(got)) < 0) break;
      }
      if (got == 0) poller_.forget(from);
    });
  }

  void pass_on_signals() {
    for (const auto& node : nodes_) node->flush();
    for (const int number : stop_.take_signals()) nodes_.front()->tell(fmt::format("signal {}", number));
    if (stop_.starter_gone()) nodes_.front()->tell(fmt::format("signal {}", SIGTERM));
  }

  void notice_lost_nodes() {
    for (size_t n = 1; n < nodes_.size(); ++n) {
      Process& process = nodes_[n]->process;
      if (process.ended() || !process.reap()) continue;
      const bool bad = process.exit_code() != 0 || process.killed_by() != 0;
      if (bad) log_warn("the launcher of node {} on {} has ended with exit code {}", n, hosts_[n].name, process.exit_code());
      if (bad) nodes_.front()->tell(fmt::format("lost {}", n));
    }
  }

  void wait_for_the_others() {
    const double began = monotonic_s();
    const auto all_ended = [&] {
      return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->process.reap(); });
    };
    while (!all_ended() && monotonic_s() - began < kLongestEnd_s) {
      poller_.wait(kLook_ms);
      stop_.take_signals();
    }
    poller_.wait(0);  // the last words
    for (const auto& node : nodes_) {
      poller_.forget(node->process.out());
      poller_.forget(node->process.err());
    }
  }

  const std::vector<Host>& hosts_;
  bool heard_errors_ = false;
  Poller poller_;
  StopSource stop_;
  std::unique_ptr<ReservedPort> port_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace

std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::vector<std::string> node_command(const LaunchOptions& options, const std::vector<Host>& hosts, size_t node,
                                      const std::string& master_addr, int master_port) {
  std::vector<std::string> words = {own_program(),
                                    "launch",
                                    "--reads-stdin",
                                    "--nnodes",
                                    std::to_string(hosts.size()),
                                    "--node-rank",
                                    std::to_string(node),
                                    "--master-addr",
                                    master_addr,
                                    "--master-port",
                                    std::to_string(master_port),
                                    "--restarts",
                                    std::to_string(options.restarts),
                                    "--min-ranks",
                                    std::to_string(options.min_ranks),
                                    "--hang-timeout",
                                    fmt::format("{}", options.hang_timeout_s),
                                    "--start-timeout",
                                    fmt::format("{}", options.start_timeout_s),
                                    "--log-dir",
                                    options.log_dir.string()};
  const int ranks = hosts[node].ranks > 0 ? hosts[node].ranks : options.ranks_per_node.value_or(0);
  if (ranks > 0) words.insert(words.end(), {"--ranks-per-node", std::to_string(ranks)});
  if (options.tee) words.emplace_back("--tee");
  if (!options.bind) words.emplace_back("--no-bind");
  words.emplace_back("--");
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

int run_hosts(const LaunchOptions& options, const std::vector<Host>& hosts) {
  return HostStarter(options, hosts).run();
}

}  // namespace tessera
