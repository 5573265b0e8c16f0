#include "data/convert/convert.h"

#include "core/error.h"
#include "core/file_lock.h"
#include "core/new_file.h"
#include "data/convert/source_identity.h"
#include "data/convert/split_conversion.h"
#include "data/convert/stored_sample.h"
#include "data/records/dataset_card.h"

namespace tessera {
namespace {

// What will be written, as the sizes of some samples say.
uint64_t expected_bytes(const std::vector<OpenSplit>& splits) {
  double all = 0;
  for (const auto& [split, data] : splits) {
    const std::vector<int64_t> some = spread_samples(*data);
    uint64_t bytes = 0;
    for (const int64_t index : some) bytes += stored_bytes(*data, index);
    if (!some.empty()) all += static_cast<double>(bytes) / static_cast<double>(some.size()) * static_cast<double>(data->size());
  }
  return static_cast<uint64_t>(all);
}

uint64_t bytes_of(const std::vector<WrittenShard>& shards) {
  uint64_t bytes = 0;
  for (const WrittenShard& shard : shards) {
    for (const WrittenFile& file : shard.files) bytes += file.bytes;
  }
  return bytes;
}

// Images are compressed already, so no compression makes them much smaller.
void check_space(const std::vector<OpenSplit>& splits, const fs::path& to, uint64_t there, const OutputOptions& options) {
  constexpr uint64_t kReserve = uint64_t{16} << 20, kSmallest = 2;
  const uint64_t all = expected_bytes(splits), left = all > there ? all - there : 0;
  const uint64_t needed = (options.compression.empty() ? left : left / kSmallest) + kReserve;
  std::error_code error;
  const fs::space_info space = fs::space(to, error);
  TSR_CHECK(error || space.available >= needed,
            "{} would take some {} MB more, and {} MB are free; make room or name another folder", to.string(), needed >> 20,
            space.available >> 20);
}

// One process at a time writes to a folder.
class Turn {
 public:
  explicit Turn(const fs::path& folder) : lock_(folder / ".tessera-convert.lock", "name another folder") {
    TSR_CHECK(lock_.try_lock(), "{} is being written by {}", folder.string(), lock_.holder());
  }
  ~Turn() { lock_.remove(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  FileLock lock_;
};

// What a killed conversion was about to rename.
void remove_leftovers_below(const fs::path& folder) {
  remove_leftovers(folder);
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) remove_leftovers(entry->path());
  }
}

// Masks that mean what the config says are given back with its rules.
DatasetCard card_of(const DataConfig& config, const Dataset& dataset, SourceType type) {
  DatasetCard card{.type = type,
                   .classes = dataset.classes().names,
                   .palette = {},
                   .labels = stored_label_rules(dataset),
                   .exif_orientation = stored_orientation(dataset, config)};
  for (const Color& color : dataset.classes().palette) card.palette.push_back({color[0], color[1], color[2]});
  return card;
}

void write_card(const DataConfig& config, const std::vector<OpenSplit>& splits, const fs::path& to, const std::string& format) {
  for (const SourceType type : {SourceType::kMds, SourceType::kTfrecord, SourceType::kTar}) {
    if (name_of(type) == format) write_file(to / kCardName, card_text(card_of(config, *splits.at(0).data, type)));
  }
}

}  // namespace

std::vector<ConvertedSplit> convert(const DataConfig& config, const std::vector<OpenSplit>& splits, const fs::path& to,
                                    const ConvertOptions& options, const std::function<void(int64_t)>& on_sample) {
  check_output(options.output);
  TSR_CHECK_USAGE(!splits.empty(), "there are no samples to convert");
  for (const auto& [split, data] : splits)
    TSR_CHECK_USAGE(!data->classes().multi_label,
                    "classes that overlap (data.labels.multi) have a mask file each; a sample in {} has one",
                    options.output.format);
  std::vector<std::unique_ptr<OutputFormat>> formats;
  for (const auto& [split, data] : splits) formats.push_back(make_output_format(options.output, *data, split));

  make_folders(to);
  refuse_foreign_files(to);
  const Turn turn(to);
  const std::string identity = source_identity(config, splits, options.output, *formats.at(0));
  if (is_converted(to, identity)) return {};
  Journal journal(to, identity);
  remove_leftovers_below(to);
  check_space(splits, to, bytes_of(journal.found()), options.output);

  int64_t done = 0;
  std::vector<ConvertedSplit> converted;
  for (size_t i = 0; i < splits.size(); ++i) {
    const Dataset& data = *splits[i].data;
    const std::string name(name_of(splits[i].split));
    const fs::path folder = to / name;
    make_folders(folder);
    SplitConversion conversion(data, name, folder, *formats[i], options.output.shard_bytes, options.workers, journal,
                               [&](int64_t samples) { on_sample(done += samples); });
    const std::vector<WrittenShard> shards = conversion.write();
    for (const NamedBytes& file : formats[i]->closing(shards)) write_file(folder / file.name, std::span(file.bytes));
    conversion.verify(shards);
    converted.push_back({splits[i].split, data.size(), std::ssize(shards), conversion.kept(), bytes_of(shards)});
  }
  write_card(config, splits, to, options.output.format);
  sync_path(to);
  journal.finish();
  return converted;
}

}  // namespace tessera
