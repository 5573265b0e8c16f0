#pragma once
#include <string>
#include <vector>

#include "study/controller/study_view.h"

namespace tessera {

// A study as lines for a terminal of so many columns: how far it is, the best trial, and those that run.
std::vector<std::string> study_lines(const StudyView& view, int columns);

// Those lines at the bottom of a terminal, drawn anew in place while the log scrolls above them. Anything but a terminal shows
// nothing. One per process.
class StudyScreen {
 public:
  StudyScreen();
  ~StudyScreen();
  StudyScreen(const StudyScreen&) = delete;
  StudyScreen& operator=(const StudyScreen&) = delete;

  void show(const StudyView& view);  // at most twice a second

 private:
  double drawn_ = 0;
};

}  // namespace tessera
