#include "report/lr_range_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/embedded.h"
#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

constexpr double kLeft = 64, kRight = 16, kTop = 16, kBottom = 44, kWidth = 860, kHeight = 420;

// Losses on the vertical axis, decades on the other one.
struct Frame {
  double low, high;    // decades
  double least, most;  // losses

  double x(double rate) const { return kLeft + (std::log10(rate) - low) / (high - low) * (kWidth - kLeft - kRight); }
  double y(double loss) const {
    return kTop + (most - std::clamp(loss, least, most)) / (most - least) * (kHeight - kTop - kBottom);
  }
};

// A diverging end would press everything else flat: what is above twice the beginning is cut off.
Frame frame_of(const LrRangeFigures& f) {
  const auto [least, most] = std::minmax_element(f.smoothed.begin(), f.smoothed.end());
  const double top = std::min(*most, 2 * f.smoothed.front()), span = std::max(top - *least, 1e-9 * (1 + std::abs(top)));
  return {std::log10(f.rates.front()), std::log10(f.rates.back()) + 1e-9, *least - 0.1 * span, top + 0.1 * span};
}

std::string polyline(const Frame& frame, const LrRangeFigures& f, const std::vector<double>& losses, const char* style) {
  std::string points;
  for (size_t i = 0; i < losses.size(); ++i) points += fmt::format("{:.1f},{:.1f} ", frame.x(f.rates[i]), frame.y(losses[i]));
  return fmt::format("<polyline points=\"{}\" fill=\"none\" style=\"{}\"/>\n", points, style);
}

std::string text(double x, double y, const std::string& anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, words);
}

std::string axes(const Frame& frame) {
  std::string svg;
  for (int decade = static_cast<int>(std::ceil(frame.low - 1e-9)); decade <= frame.high; ++decade) {
    const double x = frame.x(std::pow(10.0, decade));
    svg +=
        fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" class=\"grid\"/>\n", x, kTop, kHeight - kBottom);
    svg += text(x, kHeight - kBottom + 18, "middle", fmt::format("1e{}", decade));
  }
  constexpr int kLines = 5;
  for (int i = 0; i <= kLines; ++i) {
    const double loss = frame.least + (frame.most - frame.least) * i / kLines;
    svg += fmt::format("<line x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\" class=\"grid\"/>\n", frame.y(loss), kLeft,
                       kWidth - kRight);
    svg += text(kLeft - 8, frame.y(loss) + 4, "end", short_text(loss));
  }
  return svg + text((kLeft + kWidth - kRight) / 2, kHeight - 6, "middle", "learning rate (optimizer.lr)");
}

std::string mark(const Frame& frame, double rate, double y, const std::string& color, const std::string& words) {
  if (rate < std::pow(10.0, frame.low) || rate > std::pow(10.0, frame.high)) return "";
  const double x = frame.x(rate);
  const bool on_left = x > kWidth / 2;
  return fmt::format(
             "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" style=\"stroke:{3};stroke-width:1.5;stroke-dasharray:5 "
             "4\"/>\n",
             x, kTop, kHeight - kBottom, color) +
         text(on_left ? x - 6 : x + 6, y, on_left ? "end" : "start", words);
}

}  // namespace

std::string lr_range_svg(const LrRangeFigures& f) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Loss over the learning rate\" "
      "style=\"width:100%;height:auto;color:#667085\" font-family=\"sans-serif\" font-size=\"12\" fill=\"currentcolor\">\n"
      "<style>.grid {{ stroke: currentcolor; stroke-opacity: 0.22; }}</style>\n",
      kWidth, kHeight);
  if (f.rates.size() < 2) return svg + "</svg>\n";
  const Frame frame = frame_of(f);
  svg += axes(frame);
  svg += polyline(frame, f, f.losses, "stroke:currentcolor;stroke-opacity:0.45;stroke-width:1");
  svg += polyline(frame, f, f.smoothed, "stroke:#4b6fe0;stroke-width:2.4");
  if (f.falls) {
    svg += mark(frame, f.minimum, kTop + 30, "#d0453b", fmt::format("minimum {:.2g}", f.minimum));
    svg += mark(frame, f.tenth_of_minimum, kTop + 46, "#98a2b3", fmt::format("minimum / 10: {:.2g}", f.tenth_of_minimum));
    svg += mark(frame, f.steepest, kTop + 14, "#2f9e5a", fmt::format("steepest: {:.2g}", f.steepest));
  }
  return svg + "</svg>\n";
}

std::string render_lr_range_page(const LrRangeFigures& f) {
  std::string body = "<section><div class=\"card plot\">" + lr_range_svg(f) + "</div>";
  body += f.falls
              ? fmt::format(
                    "<p>The loss falls fastest at a rate of <b>{:.2g}</b>, which is the suggestion; it is lowest at {:.2g}, "
                    "a tenth of which is {:.2g}.</p><pre>optimizer.lr={:.2g}</pre>",
                    f.steepest, f.minimum, f.tenth_of_minimum, f.steepest)
              : std::string(
                    "<p>The loss falls nowhere: no rate of this range trains the model. Widen the range, or look at the "
                    "data and the loss.</p>");
  body += fmt::format("<p class=\"quiet\">One step at each of {} rates; {}. Thin: the losses; thick: smoothed.</p></section>\n",
                      f.rates.size(), f.diverged ? "then it diverged" : "it did not diverge in this range");
  return fill_template(embedded_file("stats.html"), {{"title", escape_html("Learning rates of " + f.config)},
                                                     {"style", std::string(embedded_file("theme.css"))},
                                                     {"theme_script", std::string(embedded_file("theme.js"))},
                                                     {"body", body}});
}

}  // namespace tessera
