#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Text made safe for element content and for attributes in double or single quotes.
std::string escape_html(std::string_view text);

// JSON that may stand inside a <script> element: no '<' is left in it, so nothing ends the element early. Numbers that are
// not finite become null, bytes that are no UTF-8 become U+FFFD.
std::string json_for_script(const nlohmann::json& value);

std::string base64(std::span<const uint8_t> bytes);

// <img> of an encoded PNG, carried inside the page.
std::string png_element(std::span<const uint8_t> png, std::string_view alt);

// Replaces each {{name}} of the template. What is put in is not looked at again. Throws Error for a name without a value.
std::string fill_template(std::string_view text, const std::map<std::string, std::string, std::less<>>& values);

}  // namespace tessera
