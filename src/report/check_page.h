#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/contact_sheet.h"

namespace tessera {

// A kind of fault that was found in a split, with pictures of some samples that have it.
struct CheckPageFinding {
  std::string kind{};   // "interpolated_mask"
  std::string level{};  // "unusable", "warning" or "note"
  std::string split{};
  std::string title{};
  std::string text{};    // what is found
  std::string advice{};  // what to do
  std::vector<std::string> keys{};
  std::vector<SheetRow> pictured{};   // id, its detail as the note, pictures
  std::vector<std::string> others{};  // the samples that are not pictured: "id: detail"
  int64_t samples = 0;                // all that have it; 0: it is about the split as a whole
};

struct CheckPage {
  std::string title{};
  std::string state{};                                       // "ready", "left_out" or "mend"
  std::string verdict{};                                     // a sentence
  std::string command{};                                     // to train with; empty: there is none yet
  std::string config{};                                      // the settings it has, as YAML
  std::vector<std::pair<std::string, std::string>> facts{};  // "train", "367 samples"
  std::vector<CheckPageFinding> findings{};
};

// One self-contained HTML file. What users and files named is escaped.
std::string render_check_page(const CheckPage& page);

}  // namespace tessera
