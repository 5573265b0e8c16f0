#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/http_client.h"
#include "storage/place_url.h"

namespace tessera {

// How patient transfers are.
struct TransferConfig {
  int64_t timeout_s = 60;  // for a connection, and without a kilobyte per second
  int64_t retries = 8;     // after the first try, of what may be temporary
};

// Files behind URLs: how they are asked for, and what answers mean. Names are relative to the place. Thread-safe.
class ObjectService {
 public:
  virtual ~ObjectService() = default;

  // A GET of this file.
  virtual HttpRequest request(const std::string& name) const = 0;

  // Names below the place that begin with `prefix`, sorted. Throws Error.
  virtual std::vector<std::string> list(const std::string& prefix) = 0;

  // What an answer that is not good means, for people.
  virtual std::string reason(const HttpReply& reply) const = 0;

  // Of errors that only the text of an answer tells.
  virtual bool is_temporary(const HttpReply& reply) const { return reply.temporary; }

  // The place without credentials, without a '/' at its end.
  virtual std::string root() const = 0;

  // The same for a cache: different for places that differ in anything that finds files. Holds no credentials.
  virtual std::string identity() const = 0;

  virtual HttpClient& client() = 0;
  virtual const TransferConfig& config() const = 0;

  std::string name_of(const std::string& name) const { return root() + "/" + name; }

  // Sends a request whose answer is small until it is good or stays bad. nothing_at_404: a 404 is an answer too.
  // Throws Error that begins with `what`.
  HttpReply send(const HttpRequest& request, const std::string& what, bool nothing_at_404 = false);
};

// Of any place but a folder.
std::shared_ptr<ObjectService> open_object_service(const Place& place, const TransferConfig& config);

// Throws Error where a name, which may come from a file of somebody else, leads out of its place.
void check_file_name(const std::string& name, const std::string& root);

}  // namespace tessera
