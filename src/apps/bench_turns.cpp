#include "apps/bench_turns.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "apps/bench_model.h"
#include "core/error.h"

namespace tessera {

void BenchTurns::add_to(CLI::App& command) {
  command
      .add_option("--turns", asked_,
                  "measure this often, each time when a line comes on standard input; `ready` on standard output says that it "
                  "may come")
      ->check(above_zero());
}

void BenchTurns::wait() const {
  if (asked_ == 0) return;
  fmt::print("ready\n");
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line)) fail("standard input ended before all {} turns were measured", asked_);
}

std::vector<double> BenchTurns::medians(const std::vector<double>& measured) const {
  const auto each = static_cast<std::ptrdiff_t>(measured.size()) / count();
  std::vector<double> found;
  for (auto first = measured.begin(); first != measured.end(); first += each) found.push_back(median_of({first, first + each}));
  return found;
}

}  // namespace tessera
