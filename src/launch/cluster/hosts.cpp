#include "launch/cluster/hosts.h"

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "core/printable.h"
#include "core/split.h"
#include "launch/numbers.h"
#include "launch/options.h"

namespace tessera {
namespace {

int parse_count(std::string_view text, std::string_view whole) {
  const auto count = parse_whole(text);
  if (!count || *count < 1 || *count > kMostRanksPerNode)
    fail_usage("host '{}': '{}' is no number of ranks; expected e.g. node1:8", printable(whole), printable(text));
  return static_cast<int>(*count);
}

// What may stand on ssh's command line, and in the commands that ssh's settings make of it. A name or a user that begins with a
// dash would be an option.
bool is_host_name(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:%@-").find(c) != std::string_view::npos;
  };
  const size_t at = text.find('@');
  const std::string_view user = text.substr(0, at == std::string_view::npos ? 0 : at),
                         host = at == std::string_view::npos ? text : text.substr(at + 1);
  const bool user_fits = at == std::string_view::npos || (!user.empty() && user[0] != '-');
  return user_fits && !host.empty() && host[0] != '-' && host.find('@') == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), is_plain);
}

Host parse_host(std::string_view text) {
  const std::string_view whole = text;
  Host host;
  const size_t bracket = text.find(']'), colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) host.ranks = parse_count(text.substr(colon + 1), whole);
  text = text.substr(0, colon);
  text.remove_prefix(text.starts_with("[") ? 1 : 0);
  text.remove_suffix(text.ends_with("]") ? 1 : 0);
  if (!is_host_name(text))
    fail_usage("'{}' is no host; expected e.g. node1:8, of letters, digits and ._:%@- alone", printable(whole));
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
