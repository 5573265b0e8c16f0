#include "report/svg_chart.h"

#include <fmt/format.h>

#include "report/html.h"

namespace tessera {
namespace {

class SvgCanvas final : public ChartCanvas {
 public:
  void line(const std::vector<std::pair<double, double>>& points, int pen) override {
    std::string path;
    for (const auto& [x, y] : points) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    svg_ += fmt::format("<path d=\"{}\" class=\"{}\"/>", path, pen == kGrid ? "g" : "l " + name_of_pen(pen));
  }
  void mark(double x, double y, int pen, const std::string& hint) override {
    svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"m {}\"><title>{}</title></circle>", x, y,
                        name_of_pen(pen), escape_html(hint));
  }
  void text(double x, double y, const std::string& words, Letters letters, Anchor anchor) override {
    constexpr std::array kAnchors = {"start", "middle", "end"};
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>", x, y,
                        letters == Letters::kTitle ? "t" : "q", kAnchors.at(static_cast<size_t>(anchor)), escape_html(words));
  }
  const std::string& svg() const { return svg_; }

 private:
  static std::string name_of_pen(int pen) { return pen == kWish ? "d" : fmt::format("c{}", pen); }

  std::string svg_;
};

constexpr const char* kShapes =
    "text{font:12px system-ui,sans-serif}.t{font-weight:600;font-size:14px}.l{fill:none;stroke-width:2}.d{stroke-dasharray:5 "
    "4}";

// The colours of theme.css.
constexpr const char* kLight =
    ".p{fill:#fff}.t{fill:#1d1f21}.q{fill:#6a6d70}.g{stroke:#e4e3de}.d{stroke:#6a6d70}.l.c1{stroke:#0f766e}.l.c2{stroke:#"
    "c2571a}"
    ".l.c3{stroke:#4459b8}.l.c4{stroke:#9a3d86}.l.c5{stroke:#7a7a1f}.l.c6{stroke:#54606b}.m.c1{fill:#0f766e}.m.c2{fill:#c2571a}"
    ".m.c3{fill:#4459b8}.m.c4{fill:#9a3d86}.m.c5{fill:#7a7a1f}.m.c6{fill:#54606b}";

}  // namespace

std::string svg_chart_style() {
  std::string style =
      std::string("svg.charts{display:block;width:100%;height:auto}svg.charts ") + "text{font:12px var(--sans)}";
  for (const char* rule :
       {".t{font-weight:600;font-size:14px;fill:var(--text)}", ".l{fill:none;stroke-width:2}",
        ".d{stroke-dasharray:5 4;stroke:var(--quiet)}", ".q{fill:var(--quiet)}", ".g{stroke:var(--line)}", ".p{fill:none}"})
    style += std::string("svg.charts ") + rule;
  for (int color = 1; color <= ChartCanvas::kCurves; ++color)
    style += fmt::format("svg.charts .l.c{0}{{stroke:var(--series-{0})}}svg.charts .m.c{0}{{fill:var(--series-{0})}}", color);
  return style;
}

std::string svg_charts(const std::vector<LineChart>& charts, bool standalone, int columns) {
  const Size size = charts_size(charts, columns);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"charts\" viewBox=\"0 0 {0} {1}\"{2} role=\"img\">", size.width,
      size.height, standalone ? fmt::format(" width=\"{}\" height=\"{}\"", size.width, size.height) : "");
  if (standalone) svg += fmt::format("<style>{}{}</style>", kShapes, kLight);
  SvgCanvas canvas;
  draw_charts(charts, columns, canvas);
  return svg + "<rect width=\"100%\" height=\"100%\" class=\"p\"/>" + canvas.svg() + "</svg>\n";
}

}  // namespace tessera
