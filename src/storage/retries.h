#pragma once
#include <string>

#include "storage/http_client.h"

namespace tessera {

// The tries of one transfer: what is temporary (timeouts, busy servers, cut connections) is tried again after a pause, which
// doubles, differs at random between processes, and is what the server asks for where it does (Retry-After).
class Retries {
 public:
  // what: of the log, "s3://bucket/shard.00001.mds". most: tries after the first; from then on a reply is final.
  Retries(std::string what, int64_t most) : what_(std::move(what)), most_(most) {}

  // After a try that failed with `reason`. False: it was the last. Else it has waited; ends early where the client is
  // cancelled.
  bool another(const std::string& reason, const HttpReply& reply, const HttpClient& client);
  bool another_of_temporary(const std::string& reason, const HttpReply& reply, const HttpClient& client) {
    return reply.temporary && another(reason, reply, client);
  }
  // Something came: the pauses begin anew.
  void progressed() { made_ = 0; }

 private:
  std::string what_;
  int64_t most_;
  int64_t made_ = 0;  // further ones
};

}  // namespace tessera
