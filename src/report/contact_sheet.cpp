#include "report/contact_sheet.h"

#include <fmt/ranges.h>

#include <set>

#include "core/json_text.h"
#include "core/plural.h"
#include "report/embedded.h"
#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

std::string sample(const SheetRow& row) {
  // A list as JSON survives in an attribute whatever the names hold.
  std::string html = fmt::format("<article class=\"card\" data-classes=\"{}\" data-group=\"{}\"><header><h2>{}</h2>",
                                 escape_html(json_text(row.classes)), escape_html(row.note.substr(0, row.note.find(':'))),
                                 escape_html(row.id));
  if (!row.note.empty()) html += fmt::format("<p class=\"quiet\">{}</p>", escape_html(row.note));
  html += "</header><div class=\"strip\">";
  for (const SheetPicture& picture : row.pictures) {
    html += fmt::format("<figure>{}<figcaption class=\"quiet\">{}</figcaption></figure>",
                        png_element(picture.png, row.id + ", " + picture.label), escape_html(picture.label));
  }
  html += "</div>";
  if (!row.classes.empty())
    html += "<p class=\"quiet\">" + escape_html(fmt::format("{}", fmt::join(row.classes, ", "))) + "</p>";
  return html + "</article>\n";
}

// One option for each text that occurs, in the order of the alphabet.
std::string options(const std::set<std::string>& texts) {
  std::string html;
  for (const std::string& text : texts) html += fmt::format("<option>{}</option>", escape_html(text));
  return html;
}

}  // namespace

std::string render_contact_sheet(const std::string& title, const std::vector<SheetRow>& rows) {
  std::string samples;
  for (const SheetRow& row : rows) samples += sample(row);
  if (rows.empty()) samples = "<p class=\"card empty\">No samples.</p>";
  const auto count = static_cast<int64_t>(rows.size());
  std::set<std::string> classes, groups;
  for (const SheetRow& row : rows) {
    classes.insert(row.classes.begin(), row.classes.end());
    groups.insert(row.note.substr(0, row.note.find(':')));
  }
  return fill_template(embedded_file("contact_sheet.html"),
                       {{"title", escape_html(title)},
                        {"style", std::string(embedded_file("theme.css"))},
                        {"theme_script", std::string(embedded_file("theme.js"))},
                        {"facts", fmt::format("{} {}", count_text(count), plural(count, "sample"))},
                        {"classes", options(classes)},
                        {"groups", options(groups)},
                        {"script", std::string(embedded_file("contact_sheet.js"))},
                        {"samples", samples}});
}

}  // namespace tessera
