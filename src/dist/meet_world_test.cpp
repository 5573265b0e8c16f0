#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <torch/types.h>
#include <unistd.h>

#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/error.h"
#include "dist/local_address.h"
#include "dist/open_store.h"
#include "dist/world.h"

namespace tessera {
namespace {

// A port that nobody listened on a moment ago.
int free_port() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(file, reinterpret_cast<sockaddr*>(&address), length), 0);
  getsockname(file, reinterpret_cast<sockaddr*>(&address), &length);
  close(file);
  return ntohs(address.sin_port);
}

// Starts the ranks as threads; returns what each said, empty for one that got through.
std::vector<std::string> meet(const std::vector<RankSpec>& specs, const std::vector<Identity>& identities, int timeout_s = 60,
                              const std::vector<std::string>& secrets = {""}) {
  std::vector<std::string> messages(specs.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < specs.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const auto world =
            meet_world(specs[i], identities[i % identities.size()],
                       {.meet_timeout = std::chrono::seconds(timeout_s), .timeout = std::chrono::seconds(60), .secret = [&, i] {
                          return secrets[i % secrets.size()];
                        }});
        at::Tensor count = at::ones({1}, at::kLong);
        world->control.sum(count);
        if (count.item<int64_t>() != specs[i].world_size) messages[i] = "wrong sum";
        world->control.barrier();
      } catch (const std::exception& e) {
        messages[i] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return messages;
}

RankSpec spec_of(int rank, int size, int port) {
  return {.rank = rank, .world_size = size, .master_port = port};
}

TEST(MeetWorld, RanksMeetAndCount) {
  const int port = free_port();
  const auto messages = meet({spec_of(0, 3, port), spec_of(1, 3, port), spec_of(2, 3, port)}, {{{"config", "a"}}});
  for (const std::string& message : messages) EXPECT_EQ(message, "");
}

TEST(MeetWorld, ADifferentConfigIsFoundAtTheStart) {
  const int port = free_port();
  const auto messages = meet({spec_of(0, 2, port), spec_of(1, 2, port)}, {{{"config", "aaa"}}, {{"config", "bbb"}}});
  EXPECT_NE((messages[0] + messages[1]).find("has another config than rank"), std::string::npos) << messages[0] << messages[1];
  EXPECT_NE(messages[0], "");
  EXPECT_NE(messages[1], "");
}

TEST(MeetWorld, RanksThatNeverComeAreNamed) {
  const auto messages = meet({spec_of(0, 3, free_port())}, {{}}, 1);
  EXPECT_NE(messages[0].find("2 of 3 ranks did not come"), std::string::npos) << messages[0];
  EXPECT_NE(messages[0].find("rank 1, 2"), std::string::npos) << messages[0];
}

TEST(MeetWorld, TwoJobsOnOnePort) {
  const int port = free_port();
  const auto messages = meet({spec_of(0, 2, port), spec_of(0, 2, port)}, {{}}, 3);
  EXPECT_NE((messages[0] + messages[1]).find("another job uses this port"), std::string::npos) << messages[0] << messages[1];
}

TEST(MeetWorld, RanksWithTheSecretMeet) {
  const int port = free_port();
  const auto messages = meet({spec_of(0, 3, port), spec_of(1, 3, port), spec_of(2, 3, port)}, {{}}, 60, {"secret of this job"});
  for (const std::string& message : messages) EXPECT_EQ(message, "");
}

TEST(MeetWorld, ARankWithoutTheSecretIsRefusedOnBothSides) {
  for (const std::string& other : {std::string("another secret"), std::string()}) {
    const int port = free_port();
    const auto messages = meet({spec_of(0, 2, port), spec_of(1, 2, port)}, {{}}, 30, {"secret of this job", other});
    EXPECT_NE(messages[0].find("job secret"), std::string::npos) << messages[0];
    EXPECT_NE(messages[1].find("job secret"), std::string::npos) << messages[1];
  }
}

// Whether somebody accepts connections there.
bool answers(in_addr_t address, int port) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(address);
  at.sin_port = htons(static_cast<uint16_t>(port));
  const bool connected = connect(file, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0;
  close(file);
  return connected;
}

// As if the ranks were on two hosts, which here meet on loopback.
RankSpec far_spec_of(int rank, int port) {
  RankSpec spec = spec_of(rank, 2, port);
  spec.num_nodes = 2;
  spec.node_rank = rank;
  return spec;
}

std::vector<std::string> meet_from_afar(int port, const std::vector<std::string>& secrets, int timeout_s = 60) {
  return meet({far_spec_of(0, port), far_spec_of(1, port)}, {{}}, timeout_s, secrets);
}

TEST(MeetWorld, RanksOfSeveralHostsMeet) {
  for (const char* secret : {"", "secret of this job"}) {
    for (const std::string& message : meet_from_afar(free_port(), {secret})) EXPECT_EQ(message, "");
  }
}

TEST(MeetWorld, ARankOfAnotherHostWithoutTheSecretIsRefused) {
  for (const std::string& other : {std::string("another secret"), std::string()}) {
    const auto messages = meet_from_afar(free_port(), {"secret of this job", other}, 2);
    EXPECT_NE(messages[0].find("rank 1"), std::string::npos) << messages[0];
    EXPECT_NE(messages[1].find(other.empty() ? "job secret" : "rank 0"), std::string::npos) << messages[1];
  }
}

// Names of all that a world of two hosts leaves in its store.
std::vector<std::string> keys_of_a_world(const std::string& secret) {
  const int port = free_port();
  const auto store = open_store(far_spec_of(0, port), "", std::chrono::seconds(30));  // as a launcher would serve it
  std::vector<RankSpec> specs{far_spec_of(0, port), far_spec_of(1, port)};
  for (RankSpec& spec : specs) spec.launcher_store = true;
  for (const std::string& message : meet(specs, {{}}, 60, {secret})) EXPECT_EQ(message, "");
  return store->listKeys();
}

TEST(MeetWorld, AStrangerAtTheStoreIsNotTakenForARank) {
  const std::vector<std::string> keys = keys_of_a_world("secret of this job");
  EXPECT_GT(keys.size(), 8U);  // hellos, proofs, and addresses of three groups
  const int port = free_port();
  std::thread first([&] { EXPECT_EQ(meet({far_spec_of(0, port)}, {{}}, 60, {"secret of this job"}).at(0), ""); });
  const auto stranger = open_store(far_spec_of(1, port), "", std::chrono::seconds(60));
  stranger->wait({"0/hello/0"});
  // It is faster than rank 1 with everything that is not there yet.
  for (const std::string& key : keys) {
    if (!stranger->check({key})) stranger->set(key, std::string("a stranger's word"));
  }
  stranger->add("0/claim/1", 1);
  EXPECT_EQ(meet({far_spec_of(1, port)}, {{}}, 60, {"secret of this job"}).at(0), "");
  first.join();
}

TEST(OpenStore, ListensAtTheMastersAddressAlone) {
  const int port = free_port();
  const auto store = open_store(far_spec_of(0, port), "", std::chrono::seconds(10));
  EXPECT_TRUE(answers(INADDR_LOOPBACK, port));
  EXPECT_FALSE(answers(INADDR_LOOPBACK + 1, port));  // 127.0.0.2 would answer if it listened everywhere
}

TEST(OpenStore, RanksOfOneHostMeetOnLoopback) {
  RankSpec spec = spec_of(0, 2, 1);
  for (const char* name : {"localhost", "some-host"}) {
    spec.master_addr = name;
    EXPECT_EQ(meeting_address(spec), "127.0.0.1");
  }
  spec.master_addr = "::1";
  EXPECT_EQ(meeting_address(spec), "::1");
  spec.master_addr = "some-host";
  spec.num_nodes = 2;
  EXPECT_EQ(meeting_address(spec), "some-host");
  spec.num_nodes = 1;
  spec.launcher_store = true;  // ranks of one host do without it
  EXPECT_EQ(meeting_address(spec), "127.0.0.1");
}

TEST(LocalAddress, IsTheOneTheRouteLeavesFrom) {
  EXPECT_EQ(local_address("127.0.0.1", 80), "127.0.0.1");
  EXPECT_THROW(local_address("no-such-host.invalid", 80), Error);
}

}  // namespace
}  // namespace tessera
