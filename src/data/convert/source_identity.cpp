#include "data/convert/source_identity.h"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <unordered_set>

#include "config/writer.h"
#include "core/error.h"
#include "core/printable.h"
#include "storage/content_hash.h"

namespace tessera {
namespace {

// Size and time of change; a file that is not there shows up when it is read.
std::string file_text(const fs::path& file) {
  struct stat status {};
  if (file.empty() || ::stat(file.c_str(), &status) != 0) return "-";
  return fmt::format("{},{}.{}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

// What is done to samples later has no part in what is stored of them.
bool decides_samples(const SchemaLine& line) {
  for (const char* key :
       {"normalize", "threads", "prefetch", "max_bad_share", "remote", "records.shuffle_block", "records.predownload"}) {
    if (line.key.starts_with(key)) return false;
  }
  return !line.key.ends_with(".transforms");
}

}  // namespace

std::string source_identity(const DataConfig& config, const std::vector<OpenSplit>& splits, const OutputOptions& options,
                            const OutputFormat& format) {
  std::string text =
      fmt::format("{}\n{}\n{}\n{}\n", options.format, options.compression, fmt::join(options.hashes, ","), options.shard_bytes);
  DataConfig copy = config;
  for (const SchemaLine& line : ConfigWriter::lines(copy)) {
    if (decides_samples(line)) text += line.key + "=" + line.value + "\n";
  }
  for (const auto& [split, data] : splits) {
    text += fmt::format("{} {}\n", name_of(split), data->size());
    std::unordered_set<std::string> names;
    for (int64_t i = 0; i < data->size(); ++i) {
      const std::string id = data->id(i);
      const std::string why = format.why_not_named(id);
      TSR_CHECK(why.empty(), "a sample of {} is called '{}', {}; convert to mds, tfrecord or tar", name_of(split),
                printable(id), why);
      TSR_CHECK(
          !format.needs_unique_names() || names.insert(id).second,
          "two samples of {} are called {}, and --format {} tells samples apart by their names; convert to mds or tfrecord",
          name_of(split), printable(id), options.format);
      text += id + '\0' + file_text(data->image_file(i)) + " " + file_text(data->mask_file(i)) + "\n";
    }
  }
  return content_hash("xxh3_128", {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace tessera
