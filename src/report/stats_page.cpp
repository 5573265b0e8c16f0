#include "report/stats_page.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "report/embedded.h"
#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

// A bar as wide as the share, in the colour of a class or of the page.
std::string bar(double share, const std::string& color) {
  return fmt::format("<span class=\"bar\"><span style=\"width:{:.2f}%;background:{}\"></span></span>",
                     100 * std::clamp(share, 0.0, 1.0), color);
}

double share_of(int64_t part, int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string class_rows(const SplitFigures& split) {
  const int64_t most = split.pixels.empty() ? 0 : *std::max_element(split.pixels.begin(), split.pixels.end());
  std::string html =
      "<table><thead><tr><th>class</th><th>pixels</th><th "
      "class=\"wide\"></th><th>share</th><th>images</th><th>weight</th></tr></thead>";
  for (size_t k = 0; k < split.classes.size(); ++k) {
    const auto& color = split.palette.at(k);
    html +=
        fmt::format("<tr{}><td>{}</td><td>{}</td><td>{}</td><td>{:.2f} %</td><td>{}</td><td>{:.3f}</td></tr>",
                    split.pixels[k] == 0 ? " class=\"absent\"" : "", escape_html(split.classes[k]), count_text(split.pixels[k]),
                    bar(share_of(split.pixels[k], most), fmt::format("rgb({},{},{})", color[0], color[1], color[2])),
                    100 * share_of(split.pixels[k], split.labelled_pixels), count_text(split.images[k]), split.weights[k]);
  }
  return html + "</table>";
}

std::string size_rows(const SplitFigures& split) {
  constexpr size_t kShown = 30;
  std::vector<std::pair<std::string, int64_t>> sizes(split.sizes.begin(), split.sizes.end());
  std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string html = "<table><thead><tr><th>height x width</th><th>images</th><th class=\"wide\"></th></tr></thead>";
  for (size_t i = 0; i < std::min(kShown, sizes.size()); ++i) {
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>", sizes[i].first, count_text(sizes[i].second),
                        bar(share_of(sizes[i].second, sizes[0].second), "var(--accent)"));
  }
  html += "</table>";
  return sizes.size() > kShown ? html + fmt::format("<p class=\"quiet\">and {} more sizes</p>", sizes.size() - kShown) : html;
}

// The share of each value from 0 to 255, one curve per channel; a spike at one end (black borders, say) is cut off.
std::string value_curves(const SplitFigures& split) {
  constexpr int kHeight = 120, kShown = 3;
  int64_t most = 1;
  const size_t channels = std::min<size_t>(split.histogram.size(), kShown);
  for (size_t c = 0; c < channels; ++c) {
    std::vector<int64_t> sorted(split.histogram[c].begin(), split.histogram[c].end());
    std::sort(sorted.begin(), sorted.end());
    most = std::max(most, sorted[sorted.size() - 4]);
  }
  std::string html = fmt::format(
      "<svg viewBox=\"0 0 256 {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"How often each value occurs\">",
      kHeight);
  for (size_t c = 0; c < channels; ++c) {
    std::string points;
    for (size_t value = 0; value < 256; ++value)
      points += fmt::format("{},{:.1f} ", value, kHeight * (1 - std::min(1.0, share_of(split.histogram[c][value], most))));
    html += fmt::format("<polyline points=\"{}\" class=\"channel-{}\"/>", points, channels == 3 ? std::to_string(c) : "grey");
  }
  return html + "</svg><p class=\"quiet\">values 0 to 255</p>";
}

std::string section(const SplitFigures& split) {
  std::string html = fmt::format("<section><header><h2>{}</h2><p class=\"quiet\">{} usable samples of {}</p></header>",
                                 escape_html(split.split), count_text(split.usable), count_text(split.checked));
  if (split.usable == 0) return html + "</section>";
  html += "<div class=\"card scroll\">" + class_rows(split) + "</div>";
  html += fmt::format("<p class=\"quiet\">{} pixels are ignored.</p>", count_text(split.ignored_pixels));
  html += fmt::format("<pre>loss.class_weights=[{:.3f}]\ndata.normalize.mean=[{:.4f}] data.normalize.std=[{:.4f}]</pre>",
                      fmt::join(split.weights, ","), fmt::join(split.mean, ","), fmt::join(split.std, ","));
  html += "<div class=\"pair\"><div class=\"card scroll\">" + size_rows(split) + "</div>";
  if (!split.histogram.empty()) html += "<div class=\"card plot\">" + value_curves(split) + "</div>";
  return html + "</div></section>\n";
}

}  // namespace

std::string render_stats_page(const std::string& title, const std::vector<SplitFigures>& splits) {
  std::string body;
  for (const SplitFigures& split : splits) body += section(split);
  return fill_template(embedded_file("stats.html"), {{"title", escape_html(title)},
                                                     {"style", std::string(embedded_file("theme.css"))},
                                                     {"theme_script", std::string(embedded_file("theme.js"))},
                                                     {"body", body}});
}

}  // namespace tessera
