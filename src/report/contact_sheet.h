#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct SheetPicture {
  std::string label{};
  std::vector<uint8_t> png{};
};

struct SheetRow {
  std::string id{};
  std::string note{};
  std::vector<SheetPicture> pictures{};
  std::vector<std::string> classes{};  // that it shows, to choose by
};

// One self-contained HTML file that shows the pictures of each sample side by side. Samples can be chosen by name, by note and
// by class, and a picture that is clicked is shown large, to flip through with the arrow keys: left and right among samples, up
// and down among the pictures of one.
std::string render_contact_sheet(const std::string& title, const std::vector<SheetRow>& rows);

}  // namespace tessera
