#include "report/tensorboard.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host_name.h"
#include "core/log.h"
#include "core/tfrecord_frame.h"
#include "report/events.pb.h"

namespace tessera {
namespace {

constexpr int kRgb = 3;
constexpr int kStringType = 7;

// O_EXCL refuses an existing file, so two writers of one process never share one; the second gets a number.
std::FILE* open_new(std::filesystem::path& path, Access access) {
  const std::string stem = path.string();
  for (int n = 1; n < 1000; ++n) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode(access));
    if (fd >= 0) return ::fdopen(fd, "wb");
    if (errno != EEXIST) return nullptr;
    path = fmt::format("{}.{}", stem, n);
  }
  return nullptr;
}

events::Event event_at(int64_t step) {
  events::Event event;
  event.set_wall_time(unix_s());
  event.set_step(step);
  return event;
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, std::optional<int64_t> purge_from, Access access) {
  make_folders(folder, access);
  path_ = folder / fmt::format("events.out.tfevents.{}.{}.{}", std::time(nullptr), host_name(), ::getpid());
  file_.reset(open_new(path_, access));
  TSR_CHECK(file_ != nullptr, "cannot write {}: {}", path_.string(), std::strerror(errno));

  events::Event version = event_at(0);
  version.set_file_version("brain.Event:2");
  append(version.SerializeAsString());
  if (purge_from) {
    events::Event restart = event_at(*purge_from);
    restart.mutable_session_log()->set_status(events::SessionLog::START);
    append(restart.SerializeAsString());
  }
  flush();
}

TensorBoardWriter::~TensorBoardWriter() {
  try {
    flush();
  } catch (const Error& error) {
    log_warn("{}", error.what());
  }
}

void TensorBoardWriter::scalar(std::string_view tag, double value, int64_t step) {
  events::Event event = event_at(step);
  auto* entry = event.mutable_summary()->add_value();
  entry->set_tag(std::string(tag));
  entry->set_simple_value(static_cast<float>(value));
  append(event.SerializeAsString());
}

void TensorBoardWriter::image(std::string_view tag, std::span<const uint8_t> png, int height, int width, int64_t step) {
  events::Event event = event_at(step);
  auto* entry = event.mutable_summary()->add_value();
  entry->set_tag(std::string(tag));
  auto* picture = entry->mutable_image();
  picture->set_height(height);
  picture->set_width(width);
  picture->set_colorspace(kRgb);
  picture->set_encoded_image_string(png.data(), png.size());
  append(event.SerializeAsString());
}

void TensorBoardWriter::text(std::string_view tag, std::string_view markdown, int64_t step) {
  events::Event event = event_at(step);
  auto* entry = event.mutable_summary()->add_value();
  entry->set_tag(std::string(tag));
  entry->mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
  auto* tensor = entry->mutable_tensor();
  tensor->set_dtype(kStringType);
  tensor->mutable_tensor_shape()->add_dim()->set_size(1);
  tensor->add_string_val(std::string(markdown));
  append(event.SerializeAsString());
}

void TensorBoardWriter::append(const std::string& event) {
  std::string record;
  put_tfrecord(record, event);
  const std::lock_guard lock(mutex_);
  TSR_CHECK(std::fwrite(record.data(), 1, record.size(), file_.get()) == record.size(), "cannot write {}: {}", path_.string(),
            std::strerror(errno));
}

void TensorBoardWriter::flush() {
  const std::lock_guard lock(mutex_);
  TSR_CHECK(std::fflush(file_.get()) == 0, "cannot write {}: {}", path_.string(), std::strerror(errno));
}

}  // namespace tessera
