#include "launch/control/sealed_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "core/hmac.h"

namespace tessera {
namespace {

constexpr size_t kLongest = 4096;
using Lines = std::vector<std::string>;

std::pair<FileHandle, FileHandle> connected() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {FileHandle(ends[0]), FileHandle(ends[1])};
}

SealedSocket sealed(FileHandle end, SealedSocket::Side side, const std::string& secret) {
  return {LineSocket(std::move(end), "peer", kLongest), side, secret};
}

// A listener with the secret "right", and the bare other end of its connection.
struct Stranger {
  Stranger()
      : ends(connected()),
        line(std::move(ends.first), "us", kLongest),
        listener(sealed(std::move(ends.second), SealedSocket::Side::kListener, "right")) {
    nonce = line.receive().at(0);
  }
  // The code that a caller with `secret` and `own` nonce puts before its text.
  std::string code(const std::string& secret, const std::string& own, int number, const std::string& text) const {
    return hex_of(
        hmac_sha256(hmac_sha256(secret, "tessera launch " + nonce + own), "caller " + std::to_string(number) + " " + text));
  }
  std::string first(const std::string& secret, const std::string& own) const { return own + " " + code(secret, own, 0, ""); }
  Lines after(const std::string& text) {
    line.send(text);
    return listener.receive();
  }
  std::pair<FileHandle, FileHandle> ends;
  LineSocket line;
  SealedSocket listener;
  std::string nonce;
};

const std::string kNonce(64, 'a');

TEST(SealedSocket, CarriesTextsBothWaysBetweenThoseWhoHaveTheSecret) {
  for (const char* secret : {"right", ""}) {
    auto ends = connected();
    SealedSocket listener = sealed(std::move(ends.first), SealedSocket::Side::kListener, secret);
    SealedSocket caller = sealed(std::move(ends.second), SealedSocket::Side::kCaller, secret);
    caller.send("hello");
    caller.send("again");
    EXPECT_TRUE(caller.receive().empty());  // the nonce alone
    EXPECT_FALSE(caller.proven());
    EXPECT_TRUE(listener.receive().empty());  // the caller's code
    EXPECT_TRUE(listener.proven());
    EXPECT_TRUE(caller.receive().empty());  // the listener's
    EXPECT_TRUE(caller.proven());
    EXPECT_EQ(listener.receive(), (Lines{"hello", "again"}));
    listener.send("do this");
    EXPECT_EQ(caller.receive(), Lines{"do this"});
    caller.send("done");
    EXPECT_EQ(listener.receive(), Lines{"done"});
    EXPECT_FALSE(listener.broken() || caller.broken());
  }
}

TEST(SealedSocket, AnotherSecretIsRefused) {
  auto ends = connected();
  SealedSocket listener = sealed(std::move(ends.first), SealedSocket::Side::kListener, "right");
  SealedSocket caller = sealed(std::move(ends.second), SealedSocket::Side::kCaller, "wrong");
  caller.send("hello");
  caller.receive();
  EXPECT_TRUE(listener.receive().empty());
  EXPECT_NE(listener.complaint(), "");
  EXPECT_FALSE(listener.proven());
  EXPECT_TRUE(caller.receive().empty());
  EXPECT_TRUE(caller.refused());
}

TEST(SealedSocket, AListenerWithoutTheSecretIsNotBelieved) {
  auto ends = connected();
  SealedSocket caller = sealed(std::move(ends.first), SealedSocket::Side::kCaller, "right");
  LineSocket fake(std::move(ends.second), "fake", kLongest);
  caller.send("a command line");
  fake.send(kNonce);
  EXPECT_TRUE(caller.receive().empty());
  fake.send(std::string(64, '0') + " {\"kind\":1}");
  EXPECT_TRUE(caller.receive().empty());
  caller.send("another");
  EXPECT_NE(caller.complaint(), "");
  EXPECT_FALSE(caller.proven());
  const Lines heard = fake.receive();
  ASSERT_EQ(heard.size(), 1U) << "it hears a nonce and a code, and no text";
  EXPECT_EQ(heard[0].size(), 129U) << heard[0];
}

TEST(SealedSocket, TheFirstThatAListenerSignsIsNoText) {
  auto ends = connected();
  SealedSocket caller = sealed(std::move(ends.first), SealedSocket::Side::kCaller, "right");
  LineSocket listener(std::move(ends.second), "listener", kLongest);
  listener.send(kNonce);
  caller.receive();
  const std::string key = hmac_sha256("right", "tessera launch " + kNonce + listener.receive().at(0).substr(0, 64));
  listener.send(hex_of(hmac_sha256(key, "listener 0 do this")) + " do this");
  EXPECT_TRUE(caller.receive().empty());
  EXPECT_NE(caller.complaint(), "");
}

TEST(SealedSocket, TheTestSpeaksAsACallerDoes) {
  Stranger member;
  EXPECT_TRUE(member.after(member.first("right", kNonce)).empty());
  EXPECT_TRUE(member.listener.proven());
  EXPECT_EQ(member.after(member.code("right", kNonce, 1, "hello") + " hello"), Lines{"hello"});
}

TEST(SealedSocket, FirstLinesThatProveNothing) {
  Stranger model;
  const std::string good = model.first("right", kNonce);
  for (const std::string& line : Lines{"", "GET / HTTP/1.1", "{\"hello\":{}}", kNonce, kNonce + " ", good.substr(0, 128),
                                       good + "0", model.first("wrong", kNonce), model.first("", kNonce), std::string(129, 'z'),
                                       std::string("\0\xff\x1b[31m", 7), good /* of another connection */}) {
    Stranger stranger;
    EXPECT_TRUE(stranger.after(line).empty());
    EXPECT_FALSE(stranger.listener.proven());
    EXPECT_NE(stranger.listener.complaint(), "");
    EXPECT_EQ(stranger.line.receive(), Lines{"refused"}) << "a stranger learns nothing else";
  }
}

TEST(SealedSocket, ReplayedReorderedChangedAndReflectedLines) {
  const auto line = [](const Stranger& s, int number, const std::string& text) {
    return s.code("right", kNonce, number, text) + " " + text;
  };
  const auto refuses = [&](auto&& lines) {
    Stranger member;
    member.after(member.first("right", kNonce));
    Lines got;
    for (const std::string& sent : lines(member)) {
      for (const std::string& text : member.after(sent)) got.push_back(text);
    }
    EXPECT_NE(member.listener.complaint(), "");
    return got;
  };
  EXPECT_EQ(refuses([&](auto& s) { return Lines{line(s, 1, "one"), line(s, 1, "one")}; }), Lines{"one"});    // replayed
  EXPECT_EQ(refuses([&](auto& s) { return Lines{line(s, 2, "two"), line(s, 1, "one")}; }), Lines{});         // reordered
  EXPECT_EQ(refuses([&](auto& s) { return Lines{line(s, 1, "one"), line(s, 3, "three")}; }), Lines{"one"});  // one is missing
  EXPECT_EQ(refuses([&](auto& s) { return Lines{line(s, 1, "one") + " more"}; }), Lines{});                  // changed
  EXPECT_EQ(refuses([&](auto& s) { return Lines{line(s, 1, "one").substr(0, 66)}; }), Lines{});              // truncated
  EXPECT_EQ(refuses([&](auto&) { return Lines{"one"}; }), Lines{});                                          // no code
  EXPECT_EQ(refuses([&](auto& s) {
              s.line.receive();  // that it has the secret
              s.listener.send("ours");
              return s.line.receive();  // what the listener said itself
            }),
            Lines{});
}

TEST(SealedSocket, AfterAComplaintNothingIsHeard) {
  Stranger stranger;
  stranger.after("nonsense");
  EXPECT_TRUE(stranger.after(stranger.first("right", kNonce)).empty());
  EXPECT_FALSE(stranger.listener.proven());
}

TEST(SealedSocket, ALineThatIsTooLongIsAComplaint) {
  Stranger stranger;
  EXPECT_TRUE(stranger.after(std::string(kLongest + 1, '[')).empty());
  EXPECT_NE(stranger.listener.complaint().find("longer"), std::string::npos);
  EXPECT_TRUE(stranger.listener.closed());
}

}  // namespace
}  // namespace tessera
