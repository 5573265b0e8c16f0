#include "launch/node/ports.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>

namespace tessera {
namespace {

// Holds the name of a port as another user in another process, until this goes; listening or not.
class OtherUser {
 public:
  OtherUser(int port, bool listens) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) hold(port, listens, ready[1]);
    char word = 0;
    EXPECT_EQ(read(ready[0], &word, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~OtherUser() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  [[noreturn]] static void hold(int port, bool listens, int ready) {
    if (setuid(12345) != 0) _exit(1);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "tessera-port-" + std::to_string(port);
    name.copy(address.sun_path + 1, sizeof(address.sun_path) - 1);
    const int file = socket(AF_UNIX, SOCK_STREAM, 0);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (bind(file, reinterpret_cast<sockaddr*>(&address), length) != 0) _exit(1);
    if (listens) listen(file, 1);
    if (write(ready, "x", 1) != 1) _exit(1);
    sleep(600);
    _exit(0);
  }
  pid_t pid_ = -1;
};

int a_free_port() {
  return ReservedPort().number();
}

TEST(ReservedPort, IsKeptFromOthersWhileItLives) {
  const ReservedPort first;
  const ReservedPort second(first.number());
  EXPECT_NE(second.number(), first.number());
  EXPECT_NE(second.refusal().find("your process"), std::string::npos) << second.refusal();
  EXPECT_EQ(first.refusal(), "");
}

TEST(ReservedPort, ANameThatAnotherUserHoldsIsToldAndAnotherPortTaken) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  for (const bool listens : {true, false}) {
    const int wanted = a_free_port();
    const OtherUser other(wanted, listens);
    const ReservedPort port(wanted);
    EXPECT_NE(port.number(), wanted);
    EXPECT_NE(port.refusal().find(listens ? "of another user, number 12345" : "does not answer"), std::string::npos)
        << port.refusal();
  }
}

}  // namespace
}  // namespace tessera
