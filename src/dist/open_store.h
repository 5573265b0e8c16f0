#pragma once
#include <chrono>

#include "dist/rank_spec.h"
#include "dist/world.h"

namespace tessera {

// Where the ranks of a world meet. Those of one host meet on loopback, whatever name the host was given: nobody else has to
// reach them.
std::string meeting_address(const RankSpec& spec);

// The store at which they do. Rank 0 serves it, unless a launcher does; on one host it listens on loopback alone, on several at
// all addresses, as c10d does (docs/security.md says what that trusts). Throws Error that names address and port.
c10::intrusive_ptr<c10d::Store> open_store(const RankSpec& spec, std::chrono::seconds timeout);

}  // namespace tessera
