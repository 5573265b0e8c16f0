#include "report/html_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "report/embedded.h"

namespace tessera {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

// What the page's script reads.
nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"report-data\">";
  const size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

ReportInput full_input(const std::string& name) {
  ReportInput input;
  input.title = name;
  input.config_yaml = "note: " + name;
  input.environment = {{"device", name}, {name, name}};
  input.model = {{"name", name}, {"parameters", 43'580'000}};
  input.class_names = {name, "road"};
  input.palette = {{1, 2, 3}, {4, 5, 6}};
  input.best = {{name, 0.975, {0x89, 0x50}}};
  input.worst = {{name, kNoValue, {0x89, 0x50}}};
  input.history.train = {{.step = 1, .loss = 2, .images_per_s = 50}, {.step = 2, .loss = NAN, .images_per_s = 70}};
  input.history.eval = {{.step = 2,
                         .metrics = {{"mean_iou", 0.4321}, {"pixel_accuracy", 0.8}, {name, 0.1}},
                         .per_class = {{.name = name, .iou = 0.5}, {.name = "road", .iou = 0.25}},
                         .confusion = {{3, 1}, {2, 4}}}};
  input.history.bad_samples = {{name, name, name}};
  input.history.events = {
      {.type = "start", .time = 1e9}, {.type = "resume", .step = 1}, {.type = "warning", .fields = {{"text", name}}}};
  return input;
}

TEST(HtmlReport, HasEverySectionOfAFullRun) {
  const std::string page = render_report(full_input("wall"));
  for (const char* id :
       {"curves", "classes", "confusion", "predictions", "quarantine", "timeline", "config", "model", "environment"}) {
    EXPECT_TRUE(holds(page, "<section id=\"" + std::string(id) + "\">")) << id;
    EXPECT_TRUE(holds(page, "<a href=\"#" + std::string(id) + "\">")) << id;
  }
  EXPECT_TRUE(holds(page, ">43.21<small>%</small>"));
  EXPECT_TRUE(holds(page, "43.6 M parameters"));
  EXPECT_TRUE(holds(page, "src=\"data:image/png;base64,iVA=\""));
  const auto data = data_of(page);
  EXPECT_EQ(data.at("confusion").at("rows"), nlohmann::json::parse("[[3,1],[2,4]]"));
  EXPECT_EQ(data.at("confusion").at("names"), nlohmann::json::parse("[\"wall\",\"road\"]"));
  EXPECT_EQ(data.at("resumes"), nlohmann::json::parse("[1]"));
}

TEST(HtmlReport, LoadsNothingFromAnywhere) {
  const std::string page = render_report(full_input("wall"));
  // Every source and link of the page itself; the chart library's text has addresses in its comments only.
  const std::regex reference(R"re((?:src|href|action|srcset)\s*=\s*["']([^"']*))re");
  std::string own = page;
  own.erase(own.find(embedded_file("chart.js")), embedded_file("chart.js").size());
  for (std::sregex_iterator match(own.begin(), own.end(), reference), end; match != end; ++match) {
    const std::string target = (*match)[1];
    EXPECT_TRUE(target.rfind("data:image/png;base64,", 0) == 0 || target.rfind('#', 0) == 0) << target;
  }
  for (const char* way : {"http://", "https://", "@import", "url(", "<link", "<iframe", "fetch(", "XMLHttpRequest"}) {
    EXPECT_FALSE(holds(own, way)) << way;
  }
  EXPECT_TRUE(holds(page, "default-src 'none'; img-src data:;"));
}

TEST(HtmlReport, EscapesWhateverUsersNameThings) {
  const std::string evil = "</script></pre><script>alert(\"x\")</script><b a='&'>{{title}}";
  const std::string plain = render_report(full_input("plain"));
  const std::string page = render_report(full_input(evil));
  EXPECT_FALSE(holds(page, "<script>alert"));
  EXPECT_FALSE(holds(page, "<b a="));
  EXPECT_EQ(count(page, "</script>"), count(plain, "</script>"));
  EXPECT_EQ(count(page, "</pre>"), count(plain, "</pre>"));
  EXPECT_TRUE(holds(page, "&lt;b a=&#39;&amp;&#39;&gt;{{title}}"));
  EXPECT_EQ(data_of(page).at("confusion").at("names").at(0), evil);
}

TEST(HtmlReport, ARunThatHasOnlyBegunIsAPageToo) {
  const std::string page = render_report(ReportInput{});
  EXPECT_TRUE(holds(page, "The run has only begun"));
  EXPECT_TRUE(holds(page, "not finished"));
  EXPECT_TRUE(holds(page, "no evaluation yet"));
  EXPECT_EQ(count(page, "<section "), 1U);
  EXPECT_FALSE(data_of(page).contains("confusion"));
}

TEST(HtmlReport, NanReachesThePageAsNull) {
  const std::string page = render_report(full_input("wall"));
  EXPECT_TRUE(data_of(page).at("curves").at("loss").at("series").at(0).at("y").at(1).is_null());
  ReportInput all_nan;
  all_nan.history.train = {{.step = 1}, {.step = 2}};
  all_nan.history.eval = {{.step = 2, .metrics = {{"mean_iou", NAN}}, .per_class = {{.name = "wall"}}}};
  const std::string empty = render_report(all_nan);
  EXPECT_TRUE(holds(empty, "2 logged losses are not finite"));
  EXPECT_FALSE(holds(empty, "nan"));
}

}  // namespace
}  // namespace tessera
