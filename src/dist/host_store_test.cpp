#include "dist/host_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <fstream>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/error.h"
#include "core/network_name.h"

namespace tessera {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// No port is opened, so a number that no other test has will do.
RankSpec spec_of(int rank) {
  return {.rank = rank, .world_size = 2, .master_port = static_cast<int>(getpid() % 60000) + 1};
}

// A process of another user that does something under a name, says when it is ready, and stays.
class OtherUser {
 public:
  OtherUser(const std::string& name, bool (*act)(int file, const sockaddr* address, socklen_t length)) {
    std::array<int, 2> ready{};
    EXPECT_EQ(pipe(ready.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      const NetworkName at(name);
      const bool done = setuid(12345) == 0 && act(socket(AF_UNIX, SOCK_STREAM, 0), at.get(), at.length);
      if (write(ready[1], done ? "y" : "n", 1) != 1) _exit(1);
      sleep(600);
      _exit(0);
    }
    EXPECT_EQ(read(ready[0], &word_, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~OtherUser() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool succeeded() const { return word_ == 'y'; }

 private:
  pid_t pid_ = -1;
  char word_ = 0;
};

bool hold_and_listen(int file, const sockaddr* address, socklen_t length) {
  return bind(file, address, length) == 0 && listen(file, 8) == 0;
}

bool hold(int file, const sockaddr* address, socklen_t length) {
  return bind(file, address, length) == 0;
}

// Whether rank 0 hands it anything.
bool ask(int file, const sockaddr* address, socklen_t length) {
  char byte = 0;
  return connect(file, address, length) == 0 && recv(file, &byte, 1, 0) > 0;
}

void expect_shared(const std::string& secret) {
  const auto first = open_host_store(spec_of(0), secret, kPatience), second = open_host_store(spec_of(1), secret, kPatience);
  first->set("a", std::string("1"));
  EXPECT_EQ(second->get_to_str("a"), "1");
  EXPECT_EQ(second->clone()->get_to_str("a"), "1");
  EXPECT_EQ(second->compareSet("a", "", "2"), "1");
}

TEST(HostStore, IsSharedByTheRanksOfOneUser) {
  expect_shared("");
  expect_shared("secret of this job");
}

TEST(HostStore, TheFirstRankMayComeLater) {
  std::string seen;
  std::thread other([&] { seen = open_host_store(spec_of(1), "", kPatience)->get_to_str("a"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const auto first = open_host_store(spec_of(0), "", kPatience);
  first->set("a", std::string("1"));
  other.join();
  EXPECT_EQ(seen, "1");
}

TEST(HostStore, OutlivesTheFirstRank) {
  auto first = open_host_store(spec_of(0), "", kPatience);
  const auto second = open_host_store(spec_of(1), "", kPatience);
  first->set("a", std::string("1"));
  first.reset();
  EXPECT_EQ(second->get_to_str("a"), "1");
}

TEST(HostStore, OpensNoPort) {
  const auto store = open_host_store(spec_of(0), "", kPatience);
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream table(path);
    for (std::string line; std::getline(table, line);) {
      const bool listens = line.find(" 0A ") != std::string::npos;
      EXPECT_FALSE(listens && line.find(fmt::format(":{:04X} ", spec_of(0).master_port)) != std::string::npos) << line;
    }
  }
}

TEST(HostStore, ASecondJobAtThePortIsTold) {
  const auto store = open_host_store(spec_of(0), "", kPatience);
  try {
    open_host_store(spec_of(0), "", kPatience);
    FAIL() << "two jobs at one port";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("another job uses this port"), std::string::npos) << e.what();
  }
}

TEST(HostStore, NobodyThere) {
  try {
    open_host_store(spec_of(1), "", std::chrono::seconds(1));
    FAIL() << "found a rank 0";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("rank 1 of 2"), std::string::npos) << e.what();
  }
}

TEST(HostStore, AnotherUserIsHandedNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const auto store = open_host_store(spec_of(0), "", kPatience);
  EXPECT_FALSE(OtherUser(meeting_name(spec_of(0), ""), ask).succeeded());
}

TEST(HostStore, AnotherUserUnderTheNameIsPassedByWithASecretAndNamedWithoutOne) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  for (const auto& act : {hold_and_listen, hold}) {
    const OtherUser other(meeting_name(spec_of(0), ""), act);
    ASSERT_TRUE(other.succeeded());
    expect_shared("secret of this job");
    try {
      open_host_store(spec_of(0), "", kPatience);
      FAIL() << "met at a stranger's";
    } catch (const Error& e) {
      const char* who = act == hold ? "a process that does not answer" : "a process of another user, number 12345,";
      EXPECT_NE(std::string(e.what()).find(who), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace tessera
