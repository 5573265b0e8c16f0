// libFuzzer target: what launchers tell one another, after its code has been checked. Only a BadMessage may come out; what is
// read is within bounds, can be shown, and is read again as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/printable.h"
#include "launch/control/messages.h"
#include "launch/options.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

template <class Read>
void try_to(Read read) {
  try {
    read();
  } catch (const tessera::BadMessage& error) {
    require(tessera::printable(error.what()) == error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_to([&] {
    const Hello hello = read_hello(text);
    require(hello.ranks >= 1 && hello.ranks <= kMostRanksPerNode && hello.node_rank < hello.num_nodes);
    require(printable(hello.host + hello.command) == hello.host + hello.command);
  });
  try_to([&] {
    const NodeMessage message = read_node_message(text);
    for (const RankReport& report : message.reports) {
      require(report.exit_code >= 0 && report.exit_code <= 255 && report.killed_by >= 0 && report.killed_by <= 64);
      require(printable(report.error + report.host + report.state) == report.error + report.host + report.state);
    }
    require(message.signal != 0 ||
            read_node_message(report_text(message.generation, message.reports)).reports.size() == message.reports.size());
  });
  try_to([&] {
    const Directive directive = read_directive(text);
    require(printable_lines(directive.text) == directive.text);
    require(read_directive(directive_text(directive)).kind == directive.kind);
  });
  return 0;
}
