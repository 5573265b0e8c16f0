#include "report/page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/embedded.h"
#include "report/html.h"

namespace tessera {

std::string tile_html(const Tile& tile) {
  const std::string unit = tile.unit.empty() ? "" : fmt::format("<small>{}</small>", escape_html(tile.unit));
  return fmt::format("<div class=\"tile {}\"><dt>{}</dt><dd class=\"value\">{}{}</dd><dd class=\"quiet\">{}</dd></div>",
                     tile.kind, escape_html(tile.label), escape_html(tile.value), unit, escape_html(tile.detail));
}

void Page::section(const char* id, const char* title, const std::string& lead, const std::string& body) {
  if (body.empty()) return;
  nav_ += fmt::format("<a href=\"#{}\">{}</a>", id, title);
  body_ += fmt::format("<section id=\"{}\"><header><h2>{}</h2>", id, title);
  if (!lead.empty()) body_ += fmt::format("<p class=\"quiet\">{}</p>", escape_html(lead));
  body_ += "</header>" + body + "</section>\n";
}

std::string Page::html(const PageHead& head, const nlohmann::json& data) const {
  const auto file = [](const char* name) { return std::string(embedded_file(name)); };
  return fill_template(embedded_file("report.html"),
                       {{"title", escape_html(head.title)},
                        {"style", file("theme.css") + file("report.css")},
                        {"theme_script", file("theme.js")},
                        {"status", head.status},
                        {"facts", head.facts},
                        {"tiles", head.tiles},
                        {"nav", nav_},
                        {"body", body_},
                        {"data", json_for_script(data)},
                        {"chart_library", file("chart.js")},
                        {"script", file("curves.js") + file("confusion.js") + file("report.js")}});
}

}  // namespace tessera
