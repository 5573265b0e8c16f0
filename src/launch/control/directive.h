#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "core/json_text.h"

namespace tessera {

// Launchers speak to one another every second; one that has not been heard for this long is lost.
inline constexpr double kSilence_s = 10;

// What the launcher of node 0 tells a node, itself included.
struct Directive {
  enum class Kind {
    kTick,    // we are still there
    kStart,   // start your ranks
    kSignal,  // pass this signal to your ranks
    kKill,    // end your ranks now
    kOver     // the run is over: show the text, end with the code
  };
  Kind kind = Kind::kTick;
  int generation = 0, world_size = 0, first_rank = 0, num_nodes = 0, node_rank = 0, store_port = 0;  // kStart
  int signal = 0;
  int exit_code = 0;
  std::string text = {};
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Directive, kind, generation, world_size, first_rank, num_nodes, node_rank, store_port,
                                   signal, exit_code, text)

inline std::string directive_text(const Directive& directive) {
  return json_text(directive);
}

}  // namespace tessera
