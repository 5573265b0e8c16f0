#include "report/check_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plural.h"
#include "report/embedded.h"
#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

std::string row(const SheetRow& sample) {
  std::string html =
      fmt::format("<article class=\"card\"><header><h3>{}</h3><p class=\"quiet\">{}</p></header><div class=\"strip\">",
                  escape_html(sample.id), escape_html(sample.note));
  for (const SheetPicture& picture : sample.pictures) {
    html += fmt::format("<figure>{}<figcaption class=\"quiet\">{}</figcaption></figure>",
                        png_element(picture.png, sample.id + ", " + picture.label), escape_html(picture.label));
  }
  return html + "</div></article>";
}

std::string section(const CheckPageFinding& finding) {
  const std::string count =
      finding.samples > 0 ? fmt::format("{} {} of ", count_text(finding.samples), plural(finding.samples, "sample")) : "";
  std::string html = fmt::format(
      "<section class=\"{}\" id=\"{}-{}\"><header><h2>{}</h2><p class=\"quiet\"><span class=\"pill {}\">{}</span>{}{} "
      "&middot; <code>{}</code></p></header>",
      escape_html(finding.level), escape_html(finding.kind), escape_html(finding.split), escape_html(finding.title),
      escape_html(finding.level), escape_html(finding.level), count, escape_html(finding.split), escape_html(finding.kind));
  if (!finding.text.empty()) html += "<p class=\"text\">" + escape_html(finding.text) + "</p>";
  html += "<p class=\"advice\">" + escape_html(finding.advice) + "</p>";
  for (const std::string& key : finding.keys) html += "<pre>" + escape_html(key) + "</pre>";
  html += "<div class=\"samples\">";
  for (const SheetRow& sample : finding.pictured) html += row(sample);
  html += "</div>";
  if (!finding.others.empty()) {
    html += fmt::format("<details><summary>{} more</summary><ul>", finding.others.size());
    for (const std::string& other : finding.others) html += "<li>" + escape_html(other) + "</li>";
    html += "</ul></details>";
  }
  return html + "</section>\n";
}

int rank(const CheckPageFinding& finding) {
  return finding.level == "unusable" ? 0 : finding.level == "warning" ? 1 : 2;
}

}  // namespace

std::string render_check_page(const CheckPage& page) {
  std::vector<const CheckPageFinding*> sorted;
  for (const CheckPageFinding& finding : page.findings) sorted.push_back(&finding);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return rank(*a) < rank(*b); });
  std::string tiles, contents, body;
  for (const auto& [name, value] : page.facts) {
    tiles += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd></div>", escape_html(name), escape_html(value));
  }
  for (const CheckPageFinding* finding : sorted) {
    contents += fmt::format("<li class=\"{}\"><a href=\"#{}-{}\">{}</a> <span class=\"quiet\">{}{}</span></li>",
                            escape_html(finding->level), escape_html(finding->kind), escape_html(finding->split),
                            escape_html(finding->title), escape_html(finding->split),
                            finding->samples > 0 ? ", " + count_text(finding->samples) : "");
    body += section(*finding);
  }
  if (sorted.empty()) body = "<p class=\"card empty\">Nothing is wrong with any sample.</p>";
  std::string next;
  if (!page.command.empty()) next += "<h3>Train with</h3><pre>" + escape_html(page.command) + "</pre>";
  if (!page.config.empty()) next += "<h3>Or as a config</h3><pre>" + escape_html(page.config) + "</pre>";
  return fill_template(embedded_file("check.html"),
                       {{"title", escape_html(page.title)},
                        {"style", std::string(embedded_file("theme.css"))},
                        {"theme_script", std::string(embedded_file("theme.js"))},
                        {"state", escape_html(page.state)},
                        {"verdict", escape_html(page.verdict)},
                        {"tiles", tiles},
                        {"next", next},
                        {"contents", contents.empty() ? "" : "<ol class=\"contents\">" + contents + "</ol>"},
                        {"findings", body}});
}

}  // namespace tessera
