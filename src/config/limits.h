#pragma once

namespace tessera {

// Threads beyond this only wait for one another, and a typing error could bring the machine down.
inline constexpr double kMaxThreads = 1024;

}  // namespace tessera
