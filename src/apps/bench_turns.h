#pragma once
#include <cstdint>
#include <vector>

namespace CLI {
class App;
}

namespace tessera {

// How programs that are compared on one machine take turns without being started again: each is warmed up, says `ready` on
// standard output and measures when a line comes on standard input, `--turns` times. Without the option there is one turn, and
// nothing is waited for.
class BenchTurns {
 public:
  void add_to(CLI::App& command);
  int64_t count() const { return asked_ > 0 ? asked_ : 1; }

  // Waits for the next turn. Throws Error where standard input ends before it.
  void wait() const;

  // The median of each turn's measurements, of which all turns have equally many.
  std::vector<double> medians(const std::vector<double>& measured) const;

 private:
  int64_t asked_ = 0;
};

}  // namespace tessera
