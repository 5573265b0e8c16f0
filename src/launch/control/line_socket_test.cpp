#include "launch/control/line_socket.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "launch/control/hello.h"
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

TEST(LineSocket, CarriesLinesBothWaysAndSeesTheEnd) {
  const ReservedPort port;
  const FileHandle listener = listen_on(port.number());
  std::string why;
  LineSocket caller(connect_to("127.0.0.1", port.number(), why), "caller");
  std::vector<LineSocket> answered;
  for (int i = 0; i < 3000 && answered.empty(); ++i, usleep(10000)) answered = accept_all(listener);
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

TEST(LineSocket, ATakenPortIsTold) {
  const ReservedPort port;
  const FileHandle first = listen_on(port.number());
  EXPECT_THROW(listen_on(port.number()), Error);
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
