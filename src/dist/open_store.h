#pragma once
#include <chrono>

#include "dist/rank_spec.h"
#include "dist/world.h"

namespace tessera {

// Whether all ranks are processes of this host.
bool on_one_host(const RankSpec& spec);

// Where the ranks of a world meet. Those of one host meet on loopback, whatever name the host was given: nobody else has to
// reach them.
std::string meeting_address(const RankSpec& spec);

// The store at which they do. Ranks of one host have one without a port (Note [Ranks of one host]; secret: for it). On several
// hosts rank 0 serves it at the master's address alone, unless that does not tell where the others come in (core/listen_at.h),
// or a launcher serves it; whoever reaches it can write to it (Note [Sealed store]). Throws Error that names address and port.
c10::intrusive_ptr<c10d::Store> open_store(const RankSpec& spec, const std::string& secret, std::chrono::seconds timeout);

}  // namespace tessera
