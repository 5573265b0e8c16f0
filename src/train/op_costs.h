#pragma once
#include <functional>
#include <string>
#include <vector>

namespace tessera {

// FLOPs and bytes that all calls of an operation need at least.
struct OpCosts {
  std::string name;
  double flops = 0;  // of convolutions, matrix products and attention
  double bytes = 0;  // of our own operations: each tensor read or written once
};

// Runs `work` and counts: what a machine's arithmetic and memory allow at best is to be compared with `profile`.
std::vector<OpCosts> op_costs(const std::function<void()>& work);

}  // namespace tessera
