#include "dist/sealed_store.h"

#include <algorithm>
#include <cassert>
#include <thread>

#include "core/error.h"
#include "core/hmac.h"
#include "core/log.h"
#include "core/printable.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kCodeBytes = 32, kMostNamed = 20;
constexpr auto kLookAgain = std::chrono::milliseconds(50);

std::string code_of(const std::string& secret, const std::string& key, const std::vector<uint8_t>& value) {
  // The length keeps a name's end and a text's beginning apart.
  std::string text = fmt::format("{} {} ", key.size(), key);
  text.append(value.begin(), value.end());
  return hmac_sha256(secret, text);
}

}  // namespace

SealedStore::SealedStore(c10::intrusive_ptr<c10d::Store> store, std::string key, std::string place)
    : Store(store->getTimeout()), store_(std::move(store)), key_(std::move(key)), place_(std::move(place)) {}

c10::intrusive_ptr<c10d::Store> SealedStore::clone() {
  return c10::make_intrusive<SealedStore>(store_->clone(), key_, place_);
}

SealedStore::Bytes SealedStore::sealed(const std::string& key, const Bytes& value) const {
  Bytes bytes = value;
  const std::string code = code_of(key_, key, value);
  bytes.insert(bytes.end(), code.begin(), code.end());
  return bytes;
}

std::optional<SealedStore::Bytes> SealedStore::opened(const std::string& key, const Bytes& bytes) {
  if (bytes.size() >= kCodeBytes) {
    const auto end = bytes.end() - kCodeBytes;
    Bytes value(bytes.begin(), end);
    if (same_code(std::string(end, bytes.end()), code_of(key_, key, value))) return value;
  }
  const std::lock_guard lock(mutex_);
  if (named_.size() < kMostNamed && named_.insert(key).second) {
    log_warn(
        "what stands for '{}' in the ranks' store at {} does not carry the code of this job's secret, and is not believed: a "
        "stranger wrote it, or a rank that has another secret or none",
        printable(key), place_);
  }
  return std::nullopt;
}

void SealedStore::setTimeout(const std::chrono::milliseconds& timeout) {
  Store::setTimeout(timeout);
  store_->setTimeout(timeout);
}

void SealedStore::set(const std::string& key, const Bytes& value) {
  store_->set(key, sealed(key, value));
}

SealedStore::Bytes SealedStore::get(const std::string& key) {
  for (const auto end = Clock::now() + timeout_;; std::this_thread::sleep_for(kLookAgain)) {
    if (auto value = opened(key, store_->get(key))) return *value;  // throws if nothing comes at all
    TSR_CHECK(
        timeout_ == kNoTimeout || Clock::now() < end,
        "'{}' did not come from a rank that has this job's secret within {} s; look for a stranger at {}, and give all ranks "
        "the same secret",
        printable(key), std::chrono::duration_cast<std::chrono::seconds>(timeout_).count(), place_);
  }
}

SealedStore::Bytes SealedStore::compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) {
  const Bytes ours = sealed(key, desired), theirs = expected.empty() ? Bytes() : sealed(key, expected);
  for (Bytes there = store_->compareSet(key, theirs, ours);; there = store_->compareSet(key, there, ours)) {
    if (auto value = opened(key, there)) return *value;
    if (!expected.empty()) return expected;  // what is not sealed is not there either
  }
}

// By comparing, for the store's own sum would count what anybody adds. The random word tells our value from another's equal
// one.
int64_t SealedStore::add(const std::string& key, int64_t value) {
  std::string seen;
  for (;;) {
    const int64_t sum = value + (seen.empty() ? 0 : std::stoll(seen));
    const std::string wanted = fmt::format("{} {}", sum, hex_of(random_bytes(8)));
    const Bytes there = compareSet(key, Bytes(seen.begin(), seen.end()), Bytes(wanted.begin(), wanted.end()));
    std::string now(there.begin(), there.end());
    if (now == wanted) return sum;
    seen = now == seen ? "" : std::move(now);  // the same: it was deleted meanwhile
  }
}

bool SealedStore::check(const std::vector<std::string>& keys) {
  return store_->check(keys) && std::all_of(keys.begin(), keys.end(), [this](const std::string& key) {
           return opened(key, store_->get(key)).has_value();
         });
}

void SealedStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
  for (const auto end = Clock::now() + timeout;; std::this_thread::sleep_for(kLookAgain)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    store_->wait(keys, timeout == kNoTimeout ? timeout : std::max(left, std::chrono::milliseconds(1)));  // throws
    if (check(keys)) return;
    TSR_CHECK(timeout == kNoTimeout || Clock::now() < end, "not all of {} keys came from ranks that have this job's secret",
              keys.size());
  }
}

std::vector<SealedStore::Bytes> SealedStore::multiGet(const std::vector<std::string>& keys) {
  std::vector<Bytes> values;
  for (const std::string& key : keys) values.push_back(get(key));
  return values;
}

void SealedStore::multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) {
  assert(keys.size() == values.size());
  for (size_t i = 0; i < keys.size(); ++i) set(keys[i], values[i]);
}

}  // namespace tessera
