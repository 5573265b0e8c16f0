#pragma once
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tessera::testing {

// A web server on loopback that gives out files and knows ranges and ETags. One request per connection.
class HttpServer {
 public:
  struct Request {
    std::string method, path, range, if_match, if_none_match;
  };
  // What happens to an answer; -1, 0: nothing.
  struct Fault {
    int status = 0;            // in place of the file
    int64_t cut_at = -1;       // the connection ends after so many bytes of content
    int64_t flip = -1;         // this byte is another one
    std::string replace = {};  // the file's content from now on
  };

  HttpServer() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    ::setenv("no_proxy", "127.0.0.1", 1);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), length);
    ::listen(listener_, 64);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  void put(const std::string& path, std::string content) {
    const std::lock_guard lock(mutex_);
    files_[path] = {std::move(content), fmt::format("\"{}\"", ++version_)};
  }
  // Called for each request before it is answered.
  void on_request(std::function<Fault(const Request&)> fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
  }
  // Those so far whose path ends so; forgets them.
  std::vector<Request> take_requests(const std::string& ending = "") {
    const std::lock_guard lock(mutex_);
    std::vector<Request> found;
    for (const Request& request : requests_) {
      if (request.path.ends_with(ending)) found.push_back(request);
    }
    requests_.clear();
    return found;
  }

 private:
  struct File {
    std::string content, etag;
  };

  void serve() {
    std::vector<std::thread> threads;
    for (int client = 0; (client = ::accept(listener_, nullptr, nullptr)) >= 0;)
      threads.emplace_back([this, client] {
        answer(client);
        ::shutdown(client, SHUT_RDWR);
        ::close(client);
      });
    for (std::thread& thread : threads) thread.join();
  }

  static std::string header(const std::string& text, const std::string& name) {
    const size_t at = text.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return text.substr(begin, text.find("\r\n", begin) - begin);
  }

  static void send_all(int client, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t sent = ::send(client, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (sent <= 0) return;
      done += static_cast<size_t>(sent);
    }
  }

  void answer(int client) {
    std::string text;
    std::array<char, 4096> piece{};
    while (text.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = ::recv(client, piece.data(), piece.size(), 0);
      if (got <= 0) return;
      text.append(piece.data(), static_cast<size_t>(got));
    }
    const size_t first = text.find(' '), second = text.find(' ', first + 1);
    const Request request{text.substr(0, first), text.substr(first + 1, second - first - 1), header(text, "Range"),
                          header(text, "If-Match"), header(text, "If-None-Match")};
    File file;
    bool there = false;
    Fault fault;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (fault_) fault = fault_(request);
      if (!fault.replace.empty()) files_[request.path] = {fault.replace, fmt::format("\"{}\"", ++version_)};
      if (const auto found = files_.find(request.path); found != files_.end()) {
        file = found->second;
        there = true;
      }
    }
    int status = fault.status != 0                                                      ? fault.status
                 : !there                                                               ? 404
                 : !request.if_match.empty() && request.if_match != file.etag           ? 412
                 : !request.if_none_match.empty() && request.if_none_match == file.etag ? 304
                                                                                        : 200;
    long begin = 0;
    std::string more;
    if (status == 200 && std::sscanf(request.range.c_str(), "bytes=%ld-", &begin) == 1) {
      status = 206;
      more = fmt::format("Content-Range: bytes {}-{}/{}\r\n", begin, file.content.size() - 1, file.content.size());
    }
    std::string content = status == 200 || status == 206 ? file.content.substr(static_cast<size_t>(begin)) : "";
    if (fault.flip >= 0) content[static_cast<size_t>(fault.flip)] ^= 1;
    send_all(client, fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\nETag: {}\r\nConnection: close\r\n{}\r\n", status,
                                 content.size(), file.etag, more));
    if (fault.cut_at >= 0) content.resize(std::min(content.size(), static_cast<size_t>(fault.cut_at)));
    if (request.method != "HEAD") send_all(client, content);
  }

  int listener_;
  int port_ = 0;
  std::mutex mutex_;
  std::map<std::string, File> files_;
  std::function<Fault(const Request&)> fault_;
  std::vector<Request> requests_;
  int version_ = 0;
  std::thread thread_;
};

}  // namespace tessera::testing
