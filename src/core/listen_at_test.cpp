#include "core/listen_at.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/error.h"

namespace tessera {
namespace {

int port_of(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

std::string host_of(const Descriptor& listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  EXPECT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  return number_of(reinterpret_cast<sockaddr*>(&address), length);
}

TEST(ListenAt, IsAtThatAddressAlone) {
  std::string why;
  const auto sockets = listen_at("127.0.0.2", 0, why);
  ASSERT_EQ(sockets.size(), 1U) << why;
  EXPECT_EQ(host_of(sockets[0]), "127.0.0.2");
}

TEST(ListenAt, SaysWhyItIsNowhere) {
  std::string why;
  EXPECT_TRUE(listen_at("192.0.2.1", 0, why).empty());  // for documentation: nobody has it
  EXPECT_NE(why.find("192.0.2.1 (192.0.2.1) is no address of this host"), std::string::npos) << why;
  EXPECT_TRUE(listen_at("no-such-host.invalid", 0, why).empty());
  EXPECT_NE(why.find("host no-such-host.invalid: "), std::string::npos) << why;
}

TEST(ListenAt, APortThatIsTakenIsNamed) {
  std::string why;
  const auto first = listen_at("127.0.0.1", 0, why);
  ASSERT_EQ(first.size(), 1U);
  const int port = port_of(first[0]);
  EXPECT_THROW(listen_at("127.0.0.1", port, why), Error);
  EXPECT_THROW(listen_everywhere(port), Error);
}

TEST(ListenAt, EverywhereIsAtNoAddressOfItsOwn) {
  const std::string host = host_of(listen_everywhere(0));
  EXPECT_TRUE(host == "::" || host == "0.0.0.0") << host;
}

}  // namespace
}  // namespace tessera
