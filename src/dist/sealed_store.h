#pragma once
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace tessera {

// Note [Sealed store]
// c10d's TCPStore does what anybody who reaches its port asks. Ranks on several hosts believe only values that carry a code
// nobody can make without `key`: each lies in the store with HMAC-SHA256(key, its name and its text) behind it. What has
// another code is as if it were not there: it is named once, waited past until the time is over, and replaced by what belongs
// there. A stranger can still delete or overwrite values, so that ranks wait for them in vain, but not put words into a rank's
// mouth. Ranks, Gloo and NCCL use it; one object may be used by several threads, as the store behind it.
class SealedStore : public c10d::Store {
 public:
  SealedStore(c10::intrusive_ptr<c10d::Store> store, std::string key, std::string place);  // place: for messages

  c10::intrusive_ptr<c10d::Store> clone() override;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> get(const std::string& key) override;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& desired) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override { return store_->deleteKey(key); }
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override { return store_->getNumKeys(); }  // strangers' too
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys, const std::vector<std::vector<uint8_t>>& values) override;
  void setTimeout(const std::chrono::milliseconds& timeout) override;

 private:
  using Bytes = std::vector<uint8_t>;
  Bytes sealed(const std::string& key, const Bytes& value) const;
  std::optional<Bytes> opened(const std::string& key, const Bytes& bytes);  // names what is not sealed

  c10::intrusive_ptr<c10d::Store> store_;
  std::string key_, place_;
  std::mutex mutex_;
  std::set<std::string> named_;
};

}  // namespace tessera
