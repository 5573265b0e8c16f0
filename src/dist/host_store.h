#pragma once
#include <chrono>
#include <string>

#include "dist/rank_spec.h"
#include "dist/world.h"

namespace tessera {

// Note [Ranks of one host]
// A port on loopback is open to every user of the machine, and c10d's TCPStore believes whoever connects to it. So ranks of one
// host have no port for their store: it lies in memory of rank 0 that has no name in any folder, and rank 0 hands its
// descriptor over a Unix socket to processes of its own user, which the kernel tells apart. The socket has a name of the
// network, no file, so nothing is left behind by a kill. It is made of the master's port, which whoever started the ranks told
// them; where another user holds that name, it is made of the job's secret too.

// The store of `spec`, whose ranks are all on this host. Rank 0 makes it, the others wait for it. secret: of the job, or "".
// Throws Error naming the port, and who is in the way.
c10::intrusive_ptr<c10d::Store> open_host_store(const RankSpec& spec, const std::string& secret, std::chrono::seconds timeout);

// Under which ranks of one host meet, after the zero byte that such names begin with. secret: "" for the name that anybody may
// know.
std::string meeting_name(const RankSpec& spec, const std::string& secret);

}  // namespace tessera
