#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera {

// A number that a reader came for, at the top of a page.
struct Tile {
  std::string label{};
  std::string value{};
  std::string unit{};
  std::string detail{};
  const char* kind = "";  // "lead": the result; "words": text, set smaller than a number
};
std::string tile_html(const Tile& tile);

// The top of a page. All but the title is HTML.
struct PageHead {
  std::string title{};
  std::string status{};
  std::string facts{};
  std::string tiles{};
};

// A page of sections under a headline, with curves, sortable tables and pictures: one HTML file that needs nothing else, as its
// content security policy keeps the browser from loading anything.
class Page {
 public:
  // What has no body (HTML) gets neither a heading nor an entry in the contents. `lead` is text.
  void section(const char* id, const char* title, const std::string& lead, const std::string& body);

  // data: what the page's script draws, {curves: curve_data(...), resumes: [step ...], confusion: ...}.
  std::string html(const PageHead& head, const nlohmann::json& data) const;

 private:
  std::string nav_;
  std::string body_;
};

}  // namespace tessera
