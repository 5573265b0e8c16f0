#pragma once
#include <netdb.h>

#include <string>
#include <vector>

#include "core/descriptor.h"

namespace tessera {

std::string number_of(const sockaddr* address, socklen_t length);  // of a host: "10.0.0.1", "fe80::1%eth0"

// Sockets, not blocking, that listen at those addresses which `host` stands for on this machine, and at no other. None, and
// `why` says so, where it does not tell at which address others come in: it is not found, leads to an address of another
// machine, as that of a service in front of this one, or is a name that only here leads to loopback, as some /etc/hosts have it
// for the host's own. Throws Error naming the port if another program has it.
std::vector<Descriptor> listen_at(const std::string& host, int port, std::string& why);

// The same at all addresses of this machine, IPv6 and IPv4 alike; on one without IPv6, IPv4. Throws Error.
Descriptor listen_everywhere(int port);

}  // namespace tessera
