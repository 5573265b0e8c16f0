#include "train/step_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "core/json_text.h"

namespace tessera {

StepTrace::Span::Span(StepTrace& trace, const char* name)
    : trace_(trace), name_(name), begin_(trace.on_ ? now() : 0), part_(name) {}

StepTrace::Span::~Span() {
  if (trace_.on_) trace_.add(name_, "compute", begin_, now());
}

void StepTrace::add(const std::string& name, const std::string& lane, double begin, double end) {
  if (on_) events_.push_back({name, lane, begin, end});
}

void StepTrace::write(World& world, const std::filesystem::path& file) const {
  constexpr double kMicro = 1e6;
  // Steady clocks of different hosts have different zeros; wall clocks are what they share.
  const double wall = unix_s() - now();
  const std::vector<std::string> lanes{"compute", "reduce", "wait"};
  nlohmann::json own = nlohmann::json::array();
  const auto name = [&](const char* what, size_t lane, const std::string& text) {
    own.push_back({{"ph", "M"}, {"name", what}, {"pid", world.rank()}, {"tid", lane}, {"args", {{"name", text}}}});
  };
  name("process_name", 0, "rank " + std::to_string(world.rank()));
  for (size_t lane = 0; lane < lanes.size(); ++lane) name("thread_name", lane, lanes[lane]);
  for (const Event& event : events_) {
    own.push_back({{"ph", "X"},
                   {"name", event.name},
                   {"pid", world.rank()},
                   {"tid", std::find(lanes.begin(), lanes.end(), event.lane) - lanes.begin()},
                   {"ts", (event.begin + wall) * kMicro},
                   {"dur", (event.end - event.begin) * kMicro}});
  }
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& text : world.control.gather_text(json_text(own))) {
    for (auto& event : nlohmann::json::parse(text)) all.push_back(std::move(event));
  }
  if (world.is_first()) write_file(file, json_text({{"traceEvents", std::move(all)}}));
}

}  // namespace tessera
