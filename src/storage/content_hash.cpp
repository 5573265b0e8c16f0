#include "storage/content_hash.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

constexpr std::array<std::pair<std::string_view, const char*>, 12> kDigests = {{{"blake2b", "BLAKE2B-512"},
                                                                                {"blake2s", "BLAKE2S-256"},
                                                                                {"md5", "MD5"},
                                                                                {"sha1", "SHA1"},
                                                                                {"sha224", "SHA224"},
                                                                                {"sha256", "SHA256"},
                                                                                {"sha384", "SHA384"},
                                                                                {"sha3_224", "SHA3-224"},
                                                                                {"sha3_256", "SHA3-256"},
                                                                                {"sha3_384", "SHA3-384"},
                                                                                {"sha3_512", "SHA3-512"},
                                                                                {"sha512", "SHA512"}}};
constexpr std::array<std::string_view, 5> kXxHashes = {"xxh128", "xxh32", "xxh3_128", "xxh3_64", "xxh64"};

const char* digest_of(std::string_view name) {
  const auto* const found =
      std::find_if(kDigests.begin(), kDigests.end(), [&](const auto& digest) { return digest.first == name; });
  return found == kDigests.end() ? nullptr : found->second;
}

std::string openssl_hash(const char* digest, std::span<const uint8_t> bytes) {
  std::array<uint8_t, EVP_MAX_MD_SIZE> value{};
  size_t length = 0;
  const int ok = EVP_Q_digest(nullptr, digest, nullptr, bytes.data(), bytes.size(), value.data(), &length);
  TSR_CHECK(ok == 1, "this OpenSSL does not compute {} (FIPS mode refuses md5, for example)", digest);
  std::string text;
  for (const uint8_t byte : std::span(value).first(length)) text += fmt::format("{:02x}", byte);
  return text;
}

std::string xx_hash(std::string_view name, std::span<const uint8_t> bytes) {
  if (name == "xxh32") return fmt::format("{:08x}", XXH32(bytes.data(), bytes.size(), 0));
  if (name == "xxh64") return fmt::format("{:016x}", XXH64(bytes.data(), bytes.size(), 0));
  if (name == "xxh3_64") return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

std::vector<std::string> hash_names() {
  std::vector<std::string> names(kXxHashes.begin(), kXxHashes.end());
  for (const auto& digest : kDigests) names.emplace_back(digest.first);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_hash_name(std::string_view name) {
  return digest_of(name) != nullptr || std::find(kXxHashes.begin(), kXxHashes.end(), name) != kXxHashes.end();
}

std::string content_hash(std::string_view name, std::span<const uint8_t> bytes) {
  if (const char* digest = digest_of(name)) return openssl_hash(digest, bytes);
  TSR_CHECK(is_hash_name(name), "no hash is called '{}'", name);
  return xx_hash(name, bytes);
}

void check_hashes(std::string_view what, std::span<const uint8_t> bytes, const std::map<std::string, std::string>& expected) {
  for (const auto& [name, hash] : expected) {
    if (!is_hash_name(name)) continue;
    const std::string found = content_hash(name, bytes);
    TSR_CHECK(found == lower(hash), "{} is damaged: its {} is {}, expected {}; get it again", what, name, found, hash);
  }
}

}  // namespace tessera
