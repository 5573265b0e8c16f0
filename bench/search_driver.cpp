// The searchers of studies from the command line, for bench/search.py and tests/interop: JSON lines on standard input,
//   {"space": SPACE, "search": "{type: tpe}", "directions": ["minimize"], "seed": 1}     first
//   {"ask": NUMBER}                                                        answers with the trial's parameters
//   {"tell": NUMBER, "state": "complete", "parameters": {..}, "values": [..]}
// where SPACE is a study's space as its store has it (study/space/space_json.h).
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "core/error.h"
#include "study/search/make_searcher.h"
#include "study/space/space_json.h"

namespace tessera {
namespace {

using nlohmann::json;

SearchContext context_of(const json& first) {
  SearchContext context{
      .space = space_from_json(first.at("space")), .directions = {}, .seed = first.value("seed", uint64_t{0})};
  for (const std::string& direction : first.value("directions", std::vector<std::string>{"minimize"}))
    context.directions.push_back(direction == "maximize" ? Direction::kMaximize : Direction::kMinimize);
  return context;
}

TrialState state_of(const std::string& name) {
  const std::map<std::string, TrialState> states = {{"running", TrialState::kRunning},
                                                    {"complete", TrialState::kComplete},
                                                    {"stopped", TrialState::kStopped},
                                                    {"failed", TrialState::kFailed}};
  return states.at(name);
}

void serve(std::istream& in) {
  std::string line;
  TSR_CHECK_USAGE(std::getline(in, line), "expected a line of JSON with space, search, directions and seed");
  const json first = json::parse(line);
  const Node section = *parse_config("search: " + first.at("search").get<std::string>() + "\n", "search").find("search");
  const SearchContext context = context_of(first);
  const std::unique_ptr<Searcher> searcher = make_searcher(read_search(section), context);
  while (std::getline(in, line)) {
    const json request = json::parse(line);
    if (request.contains("ask")) {
      fmt::print("{}\n", json(searcher->suggest(request.at("ask")).value()).dump());
      std::fflush(stdout);
      continue;
    }
    searcher->observe({.number = request.at("tell"),
                       .state = state_of(request.value("state", "complete")),
                       .parameters = request.at("parameters"),
                       .values = request.value("values", std::vector<double>{})});
  }
}

}  // namespace
}  // namespace tessera

int main() {
  try {
    tessera::serve(std::cin);
  } catch (const std::exception& e) {
    fmt::print(stderr, "search_driver: {}\n", e.what());
    return 1;
  }
  return 0;
}
