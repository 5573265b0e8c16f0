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
};

// One self-contained HTML file that shows the pictures of each sample side by side.
std::string render_contact_sheet(const std::string& title, const std::vector<SheetRow>& rows);

}  // namespace tessera
