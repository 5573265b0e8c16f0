#include "storage/object_fetch.h"

#include <optional>

#include "core/error.h"
#include "core/printable.h"
#include "storage/retries.h"

namespace tessera {
namespace {

constexpr long kPart = 206, kUnchanged = 304, kOtherVersion = 412, kBeyondTheEnd = 416;
constexpr size_t kLongestMark = 512;
constexpr int64_t kProgress = 1 << 20;

// What tells two versions of an object apart: its ETag, else its date.
std::string mark_of(const HttpReply& reply) {
  std::string etag = reply.header("etag"), date = reply.header("last-modified");
  std::string mark = etag.empty() ? date : etag;
  return mark.size() <= kLongestMark ? mark : "";
}

bool is_etag(const std::string& mark) {
  return mark.ends_with('"');
}

// Of weak ones and dates servers do not promise that the bytes are the same.
bool promises_bytes(const std::string& mark) {
  return is_etag(mark) && !mark.starts_with("W/");
}

// The tries of one object.
class Fetch {
 public:
  Fetch(ObjectService& service, const std::string& name, ObjectCache& cache, const std::string& key)
      : service_(service), name_(name), what_(printable(service.name_of(name))), cache_(cache), key_(key) {}

  bool run(const std::string& known_mark) {
    Retries retries(what_, service_.config().retries);
    int64_t furthest = 0;
    while (true) {
      HttpReply reply = try_once(known_mark);
      if (reply.failure.empty() && reply.status == kUnchanged && !known_mark.empty()) return false;
      if (reply.ok() && !begun_ && !other_) begin(reply);  // an empty object: no piece of it came
      if (reply.ok() && !other_ && (draft_->bytes() < 0 || draft_->written() == draft_->bytes())) {
        draft_->finish(mark_);
        return true;
      }
      const std::string why = reason(reply);
      reply.temporary = service_.is_temporary(reply) || reply.ok() || other_;
      if (draft_ && !other_ && draft_->written() >= furthest + kProgress) {
        furthest = draft_->written();
        retries.progressed();
      }
      if (other_ || !promises_bytes(mark_)) draft_.reset();
      if (!retries.another_of_temporary(why, reply, service_.client())) fail("{}: {}", what_, why);
    }
  }

 private:
  HttpReply try_once(const std::string& known_mark) {
    begun_ = other_ = false;
    HttpRequest request = service_.request(name_);
    if (draft_ && draft_->written() > 0) {
      request.headers = {fmt::format("Range: bytes={}-", draft_->written()), "If-Match: " + mark_};
    } else if (!known_mark.empty()) {
      request.headers = {(is_etag(known_mark) ? "If-None-Match: " : "If-Modified-Since: ") + known_mark};
    }
    HttpReply reply = service_.client().send(request, [&](const HttpReply& head, std::span<const uint8_t> piece) {
      if (!begun_ && !begin(head)) return false;
      draft_->write(piece);
      return true;
    });
    if (reply.status == kOtherVersion || reply.status == kBeyondTheEnd) other_ = true;
    return reply;
  }

  // At an answer's first byte. False: it is not the rest of what has come.
  bool begin(const HttpReply& head) {
    begun_ = true;
    if (head.status == kPart) {
      const ContentRange range = head.range().value_or(ContentRange{});
      other_ = !draft_ || range.first < 0 || range.first != draft_->written() || range.whole < 0 ||
               range.whole != draft_->bytes() || mark_of(head) != mark_;
      return !other_;
    }
    mark_ = mark_of(head);
    draft_.reset();  // its room is free for the new one
    draft_.emplace(cache_, key_, head.length(), what_);
    return true;
  }

  std::string reason(const HttpReply& reply) const {
    if (other_) return "the object changed while it was fetched";
    if (reply.ok()) return fmt::format("{} of {} bytes came", draft_->written(), draft_->bytes());
    return service_.reason(reply);
  }

  ObjectService& service_;
  const std::string& name_;
  std::string what_;
  ObjectCache& cache_;
  const std::string& key_;
  std::optional<CacheDraft> draft_;
  std::string mark_;
  bool begun_ = false;
  bool other_ = false;  // the answer is of another version
};

}  // namespace

bool fetch_object(ObjectService& service, const std::string& name, const std::string& known_mark, ObjectCache& cache,
                  const std::string& key) {
  return Fetch(service, name, cache, key).run(known_mark);
}

}  // namespace tessera
