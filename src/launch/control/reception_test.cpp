#include "launch/control/reception.h"

#include <gtest/gtest.h>

#include "launch/control/messages.h"
#include "launch/node/ports.h"

namespace tessera {
namespace {

constexpr size_t kMost = 17;

Hello a_hello() {
  Hello hello;
  hello.num_nodes = 2;
  hello.node_rank = 1;
  return hello;
}

// A reception on loopback, with a clock in our hands.
class ReceptionTest : public ::testing::Test {
 protected:
  LineSocket call() {
    std::string why;
    return {connect_to("127.0.0.1", port_.number(), why), "test", 1 << 20};
  }

  SealedSocket call_with(const std::string& secret) { return {call(), SealedSocket::Side::kCaller, secret}; }

  // Real moments pass until the system has carried what was sent; on our clock, hardly more.
  std::vector<Arrival> arrival_of(SealedSocket& member) {
    std::vector<Arrival> arrivals;
    for (int i = 0; i < 1000 && arrivals.empty(); ++i, usleep(5000)) {
      now_ += 0.005;
      arrivals = reception_.look(now_, kMost);
      member.receive();
    }
    return arrivals;
  }

  void look_until_waiting(size_t count) {
    for (int i = 0; i < 1000 && reception_.waiting() != count; ++i, usleep(5000)) reception_.look(now_, kMost);
    EXPECT_EQ(reception_.waiting(), count);
  }

  ReservedPort port_;
  Poller poller_;
  Reception reception_{"127.0.0.1", port_.number(), "right", poller_};
  double now_ = 1000;
};

TEST_F(ReceptionTest, AMemberArrives) {
  SealedSocket member = call_with("right");
  member.send(hello_text(a_hello()));
  std::vector<Arrival> arrivals = arrival_of(member);
  ASSERT_EQ(arrivals.size(), 1U);
  EXPECT_EQ(arrivals[0].hello.node_rank, 1);
  arrivals[0].socket.send("welcome");
  std::vector<std::string> texts;
  for (int i = 0; i < 1000 && texts.empty(); ++i, usleep(5000)) texts = member.receive();
  EXPECT_EQ(texts, std::vector<std::string>{"welcome"});
}

TEST_F(ReceptionTest, AConnectionThatSaysNothingHasTenSecondsEvenIfItWouldStayForAnHour) {
  const LineSocket silent = call();
  look_until_waiting(1);
  now_ += Reception::kHello_s - 0.1;
  reception_.look(now_, kMost);
  EXPECT_EQ(reception_.waiting(), 1U);
  now_ += 0.2;
  reception_.look(now_, kMost);
  EXPECT_EQ(reception_.waiting(), 0U);
  now_ += 3600;
  EXPECT_TRUE(reception_.look(now_, kMost).empty());
}

TEST_F(ReceptionTest, HalfALineIsNoHelloEither) {
  // A byte now and then does not buy more time.
  LineSocket slow = call();
  look_until_waiting(1);
  const std::string byte = "a";
  for (int second = 0; second < 9; ++second) {
    EXPECT_EQ(write(slow.fd(), byte.data(), 1), 1);
    reception_.look(++now_, kMost);
    EXPECT_EQ(reception_.waiting(), 1U);
  }
  now_ += 2;
  reception_.look(now_, kMost);
  EXPECT_EQ(reception_.waiting(), 0U);
}

TEST_F(ReceptionTest, WhatAGuestSendsWakesNobodyAndIsReadNowAndThen) {
  LineSocket stranger = call();
  look_until_waiting(1);
  reception_.look(now_ += 1, kMost);
  stranger.send("nonsense");
  usleep(100000);  // it has come
  EXPECT_EQ(poller_.wait(0), 0U);
  const auto answers_after = [&](double seconds) {
    reception_.look(now_ + seconds, kMost);
    usleep(100000);
    return stranger.receive();
  };
  EXPECT_EQ(answers_after(0.5 * Reception::kRead_s).size(), 1U) << "the nonce it was met with";
  EXPECT_EQ(answers_after(1.1 * Reception::kRead_s), std::vector<std::string>{"refused"});
}

TEST_F(ReceptionTest, AMemberIsNotDroppedForACrowd) {
  SealedSocket member = call_with("right");
  look_until_waiting(1);
  for (int i = 0; i < 1000 && !member.proven(); ++i, usleep(5000)) {
    member.receive();
    reception_.look(now_ += 0.005, kMost);
  }
  std::vector<LineSocket> crowd;
  for (size_t i = 0; i < 2 * kMost; ++i) crowd.push_back(call());
  for (int i = 0; i < 5; ++i) reception_.look(now_ += 0.2, kMost);
  EXPECT_EQ(reception_.waiting(), kMost);
  member.send(hello_text(a_hello()));
  EXPECT_EQ(arrival_of(member).size(), 1U);
}

TEST_F(ReceptionTest, WhoeverIsWrongIsToldNothingAndGone) {
  for (const std::string& line : {std::string("GET / HTTP/1.1"), std::string(64, 'a') + " " + std::string(64, 'b'),
                                  std::string(10000, '['), std::string("{\"hello\":{\"ranks\":-5}}")}) {
    LineSocket stranger = call();
    stranger.send(line);
    std::string heard;
    for (int i = 0; i < 1000 && !stranger.broken(); ++i, usleep(5000)) {
      EXPECT_TRUE(reception_.look(now_ += 0.005, kMost).empty());
      for (const std::string& text : stranger.receive()) heard += text + "\n";
    }
    EXPECT_TRUE(heard.size() == 65 || heard.substr(65) == "refused\n" || heard.empty()) << heard;
    now_ += Reception::kGoodbye_s + 1;
    reception_.look(now_, kMost);
    EXPECT_EQ(reception_.waiting(), 0U);
  }
}

TEST_F(ReceptionTest, AMemberWithANonsensicalHelloIsGone) {
  SealedSocket member = call_with("right");
  member.send(R"({"hello":{"ranks":-5}})");
  for (int i = 0; i < 1000 && !member.closed(); ++i, usleep(5000)) {
    member.receive();
    EXPECT_TRUE(reception_.look(now_ += 0.005, kMost).empty());
  }
  EXPECT_TRUE(member.closed());
}

TEST_F(ReceptionTest, TheOldestGoesWhenTooManyWaitAndAMemberStillGetsIn) {
  std::vector<LineSocket> crowd;
  for (int i = 0; i < 200; ++i) {
    crowd.push_back(call());
    if (i % 16 != 15) continue;
    now_ += 0.2;  // it rests after each few
    reception_.look(now_, kMost);
    EXPECT_LE(reception_.waiting(), kMost);
  }
  SealedSocket member = call_with("right");
  member.send(hello_text(a_hello()));
  EXPECT_EQ(arrival_of(member).size(), 1U);
  EXPECT_LE(reception_.waiting(), kMost);
}

TEST_F(ReceptionTest, OneThatIsSeenOffReadsTheLastWord) {
  SealedSocket member = call_with("right");
  member.send(hello_text(a_hello()));
  std::vector<Arrival> arrivals = arrival_of(member);
  ASSERT_EQ(arrivals.size(), 1U);
  arrivals[0].socket.send("go away");
  reception_.see_off(std::move(arrivals[0].socket), "nobody waits for it", now_);
  EXPECT_TRUE(reception_.some_leave(now_));
  std::vector<std::string> texts;
  for (int i = 0; i < 1000 && texts.empty(); ++i, usleep(5000)) texts = member.receive();
  EXPECT_EQ(texts, std::vector<std::string>{"go away"});
  EXPECT_FALSE(reception_.some_leave(now_ + Reception::kGoodbye_s + 1));
}

}  // namespace
}  // namespace tessera
