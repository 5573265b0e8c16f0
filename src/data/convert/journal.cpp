#include "data/convert/journal.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/printable.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr mode_t kMode = 0666;

Json to_json(const WrittenShard& shard) {
  Json files = Json::array();
  for (const WrittenFile& file : shard.files) files.push_back({file.name, file.bytes, file.check});
  return {{"split", shard.split}, {"number", shard.number}, {"first", shard.first}, {"count", shard.count},
          {"keys", shard.keys},   {"files", files},         {"about", shard.about}};
}

WrittenShard from_json(const Json& json) {
  WrittenShard shard;
  shard.split = json.at("split").get<std::string>();
  shard.number = json.at("number").get<int64_t>();
  shard.first = json.at("first").get<int64_t>();
  shard.count = json.at("count").get<int64_t>();
  shard.keys = json.at("keys").get<std::vector<uint64_t>>();
  for (const Json& file : json.at("files"))
    shard.files.push_back({file.at(0).get<std::string>(), file.at(1).get<uint64_t>(), file.at(2).get<std::string>()});
  shard.about = json.at("about");
  return shard;
}

bool holds_nothing(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().native().starts_with(".tessera-")) return false;
  }
  return !error;
}

}  // namespace

bool is_converted(const fs::path& folder, const std::string& key) {
  std::error_code error;
  if (!fs::is_regular_file(folder / kConvertedName, error) || read_text(folder / kConvertedName) != key + "\n") return false;
  fs::remove(folder / kJournalName, error);  // of a process that was killed right after it had made the mark
  return true;
}

void refuse_foreign_files(const fs::path& folder) {
  std::error_code error;
  const bool ours = fs::exists(folder / kJournalName, error) || fs::exists(folder / kConvertedName, error);
  TSR_CHECK(ours || holds_nothing(folder), "{} is not empty; name a new folder, nothing in it is overwritten",
            printable(folder.string()));
}

Journal::Journal(const fs::path& folder, const std::string& key) : path_(folder / kJournalName), key_(key) {
  std::error_code error;
  const bool is_there = fs::exists(path_, error);
  TSR_CHECK(is_there || holds_nothing(folder),
            "{} is not empty: it holds a conversion of other data or with other options; name "
            "a new folder",
            printable(folder.string()));
  const bool goes_on = is_there && read();
  file_ = Descriptor(path_, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, kMode);
  TSR_CHECK(file_.ok(), "cannot write {}: {}", printable(path_.string()), std::strerror(errno));
  // A line of its own after one that was cut.
  const std::string head = "\n" + json_text(Json{{"tessera_convert", kVersion}, {"key", key}}) + "\n";
  const std::string begin = goes_on ? "\n" : head;
  TSR_CHECK(put_all(file_, {reinterpret_cast<const uint8_t*>(begin.data()), begin.size()}) && ::fdatasync(file_.get()) == 0,
            "cannot write {}: {}", printable(path_.string()), std::strerror(errno));
  sync_path(folder);
}

// False: it was cut before it said of what it is.
bool Journal::read() {
  bool ours = false;
  for (const std::string& line : read_lines(path_)) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) continue;  // cut
    try {
      if (json.contains("tessera_convert")) {
        TSR_CHECK(json["tessera_convert"] == kVersion && json.at("key") == key_,
                  "{} holds an unfinished conversion of other data or with other options; go on with those, or remove the "
                  "folder, or name another",
                  printable(path_.parent_path().string()));
        ours = true;
      } else if (ours) {
        found_.push_back(from_json(json));
      }
    } catch (const Json::exception&) {
      continue;  // not a line of ours: what it spoke of is written anew
    }
  }
  return ours;
}

void Journal::add(const WrittenShard& shard) {
  const std::string line = json_text(to_json(shard)) + "\n";
  const std::lock_guard lock(mutex_);
  TSR_CHECK(put_all(file_, {reinterpret_cast<const uint8_t*>(line.data()), line.size()}) && ::fdatasync(file_.get()) == 0,
            "cannot write {}: {}", printable(path_.string()), std::strerror(errno));
}

void Journal::finish() {
  write_file(path_.parent_path() / kConvertedName, key_ + "\n");
  std::error_code error;
  fs::remove(path_, error);
  TSR_CHECK(!error, "cannot remove {}: {}", printable(path_.string()), error.message());
}

}  // namespace tessera
