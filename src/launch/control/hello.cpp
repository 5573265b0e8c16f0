#include "launch/control/hello.h"

#include <fmt/ranges.h>

#include "core/hmac.h"
#include "core/host_name.h"
#include "core/printable.h"
#include "core/version.h"

namespace tessera {
namespace {

// As the other side reads it, and never longer than node 0 takes from somebody it does not know yet.
std::string shown_command(const std::vector<std::string>& words) {
  constexpr size_t kLongest = 1900;
  const std::string whole = fmt::format("{}", fmt::join(words, " "));
  if (whole.size() <= kLongest) return printable(whole);
  return fmt::format("{}... (hash {})", printable(whole.substr(0, kLongest)), hex_of(hmac_sha256("command", whole)));
}

}  // namespace

Hello make_hello(const LaunchOptions& options, const LaunchLayout& layout) {
  Hello hello;
  hello.program = fmt::format("{} ({})", version(), build_commit());
  hello.command = shown_command(options.command);
  hello.num_nodes = layout.num_nodes;
  hello.node_rank = layout.node_rank;
  hello.ranks = layout.ranks_here;
  hello.host = printable(host_name());
  return hello;
}

std::string mismatch(const Hello& node0, const Hello& other) {
  const std::string who = fmt::format("node {} on {}", other.node_rank, other.host);
  const auto differ = [&](const char* what, const auto& theirs, const auto& ours) {
    return fmt::format("{} {} {}, node 0 on {} {}; all nodes must have the same", who, what, theirs, node0.host, ours);
  };
  if (other.protocol != node0.protocol) return differ("speaks", other.protocol, node0.protocol);
  if (other.program != node0.program) return differ("runs tessera", other.program, node0.program);
  if (other.command != node0.command)
    return differ("was given the command", "'" + other.command + "'", "'" + node0.command + "'");
  if (other.num_nodes != node0.num_nodes) return differ("counts the nodes as", other.num_nodes, node0.num_nodes);
  if (other.node_rank <= 0 || other.node_rank >= node0.num_nodes)
    return fmt::format("{}: node ranks go from 1 to {}", who, node0.num_nodes - 1);
  return "";
}

}  // namespace tessera
