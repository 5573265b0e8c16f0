#include "launch/control/line_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/error.h"
#include "launch/control/hello.h"
#include "launch/control/listener.h"
#include "launch/node/ports.h"

namespace tessera {
namespace {

std::vector<std::string> receive_some(LineSocket& socket) {
  for (int i = 0; i < 3000; ++i) {
    if (auto lines = socket.receive(); !lines.empty() || socket.broken()) return lines;
    usleep(10000);
  }
  return {};
}

LineSocket call(int port, const char* host = "127.0.0.1") {
  std::string why;
  return {connect_to(host, port, why), "caller", 1 << 20};
}

std::vector<LineSocket> accept_some(Listener& listener) {
  std::vector<LineSocket> answered;
  for (int i = 0; i < 3000 && answered.empty(); ++i, usleep(10000)) answered = listener.accept(i);
  return answered;
}

TEST(LineSocket, CarriesLinesBothWaysAndSeesTheEnd) {
  const ReservedPort port;
  Poller poller;
  Listener listener("127.0.0.1", port.number(), poller);
  LineSocket caller = call(port.number());
  std::vector<LineSocket> answered = accept_some(listener);
  ASSERT_EQ(answered.size(), 1U);
  const std::string longer(300000, 'x');
  caller.send("one");
  EXPECT_EQ(receive_some(answered[0]), std::vector<std::string>{"one"});
  answered[0].send(longer);
  std::vector<std::string> lines;
  for (int i = 0; i < 3000 && lines.empty(); ++i, usleep(1000)) {
    answered[0].flush();
    lines = caller.receive();
  }
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], longer);
  answered.clear();
  receive_some(caller);
  EXPECT_TRUE(caller.broken());
}

TEST(LineSocket, ALineThatIsTooLongEndsIt) {
  const ReservedPort port;
  Poller poller;
  Listener listener("127.0.0.1", port.number(), poller);
  LineSocket caller = call(port.number());
  std::vector<LineSocket> answered = accept_some(listener);
  ASSERT_EQ(answered.size(), 1U);
  const std::string longest(Listener::kLongestFirstLine, 'x');
  caller.send(longest);
  EXPECT_EQ(receive_some(answered[0]), std::vector<std::string>{longest});
  caller.send(longest + "x");
  EXPECT_TRUE(receive_some(answered[0]).empty());
  EXPECT_TRUE(answered[0].broken());
  EXPECT_TRUE(answered[0].too_long());
}

TEST(Listener, ATakenPortIsTold) {
  const ReservedPort port;
  Poller poller;
  const Listener first("127.0.0.1", port.number(), poller);
  EXPECT_THROW(Listener("127.0.0.1", port.number(), poller), Error);
}

TEST(Listener, IsFoundAtTheMastersAddressAlone) {
  const ReservedPort port;
  Poller poller;
  const Listener listener("127.0.0.2", port.number(), poller);
  std::string why;
  EXPECT_FALSE(listener.everywhere());
  EXPECT_TRUE(connect_to("127.0.0.2", port.number(), why).open()) << why;
  EXPECT_FALSE(connect_to("127.0.0.1", port.number(), why).open());
}

TEST(Listener, AnAddressThatDoesNotTellWhereOthersComeInIsAllOfThemAndSaysSo) {
  const ReservedPort port;
  Poller poller;
  for (const char* address : {"192.0.2.1", "no-such-host.invalid"}) {
    ::testing::internal::CaptureStderr();
    const Listener listener(address, port.number(), poller);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(listener.everywhere());
    EXPECT_NE(said.find(address), std::string::npos) << said;
    EXPECT_NE(said.find("all addresses"), std::string::npos) << said;
    std::string why;
    EXPECT_TRUE(connect_to("127.0.0.1", port.number(), why).open()) << why;
  }
}

TEST(Listener, TakesAFewAtATimeAndRests) {
  const ReservedPort port;
  Poller poller;
  Listener listener("127.0.0.1", port.number(), poller);
  std::vector<LineSocket> callers;
  for (size_t i = 0; i < 2 * Listener::kMostAtOnce; ++i) callers.push_back(call(port.number()));
  EXPECT_EQ(listener.accept(100).size(), Listener::kMostAtOnce);
  EXPECT_TRUE(listener.accept(100.05).empty());
  EXPECT_EQ(listener.accept(100.2).size(), Listener::kMostAtOnce);
}

// Without files to be had the listener stays readable; it must not keep the launcher busy with that.
TEST(Listener, RestsWhenNoFileIsToBeHad) {
  const ReservedPort port;
  Poller poller;
  Listener listener("127.0.0.1", port.number(), poller);
  const LineSocket caller = call(port.number());
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit none = before;
  none.rlim_cur = 3;
  setrlimit(RLIMIT_NOFILE, &none);
  const size_t found = listener.accept(100).size(), waked = poller.wait(10);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(found, 0U);
  EXPECT_EQ(waked, 0U);
  EXPECT_TRUE(listener.accept(100.5).empty());
  EXPECT_EQ(listener.accept(101.5).size(), 1U);
}

TEST(LineSocket, NobodyThereIsTold) {
  const ReservedPort port;
  std::string why;
  EXPECT_FALSE(connect_to("127.0.0.1", port.number(), why).open());
  EXPECT_NE(why.find("refused"), std::string::npos) << why;
}

TEST(Hello, NamesWhatDiffers) {
  Hello first, second;
  first.program = second.program = "0.1.0 (a)";
  first.command = second.command = "train x";
  first.num_nodes = second.num_nodes = 2;
  second.node_rank = 1;
  EXPECT_EQ(mismatch(first, second), "");
  second.program = "0.1.0 (b)";
  EXPECT_NE(mismatch(first, second).find("0.1.0 (b)"), std::string::npos);
  EXPECT_NE(mismatch(first, second).find("0.1.0 (a)"), std::string::npos);
  second.program = first.program;
  second.command = "train y";
  EXPECT_NE(mismatch(first, second).find("'train y'"), std::string::npos);
  second.command = first.command;
  second.node_rank = 2;
  EXPECT_NE(mismatch(first, second), "");
}

}  // namespace
}  // namespace tessera
