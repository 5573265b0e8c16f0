#include "dist/open_store.h"

#include <optional>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/error.h"
#include "core/host_name.h"
#include "core/listen_at.h"
#include "core/log.h"
#include "core/loopback.h"
#include "dist/host_store.h"

namespace tessera {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

[[noreturn]] void cannot_listen(const RankSpec& spec, const std::string& why) {
  fail(
      "rank 0 cannot listen at {}:{}: another job uses this port, or the address is not of this host; choose another "
      "master port. {}",
      spec.master_addr, spec.master_port, why);
}

// A socket at the master's address, for c10d by itself would take all of them; none where that is what is left to do.
std::optional<int> bind_only(const RankSpec& spec, const std::string& address) {
  std::string why;
  std::vector<Descriptor> sockets;
  try {
    sockets = listen_at(address, spec.master_port, why);
  } catch (const Error& e) {
    cannot_listen(spec, e.what());
  }
  if (sockets.empty() && is_loopback(address)) cannot_listen(spec, why);
  if (!sockets.empty()) return sockets.front().release();  // c10d takes one; who calls tries all addresses of a name
  log_warn("{}: the ranks' store listens at all addresses, port {}; a master address of this host keeps it to that one", why,
           spec.master_port);
  return std::nullopt;
}

}  // namespace

bool on_one_host(const RankSpec& spec) {
  return spec.num_nodes == 1;
}

std::string meeting_address(const RankSpec& spec) {
  if (spec.master_addr != "localhost" && is_loopback(spec.master_addr)) return spec.master_addr;
  return on_one_host(spec) || spec.master_addr == "localhost" ? kLoopback : spec.master_addr;
}

c10::intrusive_ptr<c10d::Store> open_store(const RankSpec& spec, const std::string& secret, std::chrono::seconds timeout) {
  if (on_one_host(spec)) return open_host_store(spec, secret, timeout);
  const std::string address = meeting_address(spec);
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(spec.master_port);
  options.isServer = spec.rank == 0 && !spec.launcher_store;
  options.waitWorkers = false;
  options.timeout = timeout;
  if (options.isServer) options.masterListenFd = bind_only(spec, address);
  try {
    return c10::make_intrusive<c10d::TCPStore>(address, options);
  } catch (const std::exception& e) {
    if (options.isServer) cannot_listen(spec, first_line(e.what()));
    fail(
        "rank {} of {} on {} found no rank 0 at {}:{} within {} s; is rank 0 started, and do all ranks have the same master "
        "address and port? {}",
        spec.rank, spec.world_size, host_name(), address, spec.master_port, timeout.count(), first_line(e.what()));
  }
}

}  // namespace tessera
