#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tessera {

// Where the fields of a tar header are.
struct TarField {
  size_t offset, length;
};
inline constexpr TarField kTarName{0, 100}, kTarMode{100, 8}, kTarUser{108, 8}, kTarGroup{116, 8}, kTarSize{124, 12},
    kTarTime{136, 12}, kTarChecksum{148, 8}, kTarType{156, 1}, kTarMagic{257, 6}, kTarVersion{263, 2}, kTarPrefix{345, 155};
inline constexpr std::string_view kUstar("ustar\0", 6);
inline constexpr uint64_t kMostTarContent = uint64_t{1} << 62;  // with its padding still a number

}  // namespace tessera
