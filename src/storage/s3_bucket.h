#pragma once
#include <functional>
#include <span>

#include "storage/object_service.h"

namespace tessera {

// Of the user, for a place of that kind.
BucketSettings settings_for(const Place& place);

// Objects of a bucket below a prefix, through the S3 protocol: Amazon's, Google's, MinIO's. A custom endpoint is asked with the
// bucket in the path, Amazon with the bucket in the host's name.
class S3Bucket : public ObjectService {
 public:
  S3Bucket(const Place& place, BucketSettings settings, const TransferConfig& config);

  HttpRequest request(const std::string& name) const override;
  std::vector<std::string> list(const std::string& prefix) override;
  std::string reason(const HttpReply& reply) const override;
  bool is_temporary(const HttpReply& reply) const override;
  std::string root() const override;
  std::string identity() const override;
  HttpClient& client() override { return client_; }
  const TransferConfig& config() const override { return config_; }

  // Replaces the object whole; readers see the old one or the new one. Large ones go up in parts. Tried again as configured;
  // throws Error that names the object and the cause, and nothing has changed then.
  void put(const std::string& name, std::span<const uint8_t> content);

  // An object that is not there is fine.
  void remove(const std::string& name);

 private:
  HttpRequest bucket_request(const std::string& query) const;
  void put_parts(const std::string& name, std::span<const uint8_t> content);

  Place place_;
  BucketSettings settings_;
  TransferConfig config_;
  std::string url_;  // of the bucket, ends with '/'
  HttpClient client_;
};

}  // namespace tessera
