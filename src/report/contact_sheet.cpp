#include "report/contact_sheet.h"

#include <fmt/format.h>

#include "core/plural.h"
#include "report/embedded.h"
#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

std::string sample(const SheetRow& row) {
  std::string html = fmt::format("<article class=\"card\"><header><h2>{}</h2>", escape_html(row.id));
  if (!row.note.empty()) html += fmt::format("<p class=\"quiet\">{}</p>", escape_html(row.note));
  html += "</header><div class=\"strip\">";
  for (const SheetPicture& picture : row.pictures) {
    html += fmt::format("<figure>{}<figcaption class=\"quiet\">{}</figcaption></figure>",
                        png_element(picture.png, row.id + ", " + picture.label), escape_html(picture.label));
  }
  return html + "</div></article>\n";
}

}  // namespace

std::string render_contact_sheet(const std::string& title, const std::vector<SheetRow>& rows) {
  std::string samples;
  for (const SheetRow& row : rows) samples += sample(row);
  if (rows.empty()) samples = "<p class=\"card empty\">No samples.</p>";
  const auto count = static_cast<int64_t>(rows.size());
  return fill_template(embedded_file("contact_sheet.html"),
                       {{"title", escape_html(title)},
                        {"style", std::string(embedded_file("theme.css"))},
                        {"theme_script", std::string(embedded_file("theme.js"))},
                        {"facts", fmt::format("{} {}", count_text(count), plural(count, "sample"))},
                        {"samples", samples}});
}

}  // namespace tessera
