#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Notes a value that a config took from this variable of the environment and that nobody should read in a log or a file. For
// the whole process, from any thread. Values of less than six bytes are not noted: they would be found in every other word.
void hide_secret(const std::string& variable, const std::string& value);

// A text to be shown or stored: noted values are replaced by ${VARIABLE}, and credentials of URLs are masked.
std::string without_secrets(std::string_view text);

// The text with user, password and the values of the query replaced by *** in each URL. What is a ${VARIABLE} stays, and so do
// #sha256=... and the few values of a query that are known to be no secrets, such as download=true.
std::string mask_urls(std::string_view text);

// What stands where a credential was.
inline constexpr std::string_view kMasked = "***";

}  // namespace tessera
