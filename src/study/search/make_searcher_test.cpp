#include "study/search/make_searcher.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

SearchContext context_of_two() {
  return {.space = Space({{.name = "x", .points = 2}, {.name = "n", .kind = Parameter::Kind::kInteger, .high = 3, .step = 1}})};
}

SearchConfig read_text(const std::string& text) {
  return read_search(*parse_config("search: " + text + "\n", "study.yaml").find("search"));
}

std::string search_error(const std::string& text, const SearchContext& context = context_of_two()) {
  try {
    make_searcher(read_text(text), context);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(MakeSearcher, EveryTypeSuggestsPointsOfTheSpace) {
  const SearchContext context = context_of_two();
  for (const char* text : {"grid", "random", "sobol", "{type: sobol}", "tpe", "{type: tpe, startup: 3}", "cma"}) {
    const auto searcher = make_searcher(read_text(text), context);
    for (int64_t i = 0; i < 8; ++i) {
      const auto point = searcher->suggest(i);
      ASSERT_TRUE(point) << text;
      EXPECT_EQ(context.space.cleaned(*point), *point) << text;
    }
  }
}

TEST(MakeSearcher, ErrorsNameLineAndSetting) {
  const auto says = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(search_error("soboll"), "study.yaml:1: search: unknown type 'soboll', did you mean 'sobol'");
  says(search_error("{seed: 3}"), "expected one of grid, random, sobol, tpe, cma");
  says(search_error("{type: grid, points: 3}"), "points");
  says(search_error("random", {}), "varies nothing");
}

}  // namespace
}  // namespace tessera
