#pragma once
#include <string>
#include <vector>

#include "study/store/study_store.h"

namespace tessera {

struct StudyPageInput {
  StudyInfo info;
  Space space;
  std::vector<Trial> trials;
  std::string unit = {};                        // of steps: "ep", "ba"
  std::vector<std::string> best_commands = {};  // that train the best trial once more; empty: there is none yet
  std::string status = {};                      // "running", "all 40 trials are done"
  bool running = false;
};

// The page of a study, one HTML file: the best value so far, curves of all trials, parameters against the value and how much
// each matters, rungs, the Pareto front of several objectives, what failed, all trials, and how to train the best one. What
// users and files named is escaped. Of very many trials the best and the youngest are drawn.
std::string render_study_page(const StudyPageInput& input);

}  // namespace tessera
