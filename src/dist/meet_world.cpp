#include <fmt/ranges.h>
#include <netdb.h>

#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/error.h"
#include "core/host_name.h"
#include "core/rank_status.h"
#include "dist/world.h"

namespace tessera {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

c10::intrusive_ptr<c10d::Store> open_store(const RankSpec& spec, std::chrono::seconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(spec.master_port);
  options.isServer = spec.rank == 0 && !spec.launcher_store;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(spec.master_addr, options);
  } catch (const std::exception& e) {
    if (options.isServer) {
      fail(
          "rank 0 cannot listen at {}:{}: another job uses this port, or the address is not of this host; choose another "
          "master port. {}",
          spec.master_addr, spec.master_port, first_line(e.what()));
    }
    fail(
        "rank {} of {} on {} found no rank 0 at {}:{} within {} s; is rank 0 started, and do all ranks have the same master "
        "address and port? {}",
        spec.rank, spec.world_size, host_name(), spec.master_addr, spec.master_port, timeout.count(), first_line(e.what()));
  }
}

std::string hello_key(const RankSpec& spec, int rank) {
  return fmt::format("{}/hello/{}", spec.generation, rank);
}

nlohmann::json hello_of(const RankSpec& spec, const Identity& identity) {
  nlohmann::json hello{{"rank", spec.rank}, {"host", host_name()}, {"world size", std::to_string(spec.world_size)}};
  for (const auto& [name, value] : identity) hello[name] = value;
  return hello;
}

// Says who we are; two of one rank are two jobs at one address.
void say_hello(c10d::Store& store, const RankSpec& spec, const nlohmann::json& hello) {
  TSR_CHECK(
      store.add(fmt::format("{}/claim/{}", spec.generation, spec.rank), 1) == 1,
      "rank {} is at {}:{} already: two jobs use one master port, or two processes have the same rank; choose another port",
      spec.rank, spec.master_addr, spec.master_port);
  store.set(hello_key(spec, spec.rank), bytes_of(hello.dump()));
}

nlohmann::json read_hello(c10d::Store& store, const RankSpec& spec, int rank) {
  const auto bytes = store.get(hello_key(spec, rank));
  return nlohmann::json::parse(bytes.begin(), bytes.end());
}

void wait_for_all(c10d::Store& store, const RankSpec& spec, std::chrono::seconds timeout) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < spec.world_size; ++rank) keys.push_back(hello_key(spec, rank));
  try {
    store.wait(keys, timeout);
  } catch (const std::exception&) {
    std::vector<int> missing;
    for (int rank = 0; rank < spec.world_size; ++rank) {
      if (!store.check({keys[rank]})) missing.push_back(rank);
    }
    fail("{} of {} ranks did not come to {}:{} within {} s: rank {}; look at their logs, or start them", missing.size(),
         spec.world_size, spec.master_addr, spec.master_port, timeout.count(), fmt::join(missing, ", "));
  }
}

void check_alike(const nlohmann::json& one, const nlohmann::json& other) {
  for (const auto& [name, value] : one.items()) {
    if (name == "rank" || name == "host") continue;
    const std::string theirs = other.value(name, "");
    TSR_CHECK(value == theirs, "rank {} on {} has another {} than rank {} on {}: {} and {}; give all ranks the same",
              one.at("rank").get<int>(), one.at("host").get<std::string>(), name, other.at("rank").get<int>(),
              other.at("host").get<std::string>(), value.get<std::string>(), theirs);
  }
}

}  // namespace

std::unique_ptr<World> meet_world(const RankSpec& spec, const Identity& identity, const MeetOptions& options) {
  enter_phase(RankPhase::kMeeting);
  const auto store = open_store(spec, options.meet_timeout);
  const nlohmann::json hello = hello_of(spec, identity);
  say_hello(*store, spec, hello);
  wait_for_all(*store, spec, options.meet_timeout);
  // Everybody compares with everybody: whoever differs, all ranks end and say so.
  for (int rank = 0; rank < spec.world_size; ++rank) check_alike(hello, read_hello(*store, spec, rank));
  return std::make_unique<World>(spec, store, options.cuda, options.timeout);
}

}  // namespace tessera
