#pragma once
#include "storage/object_service.h"

namespace tessera {

// Files below an http(s) URL. Servers have no common way to list them: `list` finds only a file of exactly that name.
class WebFolder : public ObjectService {
 public:
  WebFolder(const Place& place, const TransferConfig& config);

  HttpRequest request(const std::string& name) const override;
  std::vector<std::string> list(const std::string& prefix) override;
  std::string reason(const HttpReply& reply) const override;
  std::string root() const override;
  std::string identity() const override;
  HttpClient& client() override { return client_; }
  const TransferConfig& config() const override { return config_; }

 private:
  Place place_;
  TransferConfig config_;
  HttpClient client_;
};

}  // namespace tessera
