#include "launch/cluster/nodelist.h"

#include <fmt/format.h>

#include "core/error.h"
#include "launch/numbers.h"

namespace tessera {
namespace {

constexpr size_t kMaxHosts = 100000;  // a slip such as [1-999999999] must not fill the memory

// Cuts at commas that stand outside brackets.
std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      if (i > begin) parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    } else {
      depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
      if (depth < 0 || depth > 1) fail_usage("node list '{}': brackets do not match", text);
    }
  }
  if (depth != 0) fail_usage("node list '{}': brackets do not match", text);
  return parts;
}

// "01-03": 01, 02, 03; "7": 7.
void expand_range(std::string_view range, std::vector<std::string>& out) {
  const size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
  const auto low = parse_whole(first), high = parse_whole(last);
  if (!low || !high || *high < *low || *high - *low >= static_cast<int64_t>(kMaxHosts)) {
    fail_usage("node list: '{}' is no range of numbers such as 01-08", range);
  }
  for (int64_t n = *low; n <= *high; ++n) out.push_back(fmt::format("{:0{}}", n, first.size()));
}

void expand_name(std::string_view name, std::vector<std::string>& out) {
  std::vector<std::string> made{""};
  while (!name.empty()) {
    const size_t open = name.find('[');
    for (std::string& text : made) text += name.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = name.find(']', open);
    std::vector<std::string> numbers;
    for (const std::string_view range : split_outside_brackets(name.substr(open + 1, close - open - 1)))
      expand_range(range, numbers);
    std::vector<std::string> longer;
    for (const std::string& text : made) {
      for (const std::string& number : numbers) longer.push_back(text + number);
    }
    if (longer.size() > kMaxHosts) fail_usage("node list: more than {} hosts", kMaxHosts);
    made = std::move(longer);
    name.remove_prefix(close + 1);
  }
  out.insert(out.end(), made.begin(), made.end());
}

}  // namespace

std::vector<std::string> expand_nodelist(std::string_view text) {
  std::vector<std::string> hosts;
  for (const std::string_view name : split_outside_brackets(text)) expand_name(name, hosts);
  return hosts;
}

std::vector<int> expand_counts(std::string_view text) {
  std::vector<int> counts;
  for (std::string_view part : split_outside_brackets(text)) {
    const size_t times = part.find("(x");
    const auto count = parse_whole(part.substr(0, times));
    std::optional<int64_t> repeat = 1;
    if (times != std::string_view::npos) repeat = parse_whole(part.substr(times + 2, part.size() - times - 3));
    if (!count || !repeat || *repeat > static_cast<int64_t>(kMaxHosts))
      fail_usage("'{}' is no list of counts such as 4(x2),2", text);
    counts.insert(counts.end(), static_cast<size_t>(*repeat), static_cast<int>(*count));
  }
  return counts;
}

}  // namespace tessera
