#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::testing {

// A tar file of plain headers, made entry by entry.
class TarMaker {
 public:
  TarMaker& add(const std::string& name, const std::string& content, char type = '0') {
    std::string header(512, '\0');
    name.copy(header.data(), 100);
    put(header, 100, "0000644");
    put(header, 124, fmt::format("{:011o}", content.size()));
    put(header, 136, "00000000000");
    header[156] = type;
    put(header, 257, "ustar");
    header[263] = header[264] = '0';
    put(header, 148, "        ");
    unsigned sum = 0;
    for (const char byte : header) sum += static_cast<uint8_t>(byte);
    put(header, 148, fmt::format("{:06o}", sum));
    header[154] = '\0';
    header[155] = ' ';
    bytes_ += header + content;
    bytes_.resize((bytes_.size() + 511) / 512 * 512, '\0');
    return *this;
  }
  std::vector<uint8_t> finish() const {
    const std::string all = bytes_ + std::string(1024, '\0');
    return {all.begin(), all.end()};
  }

 private:
  static void put(std::string& header, size_t at, const std::string& text) { text.copy(header.data() + at, text.size()); }
  std::string bytes_;
};

}  // namespace tessera::testing
