#pragma once
#include <memory>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/cache/sample_store.h"
#include "data/dataset.h"

namespace tessera {

// Another data set whose samples are kept once they were read, as files (kEncoded) or as pixels and labels (kDecoded): the same
// bits either way. Samples that do not say which bytes they are (Dataset::stored_version) are passed through. A bad sample is
// not kept, it is bad again the next time.
class CachedDataset : public Dataset {
 public:
  // decoding: what decides which pixels and labels are made of a sample's bytes; another text for other ones.
  CachedDataset(DatasetPtr inner, SampleCacheKind kind, std::shared_ptr<SampleStore> store, std::string decoding);
  ~CachedDataset() override;
  CachedDataset(const CachedDataset&) = delete;
  CachedDataset& operator=(const CachedDataset&) = delete;

  int64_t size() const override { return inner_->size(); }
  Sample get(int64_t index) const override;
  std::optional<EncodedSample> encoded(int64_t index) const override;
  Sample decode(const EncodedSample& stored) const override { return inner_->decode(stored); }
  std::optional<SampleCoding> coding() const override;
  std::string stored_version(int64_t index) const override { return inner_->stored_version(index); }
  std::string id(int64_t index) const override { return inner_->id(index); }
  const ClassTable& classes() const override { return inner_->classes(); }
  std::filesystem::path image_file(int64_t index) const override { return inner_->image_file(index); }
  std::filesystem::path mask_file(int64_t index) const override { return inner_->mask_file(index); }
  const DataOrigin& origin() const override { return inner_->origin(); }
  ShardReading shards() const override { return inner_->shards(); }
  void will_need(const std::vector<int64_t>& indices) const override { inner_->will_need(indices); }
  void check_labels() const override { inner_->check_labels(); }

 private:
  std::optional<SampleKey> key_of(int64_t index) const;

  DatasetPtr inner_;
  SampleCacheKind kind_;
  std::shared_ptr<SampleStore> store_;
  std::string decoding_;
};

// All settings that decide how a sample is decoded, and the program, as one text: another build may decode in another way.
std::string decoding_of(const DataConfig& config);

// `dataset` as data.cache says; `dataset` itself where that is none. Throws UsageError for a limit that is none, Error where
// the folder of the cache cannot be made.
DatasetPtr with_cache(DatasetPtr dataset, const DataConfig& config);

}  // namespace tessera
