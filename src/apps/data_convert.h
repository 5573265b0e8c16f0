#pragma once
#include <CLI/CLI.hpp>

namespace tessera {

// `tessera data convert`, as a subcommand of `data`.
void add_data_convert(CLI::App& data);

}  // namespace tessera
