#include "dist/rank_proof.h"

#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/error.h"
#include "core/hmac.h"

namespace tessera {
namespace {

std::string proof_key(const RankSpec& spec, int rank) {
  return fmt::format("{}/proof/{}", spec.generation, rank);
}

std::string code_of_world(std::string what, const std::string& secret, const std::vector<std::string>& hellos) {
  for (const std::string& hello : hellos) what += fmt::format("\n{} {}", hello.size(), hello);
  return hex_of(hmac_sha256(secret, what));
}

std::string proof_of(int rank, const std::string& secret, const std::vector<std::string>& hellos) {
  return code_of_world(fmt::format("tessera rank {}", rank), secret, hellos);
}

}  // namespace

std::string make_nonce() {
  return hex_of(random_bytes(32));
}

std::string world_key(const std::string& secret, const std::vector<std::string>& hellos) {
  return code_of_world("tessera world", secret, hellos);
}

void exchange_proofs(c10d::Store& store, const RankSpec& spec, const std::string& secret,
                     const std::vector<std::string>& hellos, const std::vector<std::string>& hosts,
                     std::chrono::seconds timeout) {
  const std::string own = proof_of(spec.rank, secret, hellos);
  store.set(proof_key(spec, spec.rank), std::vector<uint8_t>(own.begin(), own.end()));
  for (int rank = 0; rank < spec.world_size; ++rank) {
    const auto i = static_cast<size_t>(rank);
    const std::string key = proof_key(spec, rank);
    try {
      store.wait({key}, timeout);
    } catch (const std::exception&) {
      fail("rank {} on {} has not shown within {} s that it has the secret of this job; look at its log", rank, hosts[i],
           timeout.count());
    }
    const std::vector<uint8_t> theirs = store.get(key);
    TSR_CHECK(same_code(std::string(theirs.begin(), theirs.end()), proof_of(rank, secret, hellos)),
              "rank {} on {} does not have the same job secret as rank {}, and does not train with it; give all ranks the same "
              "TESSERA_JOB_SECRET_FILE, or look for a stranger at {}:{}",
              rank, hosts[i], spec.rank, spec.master_addr, spec.master_port);
  }
}

}  // namespace tessera
