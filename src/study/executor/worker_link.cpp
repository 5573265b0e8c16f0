#include "study/executor/worker_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/signals.h"
#include "core/split.h"
#include "study/executor/crash_code.h"
#include "study/executor/job_files.h"

namespace tessera {
namespace {

constexpr size_t kMostBytes = size_t{1} << 16;  // of a message, far below what a socket takes at once
constexpr size_t kFiles = 2;                    // that go with it
constexpr char kBetween = '\0';

std::string message_of(const fs::path& folder, const std::vector<std::string>& words) {
  std::string text = folder.string();
  for (const std::string& word : words) text += kBetween + word;
  return text;
}

// The control part of a message that carries the two files.
struct FileSpace {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFiles * sizeof(int))> bytes{};
};

msghdr header(iovec& text, FileSpace& files) {
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = files.bytes.data();
  message.msg_controllen = files.bytes.size();
  return message;
}

std::optional<HandedJob> receive(const Descriptor& link) {
  std::string text(kMostBytes, '\0');
  iovec part{text.data(), text.size()};
  FileSpace space;
  msghdr message = header(part, space);
  const ssize_t got = ::recvmsg(link.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got <= 0) return std::nullopt;
  const cmsghdr* files = CMSG_FIRSTHDR(&message);
  if (files == nullptr || files->cmsg_type != SCM_RIGHTS || files->cmsg_len != CMSG_LEN(kFiles * sizeof(int)))
    return std::nullopt;
  std::array<int, kFiles> numbers{};
  std::memcpy(numbers.data(), CMSG_DATA(files), sizeof(numbers));
  text.resize(static_cast<size_t>(got));
  std::vector<std::string> words = split(text, kBetween);
  HandedJob job{.folder = words[0], .words = {}, .claim = {Descriptor(numbers[0]), Descriptor(numbers[1])}};
  job.words.assign(words.begin() + 1, words.end());
  return job;
}

// The next job. Nothing where there will be none: the controller has closed its end or died, or this process is to stop; a job
// that was handed over before that comes first.
std::optional<HandedJob> wait_for_job(const Descriptor& link) {
  while (true) {
    if (std::optional<HandedJob> job = receive(link)) return job;
    if (stop_signal() != 0) return std::nullopt;
    pollfd wanted{link.get(), POLLIN, 0};
    constexpr int kLook_ms = 1000;  // a signal ends the wait, unless it came just before it
    const int ready = ::poll(&wanted, 1, kLook_ms);
    if (ready > 0 && (wanted.revents & POLLIN) == 0) return std::nullopt;
    if (ready > 0) {
      char end = 0;
      if (::recv(link.get(), &end, 1, MSG_PEEK | MSG_DONTWAIT) == 0) return std::nullopt;
    }
  }
}

void send_output_to(const Descriptor& file) {
  std::fflush(nullptr);
  ::dup2(file.get(), STDOUT_FILENO);
  ::dup2(file.get(), STDERR_FILENO);
}

}  // namespace

WorkerLink make_worker_link() {
  std::array<int, 2> ends{};
  TSR_CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0, "cannot make a pair of sockets: {}",
            std::strerror(errno));
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

bool can_be_handed(const fs::path& folder, const std::vector<std::string>& words) {
  return message_of(folder, words).size() < kMostBytes;
}

bool hand_over(const Descriptor& link, const HandedJob& job) {
  std::string text = message_of(job.folder, job.words);
  iovec part{text.data(), text.size()};
  FileSpace space;
  msghdr message = header(part, space);
  cmsghdr* files = CMSG_FIRSTHDR(&message);
  files->cmsg_level = SOL_SOCKET;
  files->cmsg_type = SCM_RIGHTS;
  files->cmsg_len = CMSG_LEN(kFiles * sizeof(int));
  const std::array<int, kFiles> numbers{job.claim.process.get(), job.claim.output.get()};
  std::memcpy(CMSG_DATA(files), numbers.data(), sizeof(numbers));
  ssize_t put = 0;
  do put = ::sendmsg(link.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (put < 0 && errno == EINTR);
  return put == static_cast<ssize_t>(text.size());
}

void run_jobs(const Descriptor& link, const std::function<int(const std::vector<std::string>&)>& run) {
  catch_stop_signals();
  const Descriptor nowhere("/dev/null", O_WRONLY);
  while (const std::optional<HandedJob> job = wait_for_job(link)) {
    send_output_to(job->claim.output);
    const int code = [&] {
      const CrashCode crash_code(job->folder);
      return run(job->words);
    }();
    std::fflush(nullptr);
    try {
      leave_exit_code(job->folder, code);
    } catch (const Error& e) {
      log_error("{}", e.what());
      return;
    }
    if (code != 0) return;
    send_output_to(nowhere);
  }
}

}  // namespace tessera
