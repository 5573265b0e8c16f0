#include "report/contact_sheet.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ContactSheet, ShowsEachSampleWithItsPictures) {
  const std::string page = render_contact_sheet(
      "Nuclei & co", {{"a<1>.png", "2 classes", {{"image", {0x66}}, {"labels", {0x66, 0x6F}}}}, {.id = "b.png"}});
  EXPECT_TRUE(holds(page, "<title>Nuclei &amp; co</title>"));
  EXPECT_TRUE(holds(page, "2 samples"));
  EXPECT_TRUE(holds(page, "<h2>a&lt;1&gt;.png</h2><p class=\"quiet\">2 classes</p>"));
  EXPECT_TRUE(holds(page, "src=\"data:image/png;base64,Zg==\""));
  EXPECT_TRUE(holds(page, "src=\"data:image/png;base64,Zm8=\""));
  EXPECT_TRUE(holds(page, "<figcaption class=\"quiet\">labels</figcaption>"));
  EXPECT_FALSE(holds(page, "http://"));
  EXPECT_FALSE(holds(page, "https://"));
}

TEST(ContactSheet, SaysWhenThereIsNothing) {
  EXPECT_TRUE(holds(render_contact_sheet("Empty", {}), "No samples."));
}

}  // namespace
}  // namespace tessera
