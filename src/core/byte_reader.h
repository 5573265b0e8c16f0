#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace tessera {

// Walks over bytes of an untrusted file: every step is checked, an overrun is an Error that names the file.
class ByteReader {
 public:
  ByteReader(std::span<const uint8_t> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  size_t position() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }
  const std::string& name() const { return name_; }

  std::span<const uint8_t> take(uint64_t count) {
    TSR_CHECK(count <= left(), "{} is truncated or damaged: {} bytes expected at offset {}, {} are left", name_, count, at_,
              left());
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  void skip(uint64_t count) { take(count); }

  std::string_view text(uint64_t count) {
    const auto bytes = take(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // Up to the next newline, which is taken too.
  std::string_view line() {
    size_t length = 0;
    while (length < left() && bytes_[at_ + length] != '\n') ++length;
    const std::string_view found = text(length);
    skip(1);
    return found;
  }

  template <class T>
  T number() {  // little-endian
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  std::string name_;
  size_t at_ = 0;
};

}  // namespace tessera
