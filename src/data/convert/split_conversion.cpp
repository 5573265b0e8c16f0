#include "data/convert/split_conversion.h"

#include <deque>
#include <future>
#include <utility>

#include "core/error.h"
#include "core/parallel_map.h"
#include "data/convert/stored_sample.h"
#include "storage/content_hash.h"

namespace tessera {
namespace {

constexpr const char* kCheck = "xxh3_64";

struct Keyed {
  EncodedSample sample;
  uint64_t key = 0;
};

}  // namespace

SplitConversion::SplitConversion(const Dataset& dataset, std::string split, fs::path folder, const OutputFormat& format,
                                 uint64_t shard_bytes, int workers, Journal& journal, std::function<void(int64_t)> on_samples)
    : dataset_(dataset),
      split_(std::move(split)),
      folder_(std::move(folder)),
      format_(format),
      shard_bytes_(shard_bytes),
      workers_(workers),
      journal_(journal),
      on_samples_(std::move(on_samples)) {
  for (const WrittenShard& shard : journal_.found()) {
    if (shard.split == split_) earlier_[shard.number] = shard;  // one that was broken was written again: the last counts
  }
}

bool SplitConversion::is_whole(const WrittenShard& shard) const {
  try {
    for (const WrittenFile& file : shard.files) {
      const Blob stored = map_file(folder_ / file.name);
      if (stored.size() != file.bytes || content_hash(kCheck, stored.bytes) != file.check) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

const WrittenShard* SplitConversion::found(int64_t number, int64_t first) {
  const auto shard = earlier_.find(number);
  if (shard == earlier_.end() || shard->second.first != first) return nullptr;
  if (is_whole(shard->second)) return &shard->second;
  earlier_.erase(shard);
  return nullptr;
}

std::vector<WrittenShard> SplitConversion::write() {
  std::vector<WrittenShard> all;
  for (int64_t at = 0; at < dataset_.size();) {
    const auto number = static_cast<int64_t>(all.size());
    if (const WrittenShard* const shard = found(number, at)) {
      all.push_back(*shard);
      at += shard->count;
      ++kept_;
      on_samples_(shard->count);
    } else {
      at = write_from(at, number, all);
    }
  }
  return all;
}

// New shards from a sample on, up to one that is there already. Returns the sample after the last.
int64_t SplitConversion::write_from(int64_t first, int64_t number, std::vector<WrittenShard>& written) {
  ParallelMap<Keyed> samples(dataset_.size() - first, workers_, 4 * int64_t{workers_}, [&](int64_t i) {
    Keyed keyed{stored_sample(dataset_, first + i), 0};
    keyed.key = content_key(keyed.sample);
    return keyed;
  });
  std::deque<std::future<WrittenShard>> stored;
  const auto take_first = [&] {
    written.push_back(stored.front().get());
    stored.pop_front();
    on_samples_(written.back().count);
  };
  std::shared_ptr<ShardWriter> writer = format_.new_shard();
  WrittenShard shard{split_, number, first, 0, {}, {}, {}};
  const auto close = [&] {
    while (std::ssize(stored) >= workers_) take_first();
    const int64_t next = shard.first + shard.count;
    stored.push_back(std::async(std::launch::async, [this, writer, shard] { return store(*writer, shard); }));
    writer = format_.new_shard();
    shard = {split_, shard.number + 1, next, 0, {}, {}, {}};
  };
  while (auto next = samples.next()) {
    if (shard.count > 0 && writer->bytes_with(next->sample) > shard_bytes_) {
      close();
      if (found(shard.number, shard.first) != nullptr) break;
    }
    writer->add(next->sample);
    shard.keys.push_back(next->key);
    ++shard.count;
  }
  if (shard.count > 0) close();
  while (!stored.empty()) take_first();
  return shard.first;
}

WrittenShard SplitConversion::store(ShardWriter& writer, WrittenShard shard) const {
  for (const NamedBytes& file : format_.files(writer, shard.number, shard.about)) {
    const fs::path path = folder_ / file.name;
    make_folders(path.parent_path());
    write_file(path, std::span(file.bytes));
    shard.files.push_back({file.name, file.bytes.size(), content_hash(kCheck, file.bytes)});
  }
  journal_.add(shard);
  return shard;
}

void SplitConversion::verify(const std::vector<WrittenShard>& shards) const {
  const RecordSourcePtr source = format_.open(folder_);
  TSR_CHECK(source == nullptr || source->size() == dataset_.size(), "{} reads back as {} samples, {} were written",
            folder_.string(), source->size(), dataset_.size());
  ParallelMap<bool> checks(std::ssize(shards), workers_, 2 * int64_t{workers_}, [&](int64_t number) {
    const WrittenShard& shard = shards[static_cast<size_t>(number)];
    TSR_CHECK(is_whole(shard),
              "{} in {} is not what was written; the disk or the memory is at fault. Run this again: what is "
              "broken is written anew",
              shard.files.at(0).name, folder_.string());
    for (int64_t i = 0; source != nullptr && i < shard.count; ++i) {
      const EncodedSample sample = source->read(shard.first + i);
      TSR_CHECK(content_key(sample) == shard.keys.at(static_cast<size_t>(i)),
                "{} in {} reads back as something else than went in", sample.id, folder_.string());
    }
    return true;
  });
  while (checks.next()) continue;
}

}  // namespace tessera
