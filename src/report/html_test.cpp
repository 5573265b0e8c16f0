#include "report/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"

namespace tessera {
namespace {

std::string encoded(std::string_view text) {
  return base64(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

TEST(Html, EscapesMarkupAndBothQuotes) {
  EXPECT_EQ(escape_html("<b> & \"it's\""), "&lt;b&gt; &amp; &quot;it&#39;s&quot;");
}

TEST(Html, JsonCannotEndItsScript) {
  const nlohmann::json value{{"name", "</script><!--"}};
  const std::string text = json_for_script(value);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text), value);
}

TEST(Html, JsonHasNullForNanAndSurvivesBadUtf8) {
  EXPECT_EQ(json_for_script(nlohmann::json{NAN, INFINITY, 1}), "[null,null,1]");
  EXPECT_EQ(json_for_script(nlohmann::json("\xff")), "\"\xEF\xBF\xBD\"");
}

TEST(Html, Base64OfEveryRemainder) {  // RFC 4648, section 10
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
}

TEST(Html, TemplateValuesAreNotFilledAgain) {
  EXPECT_EQ(fill_template("<{{a}}|{{b}}>", {{"a", "{{b}}"}, {"b", "2"}}), "<{{b}}|2>");
  EXPECT_THROW(fill_template("{{unknown}}", {}), Error);
  EXPECT_THROW(fill_template("{{open", {}), Error);
}

}  // namespace
}  // namespace tessera
