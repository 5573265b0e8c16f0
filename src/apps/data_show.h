#pragma once
#include <CLI/CLI.hpp>

namespace tessera {

// `tessera data show`, as a subcommand of `data`.
void add_data_show(CLI::App& data);

}  // namespace tessera
