#pragma once
#include <string>

namespace tessera {

// The address of this host that packets to `peer` leave from: the one under which the other ranks, who talk to the same
// peer, can reach us. A host name may resolve to 127.0.0.1 or to an interface the others do not see; the routing table
// knows better.
std::string local_address(const std::string& peer, int port);

}  // namespace tessera
