#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "kernels/norm/norm_tile.h"

namespace tessera {

// The values of x (N, C, H, W) cut into slabs of all channels, each of one group, and these into tiles: a slab that lies
// channels_last is one tile, of a contiguous tensor one for each channel. The cut follows from the shape alone, so sums over
// slabs in their order are the same on any number of threads.
template <class T>
class NormSlabs {
 public:
  // ends: where the groups of samples end.
  NormSlabs(const at::Tensor& x, at::IntArrayRef ends);

  struct Slab {
    int64_t group, at, rows;  // at: of its first value, in elements
  };
  const std::vector<Slab>& slabs() const { return slabs_; }
  int64_t channels() const { return channels_; }
  int64_t groups() const { return static_cast<int64_t>(counts_.size()); }
  double count(int64_t group) const { return counts_[static_cast<size_t>(group)]; }  // values of a channel

  // `other` in x's type and layout.
  at::Tensor alike(const at::Tensor& other) const;

  // Numbers per group and channel are handed to tiles as tables of this length for each group.
  int64_t table_width() const { return planes_ || channels_ == 1 ? channels_ : width_; }

  // A tile with its shape and type set, and where its parts of things are.
  struct Place {
    NormTile<T> tile;
    int64_t offset;        // of its first value, in elements
    int64_t slot;          // of its first channel in (slabs, C) numbers
    int64_t table_offset;  // in tables of all groups

    const void* at(const at::Tensor& tensor) const {
      return static_cast<const char*>(tensor.const_data_ptr()) + offset * tensor.element_size();
    }
    void* at_mutable(const at::Tensor& tensor) const {
      return static_cast<char*>(tensor.mutable_data_ptr()) + offset * tensor.element_size();
    }
  };
  // Calls work(place) for all tiles, on all threads.
  void for_each(const std::function<void(Place&)>& work) const;

 private:
  at::Tensor x_;
  int64_t channels_, pixels_, width_;
  bool planes_;
  std::vector<Slab> slabs_;
  std::vector<double> counts_;
};

}  // namespace tessera
