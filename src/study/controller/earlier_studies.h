#pragma once
#include "study/controller/study_plan.h"
#include "study/search/searcher.h"

namespace tessera {

// Tells the searcher of the trials of the studies that the plan goes on from (`earlier`), as they are now; logs what of them is
// left out. Throws Error or UsageError for a study that is not there or looked for something else.
void tell_of_earlier_studies(Searcher& searcher, const StudyPlan& plan);

}  // namespace tessera
