#pragma once
#include <string>
#include <vector>

#include "launch/cluster/hosts.h"
#include "launch/options.h"

namespace tessera {

// Starts a launcher on each host, over ssh except on this one, and stays until all have ended. The first host is node 0.
// Variables, the job's secret (Note [Job secret]) and signals go to the launchers over their standard input, and its end is
// theirs, so nothing stays behind when the connection breaks.
int run_hosts(const LaunchOptions& options, const std::vector<Host>& hosts);

// The words that start the launcher of one node there.
std::vector<std::string> node_command(const LaunchOptions& options, const std::vector<Host>& hosts, size_t node,
                                      const std::string& master_addr, int master_port);

// 'it'\''s': one word for a shell.
std::string shell_quoted(const std::string& word);

}  // namespace tessera
