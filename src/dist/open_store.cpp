#include "dist/open_store.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/error.h"
#include "core/host_name.h"
#include "core/loopback.h"

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

// A socket bound to one address of this machine; c10d by itself would take all of them.
int bind_only(const RankSpec& spec, const std::string& address) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  const int failed = getaddrinfo(address.c_str(), std::to_string(spec.master_port).c_str(), &hints, &found);
  if (failed != 0) cannot_listen(spec, gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  const int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Listening already tells two jobs on one port apart; c10d may call it again.
  if (file >= 0 && bind(file, found->ai_addr, found->ai_addrlen) == 0 && listen(file, SOMAXCONN) == 0) return file;
  const std::string why = std::strerror(errno);
  if (file >= 0) close(file);
  cannot_listen(spec, why);
}

}  // namespace

std::string meeting_address(const RankSpec& spec) {
  if (spec.master_addr != "localhost" && is_loopback(spec.master_addr)) return spec.master_addr;
  const bool one_host = spec.num_nodes == 1 && !spec.launcher_store;
  return one_host || spec.master_addr == "localhost" ? kLoopback : spec.master_addr;
}

c10::intrusive_ptr<c10d::Store> open_store(const RankSpec& spec, std::chrono::seconds timeout) {
  const std::string address = meeting_address(spec);
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(spec.master_port);
  options.isServer = spec.rank == 0 && !spec.launcher_store;
  options.waitWorkers = false;
  options.timeout = timeout;
  if (options.isServer && is_loopback(address)) options.masterListenFd = bind_only(spec, address);
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
