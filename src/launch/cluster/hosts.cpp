#include "launch/cluster/hosts.h"

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "core/split.h"
#include "launch/numbers.h"

namespace tessera {
namespace {

constexpr int64_t kMostRanks = 4096;

int parse_count(std::string_view text, std::string_view whole) {
  const auto count = parse_whole(text);
  if (!count || *count < 1 || *count > kMostRanks)
    fail_usage("host '{}': '{}' is no number of ranks; expected e.g. node1:8", whole, text);
  return static_cast<int>(*count);
}

Host parse_host(std::string_view text) {
  const std::string_view whole = text;
  Host host;
  const size_t bracket = text.find(']'), colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) host.ranks = parse_count(text.substr(colon + 1), whole);
  text = text.substr(0, colon);
  text.remove_prefix(text.starts_with("[") ? 1 : 0);
  text.remove_suffix(text.ends_with("]") ? 1 : 0);
  // A name that begins with a dash would be an option of ssh.
  if (text.empty() || text[0] == '-' || text.find_first_of(" \t'\"$;&|") != std::string_view::npos)
    fail_usage("'{}' is no host; expected e.g. node1:8", whole);
  host.name = text;
  return host;
}

}  // namespace

std::vector<Host> parse_hosts(std::string_view text) {
  std::vector<Host> hosts;
  for (const std::string& part : split(text, ',')) {
    if (!part.empty()) hosts.push_back(parse_host(part));
  }
  if (hosts.empty()) fail_usage("--hosts '{}' names no host; expected e.g. node1:8,node2:8", text);
  return hosts;
}

std::vector<Host> read_hostfile(const fs::path& path) {
  std::vector<Host> hosts;
  for (const std::string& line : read_lines(path)) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, count;
    if (!(words >> name)) continue;
    Host host = parse_host(name);
    if (words >> count) {
      const size_t equals = count.find('=');
      host.ranks = parse_count(std::string_view(count).substr(equals == std::string::npos ? 0 : equals + 1), line);
    }
    hosts.push_back(host);
  }
  if (hosts.empty()) fail_usage("{} names no host; expected lines such as: node1:8", path.string());
  return hosts;
}

}  // namespace tessera
