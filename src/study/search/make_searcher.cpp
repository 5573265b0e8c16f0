#include "study/search/make_searcher.h"

#include "core/error.h"
#include "study/search/cma_search.h"
#include "study/search/grid_search.h"
#include "study/search/random_search.h"
#include "study/search/sobol_search.h"
#include "study/search/tpe_search.h"
#include "study/typed_section.h"

namespace tessera {
namespace {

class SearcherMaker {
 public:
  explicit SearcherMaker(const SearchContext& context) : context_(context) {}

  std::unique_ptr<Searcher> operator()(const GridSearchConfig& /*config*/) const {
    return std::make_unique<GridSearch>(context_.space);
  }
  std::unique_ptr<Searcher> operator()(const RandomSearchConfig& /*config*/) const {
    return std::make_unique<RandomSearch>(context_.space, context_.seed);
  }
  std::unique_ptr<Searcher> operator()(const SobolSearchConfig& /*config*/) const {
    return std::make_unique<SobolSearch>(context_.space, context_.seed);
  }
  std::unique_ptr<Searcher> operator()(const TpeSearchConfig& config) const {
    return std::make_unique<TpeSearch>(config, context_);
  }
  std::unique_ptr<Searcher> operator()(const CmaSearchConfig& config) const {
    return std::make_unique<CmaSearch>(config, context_);
  }

 private:
  const SearchContext& context_;
};

}  // namespace

SearchConfig read_search(const Node& section) {
  return read_typed_section<SearchConfig>(section, "search");
}

std::unique_ptr<Searcher> make_searcher(const SearchConfig& config, const SearchContext& context) {
  TSR_CHECK_USAGE(!context.space.parameters().empty(), "the study varies nothing; its space: expected at least one parameter");
  return std::visit(SearcherMaker(context), config);
}

}  // namespace tessera
