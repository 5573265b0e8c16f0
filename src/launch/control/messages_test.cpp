#include "launch/control/messages.h"

#include <gtest/gtest.h>

#include <csignal>

#include "core/files.h"
#include "launch/options.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

using nlohmann::json;

Hello a_hello() {
  Hello hello;
  hello.program = "0.1.0 (a)";
  hello.command = "train x";
  hello.num_nodes = 4;
  hello.node_rank = 3;
  hello.ranks = 8;
  hello.host = "h3";
  return hello;
}

RankReport a_report() {
  RankReport report;
  report.rank = 7;
  report.host = "h3";
  report.pid = 4711;
  report.state = 'R';
  return report;
}

// The message with one field changed.
std::string hello_with(const char* name, const json& value) {
  json message = json::parse(hello_text(a_hello()));
  message["hello"][name] = value;
  return json_text(message);
}

std::string report_with(const char* name, const json& value) {
  json message = json::parse(report_text(0, {a_report()}));
  message["report"][0][name] = value;
  return json_text(message);
}

std::string directive_with(Directive::Kind kind, const char* name, const json& value) {
  Directive directive{.kind = kind, .generation = 1, .world_size = 8, .first_rank = 4, .num_nodes = 2, .node_rank = 1};
  directive.store_port = 29501;
  directive.signal = SIGTERM;
  json message = directive;
  message[name] = value;
  return json_text(message);
}

// What the fuzzer begins with (tests/fuzz/seeds.py): from what nobody reads it would learn nothing.
TEST(Messages, TheFuzzersFirstInputsAreMessages) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(testing::source_dir() + "/tests/fuzz/control_seeds")) {
    const std::string name = entry.path().stem(), text = read_text(entry.path());
    EXPECT_NO_THROW({
      if (name == "hello") {
        EXPECT_EQ(read_hello(text).protocol, Hello().protocol);
      } else if (name.starts_with("node-")) {
        read_node_message(text);
      } else {
        read_directive(text);
      }
    }) << name;
    ++count;
  }
  EXPECT_EQ(count, 7U);
}

TEST(Messages, ComeBackAsTheyWere) {
  EXPECT_EQ(read_hello(hello_text(a_hello())).ranks, 8);
  EXPECT_EQ(read_hello(hello_text(a_hello())).command, "train x");
  EXPECT_EQ(read_node_message(signal_text(SIGINT)).signal, SIGINT);
  const NodeMessage message = read_node_message(report_text(2, {a_report(), a_report()}));
  EXPECT_EQ(message.generation, 2);
  EXPECT_EQ(message.signal, 0);
  ASSERT_EQ(message.reports.size(), 2U);
  EXPECT_EQ(json(message.reports[0]), json(a_report()));
  EXPECT_EQ(read_node_message(report_text(-1, {})).reports.size(), 0U);
  const Directive start = read_directive(directive_with(Directive::Kind::kStart, "text", ""));
  EXPECT_EQ(start.world_size, 8);
  EXPECT_EQ(start.first_rank, 4);
  EXPECT_EQ(start.store_port, 29501);
  EXPECT_EQ(read_directive(directive_text({.kind = Directive::Kind::kOver, .exit_code = 137, .text = "a\n  b\n"})).text,
            "a\n  b\n");
}

TEST(Messages, NumbersOutOfTheirBoundsAreRefused) {
  for (const json& ranks : {json(-5), json(0), json(2147483647), json(1e300), json(1.5), json("8"), json(),
                            json(18446744073709551615ULL), json(kMostRanksPerNode + 1), json(true), json::array({8})})
    EXPECT_THROW(read_hello(hello_with("ranks", ranks)), BadMessage) << ranks;
  for (const json& place : {json(-1), json(4), json(1 << 30)})
    EXPECT_THROW(read_hello(hello_with("node_rank", place)), BadMessage);
  EXPECT_THROW(read_hello(hello_with("num_nodes", 0)), BadMessage);
  const std::pair<const char*, json> reports[] = {
      {"rank", -1},           {"rank", 1 << 20},  {"pid", -1},       {"exit_code", 256}, {"exit_code", -1},
      {"killed_by", 1000000}, {"killed_by", -9},  {"state", ""},     {"state", "R"},     {"state", 0},
      {"state", 27},          {"phase", 99},      {"phase", -1},     {"step", -2},       {"unchanged_s", -1},
      {"ended_s", "1"},       {"ended", 1},       {"host", 7},       {"error", nullptr}, {"waiting", "yes"},
      {"collective", 1e30},   {"host", json({})}, {"sample", {1, 2}}};
  for (const auto& [name, value] : reports)
    EXPECT_THROW(read_node_message(report_with(name, value)), BadMessage) << name << " " << value;
  for (const int signal : {0, SIGKILL, SIGHUP, -15, 64, 1000}) EXPECT_THROW(read_node_message(signal_text(signal)), BadMessage);
  const std::tuple<Directive::Kind, const char*, json> directives[] = {
      {Directive::Kind::kStart, "kind", 5},        {Directive::Kind::kStart, "kind", -1},
      {Directive::Kind::kStart, "world_size", 0},  {Directive::Kind::kStart, "first_rank", 8},
      {Directive::Kind::kStart, "first_rank", -1}, {Directive::Kind::kStart, "store_port", 0},
      {Directive::Kind::kStart, "node_rank", 2},   {Directive::Kind::kSignal, "signal", 9},
      {Directive::Kind::kOver, "exit_code", 1000}, {Directive::Kind::kOver, "text", 5}};
  for (const auto& [kind, name, value] : directives)
    EXPECT_THROW(read_directive(directive_with(kind, name, value)), BadMessage) << name << " " << value;
}

TEST(Messages, WhatIsNoMessageIsRefused) {
  const std::string deep(1000, '['), nested = R"({"report":[[[[[1]]]]],"generation":0})";
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("7"), std::string("{"), deep, nested,
        std::string("{\"hello\":[]}"), std::string("{\"report\":{},\"generation\":0}"),
        std::string("{\"report\":[1],\"generation\":0}"), std::string("{\"kind\":{}}"), std::string("\xff\xfe")}) {
    EXPECT_THROW(read_hello(text), BadMessage) << text;
    EXPECT_THROW(read_node_message(text), BadMessage) << text;
    EXPECT_THROW(read_directive(text), BadMessage) << text;
  }
  for (const char* name : {"protocol", "program", "command", "num_nodes", "node_rank", "ranks", "host"}) {
    json message = json::parse(hello_text(a_hello()));
    message["hello"].erase(name);
    EXPECT_THROW(read_hello(json_text(message)), BadMessage) << name;
  }
}

TEST(Messages, BracketsInTextsAreNoDepth) {
  EXPECT_EQ(read_hello(hello_with("command", "train [[[[[[{{{ \\\" [[[")).command, "train [[[[[[{{{ \\\" [[[");
}

TEST(Messages, TextsCanBeShown) {
  EXPECT_EQ(read_hello(hello_with("host", "\x1b]0;pwned\x07\nE 00:00:00 fake")).host, "\\x1b]0;pwned\\x07\\x0aE 00:00:00 fake");
  EXPECT_EQ(read_node_message(report_with("error", "a\nb\x1b[2J")).reports[0].error, "a\\x0ab\\x1b[2J");
  EXPECT_EQ(read_directive(directive_with(Directive::Kind::kOver, "text", "a\nb\x1b[2J")).text, "a\nb\\x1b[2J");
  EXPECT_THROW(read_hello(hello_with("host", std::string(100000, 'x'))), BadMessage);
}

TEST(Hello, ALongCommandIsCutAndStillCompared) {
  LaunchOptions options;
  options.command = {"train", std::string(100000, '\x1b')};
  const Hello first = make_hello(options, {});
  EXPECT_LT(hello_text(first).size(), 16384U);
  EXPECT_EQ(read_hello(hello_text(first)).command, first.command);
  options.command[1].back() = 'x';
  EXPECT_NE(make_hello(options, {}).command, first.command);
}

}  // namespace
}  // namespace tessera
