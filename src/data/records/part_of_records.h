#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "data/records/record_source.h"

namespace tessera {

// Some samples of a source, in rising order: what is left of train where val is held out of it, or its first n.
class PartOfRecords : public RecordSource {
 public:
  PartOfRecords(RecordSourcePtr all, std::vector<int64_t> indices) : all_(std::move(all)), indices_(std::move(indices)) {}

  int64_t size() const override { return std::ssize(indices_); }
  bool labelled() const override { return all_->labelled(); }
  std::string parts() const override { return all_->parts(); }
  std::string id(int64_t index) const override { return all_->id(indices_.at(static_cast<size_t>(index))); }
  EncodedSample read(int64_t index) const override { return all_->read(indices_.at(static_cast<size_t>(index))); }

  // Shards of which nothing is left have no start.
  std::vector<int64_t> shard_starts() const override {
    std::vector<int64_t> starts;
    for (const int64_t start : all_->shard_starts()) {
      const int64_t first = std::lower_bound(indices_.begin(), indices_.end(), start) - indices_.begin();
      if (!starts.empty() && starts.back() == first) continue;
      if (first < size()) starts.push_back(first);
    }
    return starts;
  }

  void will_need(const std::vector<int64_t>& indices) const override {
    std::vector<int64_t> of_all;
    for (const int64_t index : indices) of_all.push_back(indices_.at(static_cast<size_t>(index)));
    all_->will_need(of_all);
  }

 private:
  RecordSourcePtr all_;
  std::vector<int64_t> indices_;
};

}  // namespace tessera
