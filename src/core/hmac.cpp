#include "core/hmac.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "core/error.h"

namespace tessera {

std::string random_bytes(size_t count) {
  std::string bytes(count, '\0');
  TSR_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1,
            "the system gives no random bytes, and without them there are no secrets");
  return bytes;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string code(EVP_MAX_MD_SIZE, '\0');
  unsigned int length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  TSR_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(),
                 reinterpret_cast<unsigned char*>(code.data()), &length) != nullptr,
            "OpenSSL has no HMAC-SHA256");
  code.resize(length);
  return code;
}

bool same_code(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace tessera
