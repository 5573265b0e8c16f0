#include "study/controller/earlier_studies.h"

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "study/search/earlier_trials.h"
#include "study/store/study_store.h"

namespace fs = std::filesystem;

namespace tessera {
namespace {

fs::path database_of(const std::string& given) {
  std::error_code error;
  const fs::path file = fs::is_directory(given, error) ? fs::path(given) / kStudyStore : fs::path(given);
  TSR_CHECK_USAGE(fs::is_regular_file(file, error), "earlier: {} is no study; expected its folder, or its database",
                  printable(given));
  return file;
}

}  // namespace

void tell_of_earlier_studies(Searcher& searcher, const StudyPlan& plan) {
  std::vector<Trial> all;
  for (const std::string& given : plan.settings.earlier) {
    const StudyStore store = StudyStore::open(database_of(given));
    EarlierTrials found = earlier_trials(
        {.name = store.info().name, .space = store.space(), .objectives = store.info().objectives, .trials = store.load()},
        plan.space, plan.objectives);
    for (const std::string& note : found.notes) log_warn("{}", printable(note));
    log_info("{} trials of the study '{}' are known to the search", found.trials.size(), printable(store.info().name));
    for (Trial& trial : found.trials) all.push_back(std::move(trial));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].number = static_cast<int64_t>(i) - static_cast<int64_t>(all.size());
    searcher.observe(all[i]);
  }
}

}  // namespace tessera
