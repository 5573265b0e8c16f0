#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera {

// The figures of one split.
struct SplitFigures {
  std::string split{};
  int64_t usable = 0, checked = 0;
  std::vector<std::string> classes{};
  std::vector<std::array<uint8_t, 3>> palette{};
  std::vector<int64_t> pixels{}, images{};  // of each class
  std::vector<double> weights{};
  int64_t labelled_pixels = 0, ignored_pixels = 0;
  std::map<std::string, int64_t> sizes{};  // "height x width" -> images
  std::vector<double> mean{}, std{};
  std::vector<std::array<int64_t, 256>> histogram{};  // of each channel; empty: not of 8 bits
};

// One self-contained HTML file: tables with bars for classes and sizes, the values of each channel as a curve.
std::string render_stats_page(const std::string& title, const std::vector<SplitFigures>& splits);

}  // namespace tessera
