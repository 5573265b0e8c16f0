#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "dist/world.h"

namespace tessera {

// Note [Proof of a rank]
// Ranks that have the job's secret show one another that they do, in this world and not in an earlier one, before they use it.
// Each puts a nonce into its hello; once all hellos are there, each leaves HMAC-SHA256(secret, its rank + all
// hellos). Who does not have the secret cannot leave one, what was left in another world is another for its nonces, and a hello
// that was changed on the way gives two ranks different texts to sign.
std::string make_nonce();  // in hexadecimal

// What only those who have the secret can make, for this world and no other.
std::string world_key(const std::string& secret, const std::vector<std::string>& hellos);

// Leaves the proof of `spec.rank` and checks those of all others. hellos: of all ranks, as they lie in the store; hosts: for
// messages. Throws Error naming the first rank that has another secret, or whose proof does not come.
void exchange_proofs(c10d::Store& store, const RankSpec& spec, const std::string& secret,
                     const std::vector<std::string>& hellos, const std::vector<std::string>& hosts,
                     std::chrono::seconds timeout);

}  // namespace tessera
