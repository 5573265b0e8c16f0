#pragma once
#include <ATen/core/Tensor.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"

namespace c10d {
class Backend;
class Work;
}  // namespace c10d

namespace tessera {

// A collective under way.
class Exchange {
 public:
  explicit Exchange(c10::intrusive_ptr<c10d::Work> work);
  Exchange(Exchange&&) noexcept;
  Exchange& operator=(Exchange&&) noexcept;
  ~Exchange();

  // Waits; on a GPU lets the current stream wait. Throws Error when a peer is gone.
  void wait();

  // Called once, on another thread, when the tensors are through.
  void on_done(std::function<void()> call);

 private:
  c10::intrusive_ptr<c10d::Work> work_;
};

// A collective that cannot be finished: another rank has ended, hangs, has lost its network, or gave the collective up.
class PeerLost : public Error {
 public:
  using Error::Error;
};

// A group of ranks that take part in the same collectives in the same order; see Note [Waiting for a peer]. Alone, every
// collective is nothing. Not thread-safe.
class Communicator {
 public:
  Communicator();  // alone
  Communicator(c10::intrusive_ptr<c10d::Backend> backend, int rank, int size);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool alone() const { return size_ == 1; }

  // In place, over all ranks. Tensors must be contiguous and of one shape and type on all ranks. What a collective needs of
  // memory it takes before it begins, from what libtorch keeps if need be: a rank without it would leave the others waiting.
  void sum(at::Tensor tensor);
  void max(at::Tensor tensor);
  void broadcast(at::Tensor tensor, int root = 0);
  Exchange begin_sum(at::Tensor tensor);  // not for a communicator that is alone

  // Every rank's `piece`, in order of ranks: (size, ...). gather_into takes the memory for it, contiguous as the piece.
  at::Tensor gather(const at::Tensor& piece);
  void gather_into(at::Tensor& all, const at::Tensor& piece);
  std::vector<std::string> gather_text(const std::string& text);

  // Sends one tensor to `peer` and takes one of the same kind from it.
  at::Tensor swap(const at::Tensor& tensor, int peer);

  // One tensor, from a rank that sends to one that receives: of the same size and type on both, contiguous.
  void send(const at::Tensor& tensor, int to);
  void receive(at::Tensor tensor, int from);

  void barrier();

  // Ends what is under way, which whoever waits for this rank in it learns as PeerLost; then goes on with new connections. What
  // a GPU is at does not end by itself: abort_together goes before.
  void close();
  void reopen(c10::intrusive_ptr<c10d::Backend> backend);

 private:
  friend void abort_together(const std::vector<Communicator*>& groups);
  void reduce(at::Tensor tensor, bool max);

  c10::intrusive_ptr<c10d::Backend> backend_;
  int rank_ = 0, size_ = 1;
};

// Ends what a GPU is at in these groups of a device, and what is begun in them from then on is PeerLost. Any thread may call
// it, twice too. All at once: an abort waits for the device, where a collective of one group may stand behind one of another.
void abort_together(const std::vector<Communicator*>& groups);

}  // namespace tessera
