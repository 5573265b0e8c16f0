#include "storage/retries.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <thread>

#include "core/log.h"

namespace tessera {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kFirst{200}, kLongest{20'000}, kLongestAsked{60'000}, kLook{100};

// Half of it to all of it. Where many processes are refused together they come back at different times.
Milliseconds spread(Milliseconds pause) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return Milliseconds(std::uniform_int_distribution<int64_t>(pause.count() / 2, pause.count())(random));
}

Milliseconds asked_by(const HttpReply& reply) {
  const std::string text = reply.header("retry-after");
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool fine = !text.empty() && error == std::errc() && end == text.data() + text.size() && seconds >= 0;
  return fine ? std::min(Milliseconds(std::min<int64_t>(seconds, 3600) * 1000), kLongestAsked) : Milliseconds(0);
}

}  // namespace

bool Retries::another(const std::string& reason, const HttpReply& reply, const HttpClient& client) {
  if (made_ >= most_ || client.cancelled()) return false;
  const auto doubled = std::min(kLongest, kFirst * (int64_t{1} << std::min<int64_t>(made_, 10)));
  const Milliseconds pause = std::max(spread(doubled), asked_by(reply));
  ++made_;
  log_info("{}: {}; trying again in {:.1f} s ({} of {})", what_, reason, static_cast<double>(pause.count()) / 1000, made_,
           most_);
  const auto until = std::chrono::steady_clock::now() + pause;
  while (!client.cancelled()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) return true;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(kLook, until - now));
  }
  return false;
}

}  // namespace tessera
