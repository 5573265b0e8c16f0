#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/clock.h"
#include "dist/world.h"
#include "tensor/profiled_part.h"

namespace tessera {

// What a rank did when, for a timeline: spans of time with a name. Costs nothing until it is switched on.
class StepTrace {
 public:
  class Span {
   public:
    Span(StepTrace& trace, const char* name);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    StepTrace& trace_;
    const char* name_;
    double begin_;
    ProfiledPart part_;
  };

  void switch_on() { on_ = true; }
  bool is_on() const { return on_; }
  void add(const std::string& name, const std::string& lane, double begin, double end);  // by now()
  static double now() { return monotonic_s(); }

  // Writes the spans of all ranks as a Chrome trace (chrome://tracing, Perfetto), a process per rank with a lane each for
  // computing, waiting and reducing. Rank 0 writes. A collective.
  void write(World& world, const std::filesystem::path& file) const;

 private:
  struct Event {
    std::string name, lane;
    double begin = 0, end = 0;
  };
  bool on_ = false;
  std::vector<Event> events_;
};

}  // namespace tessera
