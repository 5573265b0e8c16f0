#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/error.h"
#include "core/host_name.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/rank_status.h"
#include "dist/open_store.h"
#include "dist/rank_proof.h"
#include "dist/sealed_store.h"
#include "dist/world.h"

namespace tessera {
namespace {

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string hello_key(const RankSpec& spec, int rank) {
  return fmt::format("{}/hello/{}", spec.generation, rank);
}

nlohmann::json hello_of(const RankSpec& spec, const Identity& identity, bool has_secret) {
  nlohmann::json hello{{"rank", spec.rank},
                       {"host", printable(host_name())},
                       {"nonce", make_nonce()},
                       {"job secret", has_secret ? "given" : "none"},
                       {"world size", std::to_string(spec.world_size)}};
  for (const auto& [name, value] : identity) hello[name] = value;
  return hello;
}

// Says who we are; two of one rank are two jobs at one address.
void say_hello(c10d::Store& store, const RankSpec& spec, const nlohmann::json& hello) {
  const std::vector<uint8_t> own = bytes_of(hello.dump());  // no other has its nonce
  TSR_CHECK(
      store.compareSet(hello_key(spec, spec.rank), {}, own) == own,
      "rank {} is at {}:{} already: two jobs use one master port, or two processes have the same rank; choose another port",
      spec.rank, spec.master_addr, spec.master_port);
}

std::vector<std::string> read_hellos(c10d::Store& store, const RankSpec& spec) {
  std::vector<std::string> hellos;
  for (int rank = 0; rank < spec.world_size; ++rank) {
    const auto bytes = store.get(hello_key(spec, rank));
    hellos.emplace_back(bytes.begin(), bytes.end());
  }
  return hellos;
}

// The store answers anybody: what is in it may be anything, and is shown as such.
nlohmann::json parse_hello(const std::string& text, int rank) {
  const auto hello = nlohmann::json::parse(text, nullptr, false);
  const bool whole =
      hello.is_object() && hello.value("rank", nlohmann::json()) == rank &&
      std::all_of(hello.begin(), hello.end(), [](const auto& v) { return v.is_string() || v.is_number_integer(); }) &&
      hello.value("host", nlohmann::json()).is_string();
  TSR_CHECK(whole,
            "what stands for rank {} at the master's address is no hello of this program: {}; is the port in use by another "
            "job, or has "
            "this rank not been given the job secret of the others?",
            rank, printable(text.substr(0, 200)));
  return hello;
}

void wait_for_all(c10d::Store& store, const RankSpec& spec, std::chrono::seconds timeout) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < spec.world_size; ++rank) keys.push_back(hello_key(spec, rank));
  try {
    store.wait(keys, timeout);
  } catch (const std::exception&) {
    std::vector<int> missing;
    try {
      for (int rank = 0; rank < spec.world_size; ++rank) {
        if (!store.check({keys[rank]})) missing.push_back(rank);
      }
    } catch (const std::exception&) {
      fail("rank 0 at {}:{} has ended, and the store with it, before all {} ranks had come; its log says why", spec.master_addr,
           spec.master_port, spec.world_size);
    }
    fail("{} of {} ranks did not come to {}:{} within {} s: rank {}; look at their logs, or start them", missing.size(),
         spec.world_size, spec.master_addr, spec.master_port, timeout.count(), fmt::join(missing, ", "));
  }
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? printable(value.get<std::string>()) : json_text(value);
}

void check_alike(const nlohmann::json& one, const nlohmann::json& other) {
  for (const auto& [name, value] : one.items()) {
    if (name == "rank" || name == "host" || name == "nonce") continue;
    const nlohmann::json theirs = other.value(name, nlohmann::json(""));
    TSR_CHECK(value == theirs, "rank {} on {} has another {} than rank {} on {}: {} and {}; give all ranks the same",
              text_of(one.at("rank")), text_of(one.at("host")), name, text_of(other.at("rank")), text_of(other.at("host")),
              text_of(value), text_of(theirs));
  }
}

// Everybody compares with everybody: whoever differs, all ranks end and say so.
void compare_all(c10d::Store& store, const RankSpec& spec, const nlohmann::json& own, const std::string& secret,
                 const std::vector<std::string>& hellos, std::chrono::seconds timeout) {
  std::vector<std::string> hosts;
  for (int rank = 0; rank < spec.world_size; ++rank) {
    const nlohmann::json hello = parse_hello(hellos[static_cast<size_t>(rank)], rank);
    check_alike(own, hello);
    hosts.push_back(text_of(hello.at("host")));
  }
  if (!secret.empty()) exchange_proofs(store, spec, secret, hellos, hosts, timeout);
}

std::string compared_key(const RankSpec& spec, int rank) {
  return fmt::format("{}/compared/{}", spec.generation, rank);
}

// The store may go with rank 0, which must not end before the others have read from it what is wrong.
void wait_for_the_others(c10d::Store& store, const RankSpec& spec) {
  constexpr auto kPatience = std::chrono::seconds(5);
  std::vector<std::string> keys;
  for (int rank = 0; rank < spec.world_size; ++rank) keys.push_back(compared_key(spec, rank));
  try {
    if (spec.rank == 0) store.wait(keys, kPatience);
  } catch (const std::exception& e) {
    log_debug("not all ranks have seen what is wrong: {}", e.what());
  }
}

}  // namespace

std::unique_ptr<World> meet_world(const RankSpec& given, const Identity& identity, const MeetOptions& options) {
  enter_phase(RankPhase::kMeeting);
  RankSpec spec = given;
  spec.master_addr = meeting_address(given);
  std::string secret;
  const auto find_secret = [&] { secret = options.secret ? options.secret() : ""; };
  // Rank 0 leaves it, where it does, before anybody can find rank 0; those of other hosts look for it once they have.
  const bool at_once = spec.rank == 0 || on_one_host(spec);
  if (at_once) find_secret();
  const auto open = open_store(spec, secret, options.meet_timeout);
  if (!at_once) find_secret();
  // What only processes of this user can reach needs no seal.
  const bool seal = !secret.empty() && !on_one_host(spec);
  const auto sealed = [&](const std::string& key) -> c10::intrusive_ptr<c10d::Store> {
    if (!seal) return open;
    return c10::make_intrusive<SealedStore>(open, key, fmt::format("{}:{}", spec.master_addr, spec.master_port));
  };
  const auto store = sealed(secret);
  const nlohmann::json own = hello_of(spec, identity, !secret.empty());
  say_hello(*store, spec, own);
  wait_for_all(*store, spec, options.meet_timeout);
  const std::vector<std::string> hellos = read_hellos(*store, spec);
  const auto compared = [&] { store->set(compared_key(spec, spec.rank), bytes_of("yes")); };
  try {
    compare_all(*store, spec, own, secret, hellos, options.meet_timeout);
  } catch (const Error&) {
    compared();
    wait_for_the_others(*store, spec);
    throw;
  }
  compared();
  // Of this world alone, for a secret may serve several jobs: what was sealed in another is not believed.
  return std::make_unique<World>(spec, sealed(world_key(secret, hellos)), options.cuda, options.timeout);
}

}  // namespace tessera
