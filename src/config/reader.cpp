#include "config/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/suggest.h"

namespace tessera {
namespace {

std::string shown(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kScalar: return "'" + node.scalar + "'";
    case Node::Kind::kList: return "a list";
    case Node::Kind::kMap: return "a group";
  }
  return "";
}

template <class T>
bool parse_number(const Node& node, T& value) {
  if (node.kind != Node::Kind::kScalar || node.quoted) return false;
  const char* begin = node.scalar.data();
  const char* end = begin + node.scalar.size();
  if (begin != end && *begin == '+') ++begin;
  if constexpr (std::is_integral_v<T>) {  // colours are written 0xRRGGBB
    const bool hexadecimal = end - begin > 2 && begin[0] == '0' && (begin[1] == 'x' || begin[1] == 'X') && begin[2] != '-';
    if (hexadecimal) {
      const auto [stop, error] = std::from_chars(begin + 2, end, value, 16);
      return error == std::errc() && stop == end;
    }
  }
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end && begin != end;
}

}  // namespace

void ConfigReader::wrong(const Node& node, const std::string& path, const std::string& expected) {
  fail_usage("{}: {} expects {}, got {}", node.origin.text(), path, expected, shown(node));
}

void ConfigReader::check_range(const Node& node, const std::string& path, double value, const Check& check) {
  if (value >= check.low && value <= check.high && !(check.low_open && value == check.low) && !std::isnan(value)) return;
  std::string expected = fmt::format("a value {} {}", check.low_open ? "above" : "of at least", check.low);
  if (std::isfinite(check.high) && std::isfinite(check.low)) expected = fmt::format("a value in {}..{}", check.low, check.high);
  if (!std::isfinite(check.low) && std::isfinite(check.high)) expected = fmt::format("a value of at most {}", check.high);
  if (!std::isfinite(check.low) && !std::isfinite(check.high)) expected = "a number";
  wrong(node, path, expected);
}

size_t ConfigReader::enum_index(const Node& node, const std::string& path, const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), node.scalar);
  if (node.kind != Node::Kind::kScalar || found == names.end()) {
    fail_usage("{}: {} expects one of {}, got {}{}", node.origin.text(), path, fmt::join(names, ", "), shown(node),
               did_you_mean(node.scalar, names));
  }
  return static_cast<size_t>(found - names.begin());
}

void ConfigReader::reject_unknown() const {
  for (const auto& [name, value] : node_.map) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    fail_usage("{}: unknown key '{}'{}; {} has: {}", value.origin.text(), key(name), did_you_mean(name, known_),
               path_.empty() ? "the config" : path_, fmt::join(known_, ", "));
  }
}

void ConfigReader::read(const Node& node, const std::string& path, bool& value, const Check&) {
  const bool yes = node.scalar == "true" || node.scalar == "yes" || node.scalar == "on";
  const bool no = node.scalar == "false" || node.scalar == "no" || node.scalar == "off";
  if (node.kind != Node::Kind::kScalar || node.quoted || (!yes && !no)) wrong(node, path, "true or false");
  value = yes;
}

void ConfigReader::read(const Node& node, const std::string& path, int64_t& value, const Check& check) {
  if (!parse_number(node, value)) wrong(node, path, "a whole number");
  check_range(node, path, static_cast<double>(value), check);
}

void ConfigReader::read(const Node& node, const std::string& path, uint64_t& value, const Check& check) {
  int64_t number = 0;
  read(node, path, number, {std::max(0.0, check.low), check.high, check.low_open});
  value = static_cast<uint64_t>(number);
}

void ConfigReader::read(const Node& node, const std::string& path, double& value, const Check& check) {
  if (!parse_number(node, value) || !std::isfinite(value)) wrong(node, path, "a number");
  check_range(node, path, value, check);
}

void ConfigReader::read(const Node& node, const std::string& path, std::string& value, const Check&) {
  if (node.kind != Node::Kind::kScalar) wrong(node, path, "text");
  value = node.scalar;
}

void ConfigReader::read(const Node& node, const std::string& path, Size& value, const Check& check) {
  constexpr double kLargestSide = 1 << 20;
  const Check limited{check.low, std::min(check.high, kLargestSide), check.low_open};
  int64_t sides[2] = {0, 0};
  if (node.kind == Node::Kind::kList && node.list.size() == 2) {
    for (int i = 0; i < 2; ++i) read(node.list[i], path, sides[i], limited);
  } else if (parse_number(node, sides[0])) {
    check_range(node, path, static_cast<double>(sides[0]), limited);
    sides[1] = sides[0];
  } else {
    wrong(node, path, "a size: 512 or [height, width]");
  }
  value = {static_cast<int>(sides[0]), static_cast<int>(sides[1])};
}

void ConfigReader::read(const Node& node, const std::string& path, WindowSize& value, const Check& check) {
  value = WindowSize();
  if (node.kind == Node::Kind::kScalar && node.scalar == "auto") return;
  if (int64_t side = 0; node.kind != Node::Kind::kList && !parse_number(node, side))
    wrong(node, path, "auto, or a size: 512 or [height, width]");
  Size size;
  read(node, path, size, check);
  value = size;
}

void ConfigReader::read(const Node& node, const std::string& path, MicroBatch& value, const Check& check) {
  value = MicroBatch();
  if (node.kind == Node::Kind::kScalar && node.scalar == "auto") return;
  int64_t samples = 0;
  if (node.kind != Node::Kind::kScalar || !parse_number(node, samples)) wrong(node, path, "auto, or a number of samples");
  read(node, path, samples, check);
  value = samples;
}

void ConfigReader::read(const Node& node, const std::string& path, Duration& value, const Check&) {
  if (node.kind != Node::Kind::kScalar) wrong(node, path, "a duration such as 25ep, 1000ba or 0.5dur");
  try {
    value = Duration::parse(node.scalar);
  } catch (const Error& e) {
    fail_usage("{}: {}: {}", node.origin.text(), path, e.what());
  }
}

void ConfigReader::read(const Node& node, const std::string& path, ClassWeights& value, const Check& check) {
  value = ClassWeights();
  double number = 0;
  if (node.kind == Node::Kind::kScalar && node.scalar == "auto") {
    value.method = MedianFrequency{};
  } else if (node.kind == Node::Kind::kList || parse_number(node, number) || node.scalar.find(',') != std::string::npos) {
    read(node, path, value.given, check);
  } else if (node.kind == Node::Kind::kScalar || node.kind == Node::Kind::kMap) {
    read(node, path, value.method, check);
  } else {
    wrong(node, path, "auto, median_frequency, inverse, effective_number, or a list with a number for each class");
  }
}

void ConfigReader::read(const Node& node, const std::string& path, std::map<int64_t, int64_t>& value, const Check& check) {
  if (node.kind != Node::Kind::kMap) wrong(node, path, "a table such as {7: 0, 9: 1}");
  value.clear();
  for (const auto& [name, target] : node.map) {
    Node number = target;
    number.kind = Node::Kind::kScalar;
    number.scalar = name;
    int64_t from = 0;
    read(number, path, from, any());
    read(target, path + "." + name, value[from], check);
  }
}

void ConfigReader::read(const Node& node, const std::string& path, std::map<std::string, double>& value, const Check& check) {
  if (node.kind != Node::Kind::kMap) wrong(node, path, "a table such as {backbone: 0.1}");
  value.clear();
  for (const auto& [name, number] : node.map) read(number, path + "." + name, value[name], check);
}

void ConfigReader::read(const Node& node, const std::string& path, Node& value, const Check&) {
  if (node.kind != Node::Kind::kMap) wrong(node, path, "a group of 'key: value' lines");
  value = node;
}

}  // namespace tessera
