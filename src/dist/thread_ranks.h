#pragma once
#include <chrono>
#include <functional>

#include "dist/world.h"

namespace tessera {

// Runs `body` on one thread per rank, each with its share of the cores, and waits for all. When one of them throws, its
// connections are closed, so that the others, who wait for it, end too; what it threw is thrown again.
void run_on_threads(int ranks, bool cuda, std::chrono::seconds timeout, const std::function<void(World&)>& body);

}  // namespace tessera
