#include "launch/control/messages.h"

#include <cmath>
#include <csignal>
#include <limits>

#include "core/printable.h"
#include "launch/options.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr int kDeepest = 4;  // brackets in brackets: a list of reports in a message has three
constexpr size_t kLongestName = 1024, kLongestError = 4096, kLongestCommand = 8192, kLongestText = 2 << 20;
constexpr int kMostExitCode = 255, kMostSignal = 64;
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

template <class... Args>
void require(bool condition, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) throw BadMessage(fmt::format(text, std::forward<Args>(args)...));
}

// Brackets cost a hundred times their size once they are parsed.
bool is_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && (text[i] == '[' || text[i] == '{') && ++depth > kDeepest) {
      return true;
    } else if (!quoted && (text[i] == ']' || text[i] == '}')) {
      --depth;
    }
  }
  return false;
}

json parse(std::string_view text) {
  require(!is_deep(text), "a message has brackets within brackets, more than {} deep", kDeepest);
  json message = json::parse(text, nullptr, false);
  require(message.is_object(), "a message is no JSON object");
  return message;
}

const json& field(const json& object, const char* name) {
  const auto found = object.find(name);
  require(found != object.end(), "a message has no '{}'", name);
  return *found;
}

int64_t whole(const json& object, const char* name, int64_t low, int64_t high) {
  const json& value = field(object, name);
  const bool fits = value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{kAny});
  require(fits && value.get<int64_t>() >= low && value.get<int64_t>() <= high,
          "'{}' of a message is no whole number from {} to {}", name, low, high);
  return value.get<int64_t>();
}

int small(const json& object, const char* name, int low, int high) {
  return static_cast<int>(whole(object, name, low, high));
}

bool flag(const json& object, const char* name) {
  const json& value = field(object, name);
  require(value.is_boolean(), "'{}' of a message is neither true nor false", name);
  return value.get<bool>();
}

double seconds(const json& object, const char* name) {
  const json& value = field(object, name);
  require(value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0,
          "'{}' of a message is no time in seconds", name);
  return value.get<double>();
}

std::string raw_text(const json& object, const char* name, size_t longest) {
  const json& value = field(object, name);
  require(value.is_string() && value.get_ref<const std::string&>().size() <= longest,
          "'{}' of a message is no text of at most {} bytes", name, longest);
  return value.get<std::string>();
}

std::string line(const json& object, const char* name, size_t longest) {
  return printable(raw_text(object, name, longest));
}

int stop_signal(const json& object, const char* name) {
  const int number = small(object, name, 0, kMostSignal);
  require(number == SIGINT || number == SIGTERM || number == SIGUSR1,
          "a message asks for signal {}; only INT, TERM and USR1 are passed on", number);
  return number;
}

RankReport read_report(const json& object) {
  require(object.is_object(), "a report is no JSON object");
  RankReport r;
  r.rank = small(object, "rank", 0, kMostRanks - 1);
  r.host = line(object, "host", kLongestName);
  r.pid = whole(object, "pid", 0, kAny);
  r.speaks = flag(object, "speaks");
  r.step = whole(object, "step", -1, kAny);
  r.collective = whole(object, "collective", 0, kAny);
  r.sample = whole(object, "sample", -1, kAny);
  r.phase = static_cast<RankPhase>(small(object, "phase", 0, static_cast<int>(RankPhase::kEnding)));
  r.waiting = flag(object, "waiting");
  r.unchanged_s = seconds(object, "unchanged_s");
  r.busy = flag(object, "busy");
  r.state = static_cast<char>(small(object, "state", '!', '~'));
  r.ended = flag(object, "ended");
  r.ended_s = seconds(object, "ended_s");
  r.exit_code = small(object, "exit_code", 0, kMostExitCode);
  r.killed_by = small(object, "killed_by", 0, kMostSignal);
  r.killed_by_us = flag(object, "killed_by_us");
  r.error = line(object, "error", kLongestError);
  return r;
}

}  // namespace

Hello read_hello(std::string_view text) {
  const json message = parse(text);
  const json& object = field(message, "hello");
  require(object.is_object(), "a hello is no JSON object");
  Hello hello;
  hello.protocol = line(object, "protocol", kLongestName);
  hello.program = line(object, "program", kLongestName);
  hello.command = line(object, "command", kLongestCommand);
  hello.num_nodes = small(object, "num_nodes", 1, kMostRanks);
  hello.node_rank = small(object, "node_rank", 0, hello.num_nodes - 1);
  hello.ranks = small(object, "ranks", 1, kMostRanksPerNode);
  hello.host = line(object, "host", kLongestName);
  return hello;
}

NodeMessage read_node_message(std::string_view text) {
  const json message = parse(text);
  NodeMessage found;
  if (message.contains("signal")) {
    found.signal = stop_signal(message, "signal");
    return found;
  }
  found.generation = small(message, "generation", -1, std::numeric_limits<int>::max());
  const json& reports = field(message, "report");
  require(reports.is_array() && reports.size() <= static_cast<size_t>(kMostRanksPerNode), "'report' of a message is no list");
  for (const json& report : reports) found.reports.push_back(read_report(report));
  return found;
}

Directive read_directive(std::string_view text) {
  const json object = parse(text);
  Directive d;
  d.kind = static_cast<Directive::Kind>(small(object, "kind", 0, static_cast<int>(Directive::Kind::kOver)));
  if (d.kind == Directive::Kind::kStart) {
    d.generation = small(object, "generation", 0, std::numeric_limits<int>::max());
    d.world_size = small(object, "world_size", 1, kMostRanks);
    d.first_rank = small(object, "first_rank", 0, d.world_size - 1);
    d.num_nodes = small(object, "num_nodes", 1, kMostRanks);
    d.node_rank = small(object, "node_rank", 0, d.num_nodes - 1);
    d.store_port = small(object, "store_port", 1, 65535);
  }
  if (d.kind == Directive::Kind::kSignal) d.signal = stop_signal(object, "signal");
  d.exit_code = small(object, "exit_code", 0, kMostExitCode);
  d.text = printable_lines(raw_text(object, "text", kLongestText));  // tables have lines
  return d;
}

std::string hello_text(const Hello& hello) {
  return json_text({{"hello", hello}});
}

std::string signal_text(int signal) {
  return json_text({{"signal", signal}});
}

std::string report_text(int generation, const std::vector<RankReport>& reports) {
  return json_text({{"generation", generation}, {"report", reports}});
}

}  // namespace tessera
