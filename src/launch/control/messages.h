#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "launch/control/directive.h"
#include "launch/control/hello.h"
#include "launch/node/rank_report.h"

namespace tessera {

// A text that no launcher sends.
class BadMessage : public Error {
 public:
  using Error::Error;
};

// Reading what launchers tell one another. All of these throw BadMessage that says what is wrong with a text; what they return
// is within bounds, and texts in it can be shown on a terminal.

Hello read_hello(std::string_view text);

// What a node's launcher tells that of node 0: a stop its user asked for, or what its ranks do.
struct NodeMessage {
  int signal = 0;  // SIGINT, SIGTERM or SIGUSR1; 0: none
  int generation = -1;
  std::vector<RankReport> reports;
};
NodeMessage read_node_message(std::string_view text);

Directive read_directive(std::string_view text);

std::string hello_text(const Hello& hello);
std::string signal_text(int signal);
std::string report_text(int generation, const std::vector<RankReport>& reports);

}  // namespace tessera
