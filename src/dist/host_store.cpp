#include "dist/host_store.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/hmac.h"
#include "core/host_name.h"
#include "core/log.h"
#include "core/network_name.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRetry = std::chrono::milliseconds(20);
constexpr int kAnswer_ms = 5000;

// Whose process is at the other end; nothing if that cannot be told.
std::optional<uid_t> user_of(const Descriptor& connection) {
  const auto who = peer_of(connection.get());
  return who ? std::optional(who->uid) : std::nullopt;
}

std::string shown_user(std::optional<uid_t> user) {
  return user ? fmt::format("a process of another user, number {},", *user) : "a process that does not answer";
}

Descriptor connect_to_name(const std::string& name) {
  Descriptor caller(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const NetworkName at(name);
  return connect(caller.get(), at.get(), at.length) == 0 ? std::move(caller) : Descriptor();
}

// The one byte that goes along is what a message must have; the descriptor is what is meant.
struct Message {
  Message() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = room.size();
  }
  char byte = 's';
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr header{};
};

bool hand_over(const Descriptor& connection, int file) {
  Message message;
  cmsghdr* entry = CMSG_FIRSTHDR(&message.header);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(entry), &file, sizeof(file));
  return sendmsg(connection.get(), &message.header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

// Not ok if none comes.
Descriptor take_over(const Descriptor& connection) {
  pollfd waiting{connection.get(), POLLIN, 0};
  Message message;
  if (poll(&waiting, 1, kAnswer_ms) != 1 || recvmsg(connection.get(), &message.header, MSG_CMSG_CLOEXEC) != 1) return {};
  const cmsghdr* entry = CMSG_FIRSTHDR(&message.header);
  if (entry == nullptr || entry->cmsg_type != SCM_RIGHTS || entry->cmsg_len != CMSG_LEN(sizeof(int))) return {};
  int file = -1;
  std::memcpy(&file, CMSG_DATA(entry), sizeof(file));
  return Descriptor(file);
}

// Hands the store's memory to whoever of this user asks, as long as it lives; others hear nothing.
class Door {
 public:
  Door(Descriptor listener, int file) : listener_(std::move(listener)), thread_([this, file] { serve(file); }) {}
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door() {
    shutdown(listener_.get(), SHUT_RDWR);  // accept() returns
    thread_.join();
  }

 private:
  void serve(int file) const {
    for (;;) {
      const Descriptor caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (caller.ok()) {
        if (user_of(caller) == geteuid()) hand_over(caller, file);
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
        std::this_thread::sleep_for(kRetry);
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return;
      }
    }
  }

  Descriptor listener_;
  std::thread thread_;
};

// What must outlive the store, so it is a base before it: FileStore writes to its path even in its destructor.
struct StoreMemory {
  std::shared_ptr<Descriptor> file;
  std::shared_ptr<Door> door;  // of rank 0
};

// c10d's store in a file; the file is found through our own descriptor of it.
class HostStore : private StoreMemory, public c10d::FileStore {
 public:
  explicit HostStore(const StoreMemory& memory)
      : StoreMemory(memory), FileStore(fmt::format("/proc/self/fd/{}", memory.file->get()), kUncounted) {}
  c10::intrusive_ptr<c10d::Store> clone() override {
    auto other = c10::make_intrusive<HostStore>(static_cast<const StoreMemory&>(*this));
    other->setTimeout(getTimeout());
    return other;
  }

 private:
  static constexpr int kUncounted = -1;  // nobody has to remove the file
};

Descriptor listen_under(const std::string& name) {
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const NetworkName at(name);
  const bool ours = bind(listener.get(), at.get(), at.length) == 0 && listen(listener.get(), SOMAXCONN) == 0;
  return ours ? std::move(listener) : Descriptor();
}

Descriptor listen_for_ranks(const RankSpec& spec, const std::string& secret) {
  const std::string plain = meeting_name(spec, "");
  if (Descriptor listener = listen_under(plain); listener.ok()) return listener;
  TSR_CHECK(errno == EADDRINUSE, "rank 0 cannot listen for the other ranks: {}", std::strerror(errno));
  const Descriptor holder = connect_to_name(plain);
  const auto user = holder.ok() ? user_of(holder) : std::nullopt;
  TSR_CHECK(user != geteuid(),
            "rank 0 cannot use port {} as its ranks' meeting place: another job uses this port; choose another master port",
            spec.master_port);
  TSR_CHECK(
      !secret.empty(),
      "{} holds the name under which ranks of port {} meet ({}); choose another master port, or give all ranks a secret of "
      "the job: TESSERA_JOB_SECRET_FILE",
      shown_user(user), spec.master_port, plain);
  log_warn("{} holds the name under which ranks of port {} meet; they meet under another, made of the job's secret",
           shown_user(user), spec.master_port);
  Descriptor listener = listen_under(meeting_name(spec, secret));
  TSR_CHECK(listener.ok(),
            "rank 0 cannot use port {} as its ranks' meeting place: another job uses this port and the same secret: {}",
            spec.master_port, std::strerror(errno));
  return listener;
}

StoreMemory make_memory(const RankSpec& spec, const std::string& secret) {
  StoreMemory memory;
  Descriptor listener = listen_for_ranks(spec, secret);
  memory.file = std::make_shared<Descriptor>(memfd_create("tessera-store", MFD_CLOEXEC));
  TSR_CHECK(memory.file->ok() && fchmod(memory.file->get(), 0600) == 0, "cannot make memory for the ranks' store: {}",
            std::strerror(errno));
  memory.door = std::make_shared<Door>(std::move(listener), memory.file->get());
  return memory;
}

// A rank that is not the first. Whoever else is at its meeting place is passed by.
StoreMemory find_memory(const RankSpec& spec, const std::string& secret, std::chrono::seconds timeout) {
  std::string in_the_way;
  for (const auto end = Clock::now() + timeout; Clock::now() < end; std::this_thread::sleep_for(kRetry)) {
    for (const std::string& key : {std::string(), secret}) {
      const Descriptor connection = connect_to_name(meeting_name(spec, key));
      if (!connection.ok()) continue;
      if (const auto user = user_of(connection); user != geteuid()) {
        in_the_way = fmt::format("; {} is where they meet", shown_user(user));
      } else if (Descriptor file = take_over(connection); file.ok()) {
        return {std::make_shared<Descriptor>(std::move(file)), nullptr};
      }
    }
  }
  fail(
      "rank {} of {} on {} found no rank 0 at port {} within {} s; is rank 0 started, and do all ranks have the same master "
      "port?{}",
      spec.rank, spec.world_size, host_name(), spec.master_port, timeout.count(), in_the_way);
}

}  // namespace

std::string meeting_name(const RankSpec& spec, const std::string& secret) {
  const std::string plain = fmt::format("tessera-store-{}-{}", spec.master_port, spec.generation);
  return secret.empty() ? plain : "tessera-store-" + hex_of(hmac_sha256(secret, plain));
}

c10::intrusive_ptr<c10d::Store> open_host_store(const RankSpec& spec, const std::string& secret, std::chrono::seconds timeout) {
  auto store = c10::make_intrusive<HostStore>(spec.rank == 0 ? make_memory(spec, secret) : find_memory(spec, secret, timeout));
  store->setTimeout(timeout);
  return store;
}

}  // namespace tessera
