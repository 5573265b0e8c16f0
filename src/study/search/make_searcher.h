#pragma once
#include <memory>

#include "config/node.h"
#include "study/search/search_config.h"
#include "study/search/search_context.h"
#include "study/search/searcher.h"

namespace tessera {

// The `search:` section of a study's file: a name, grid, random, sobol, tpe or cma, or {type: NAME} with its settings
// (search_config.h). Throws UsageError with file and line.
SearchConfig read_search(const Node& section);

// Throws UsageError where settings, space and objectives do not go together. Points to try first are laid before it by
// EnqueuedSearch.
std::unique_ptr<Searcher> make_searcher(const SearchConfig& config, const SearchContext& context);

}  // namespace tessera
