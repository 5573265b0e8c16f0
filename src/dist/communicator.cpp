#include "dist/communicator.h"

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <algorithm>
#include <future>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "core/error.h"
#include "core/rank_status.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

constexpr int kTag = 1;  // of messages between two ranks; their order tells them apart

// Note [Waiting for a peer]
// A rank that dies closes its connections, and whoever waits for it gets an exception at once. A rank that hangs keeps them
// open: the wait ends after dist.timeout. In both cases the rank that notices is not the one to blame, so the message says
// what it waited for and where to look; a launcher, which sees all ranks, names the one that failed (see launch/).
PeerLost peer_lost(const std::exception& error) {
  const std::string text = error.what();
  const RankStatus& status = rank_status();
  return PeerLost(fmt::format(
      "the other ranks cannot be reached any more (collective {}, step {}, {}): one of them has ended, hangs or lost its "
      "network; its own log says why. {}",
      status.collective.load(), status.step.load(), phase_name(status.phase), text.substr(0, text.find('\n'))));
}

void finish(const c10::intrusive_ptr<c10d::Work>& work) {
  begin_collective();
  try {
    work->wait();
  } catch (const std::exception& e) {
    throw peer_lost(e);
  }
  end_collective();
}

// Connections between GPUs that were aborted (Note [Meeting again]) refuse what is begun.
template <class Begin>
c10::intrusive_ptr<c10d::Work> begun(const Begin& begin) {
  try {
    return begin();
  } catch (const c10::DistBackendError& e) {
    throw peer_lost(e);
  }
}

void check_contiguous(const at::Tensor& tensor) {
  TSR_CHECK(tensor.is_contiguous(), "expected a contiguous tensor for a collective");
}

}  // namespace

Exchange::Exchange(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&&) noexcept = default;
Exchange::~Exchange() = default;

void Exchange::wait() {
  finish(work_);
}

void Exchange::on_done(std::function<void()> call) {
  work_->getFuture()->addCallback([call = std::move(call)](c10::ivalue::Future&) { call(); });
}

Communicator::Communicator() = default;
Communicator::Communicator(c10::intrusive_ptr<c10d::Backend> backend, int rank, int size)
    : backend_(std::move(backend)), rank_(rank), size_(size) {}
Communicator::~Communicator() = default;

void Communicator::reduce(at::Tensor tensor, bool max) {
  if (alone()) return;
  check_contiguous(tensor);
  std::vector<at::Tensor> tensors{std::move(tensor)};
  c10d::AllreduceOptions options;
  options.reduceOp = max ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  finish(begun([&] { return backend_->allreduce(tensors, options); }));
}

void Communicator::sum(at::Tensor tensor) {
  reduce(std::move(tensor), false);
}

void Communicator::max(at::Tensor tensor) {
  reduce(std::move(tensor), true);
}

Exchange Communicator::begin_sum(at::Tensor tensor) {
  check_contiguous(tensor);
  std::vector<at::Tensor> tensors{std::move(tensor)};
  return Exchange(begun([&] { return backend_->allreduce(tensors); }));
}

void Communicator::broadcast(at::Tensor tensor, int root) {
  if (alone() || tensor.numel() == 0) return;
  check_contiguous(tensor);
  std::vector<at::Tensor> tensors{std::move(tensor)};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  finish(begun([&] { return backend_->broadcast(tensors, options); }));
}

at::Tensor Communicator::gather(const at::Tensor& piece) {
  std::vector<int64_t> sizes = piece.sizes().vec();
  sizes.insert(sizes.begin(), size_);
  at::Tensor all = make_with_kept_memory([&] { return at::empty(sizes, piece.options()); });
  gather_into(all, make_with_kept_memory([&] { return piece.contiguous(); }));
  return all;
}

void Communicator::gather_into(at::Tensor& all, const at::Tensor& piece) {
  check_contiguous(piece);
  if (alone()) {
    all[0].copy_(piece);
    return;
  }
  if (!piece.is_cpu()) {
    at::Tensor own = piece;
    return finish(begun([&] { return backend_->_allgather_base(all, own); }));
  }
  // Gloo's own way takes memory when it has begun; this one takes none.
  all[rank_].copy_(piece);
  std::vector<c10::intrusive_ptr<c10d::Work>> under_way;
  for (int r = 0; r < size_; ++r) {
    std::vector<at::Tensor> tensors{all[r]};
    c10d::BroadcastOptions options;
    options.rootRank = r;
    under_way.push_back(begun([&] { return backend_->broadcast(tensors, options); }));
  }
  for (const auto& work : under_way) finish(work);
}

std::vector<std::string> Communicator::gather_text(const std::string& text) {
  if (alone()) return {text};
  const at::Tensor length =
      make_with_kept_memory([&] { return at::scalar_tensor(static_cast<int64_t>(text.size()), at::kLong); });
  const at::Tensor lengths = gather(length);
  const int64_t* const bytes_of = lengths.const_data_ptr<int64_t>();
  const int64_t longest = std::max<int64_t>(1, *std::max_element(bytes_of, bytes_of + size_));
  const at::Tensor padded = make_with_kept_memory([&] { return at::zeros({longest}, at::kByte); });
  text.copy(reinterpret_cast<char*>(padded.mutable_data_ptr<uint8_t>()), text.size());
  const at::Tensor all = gather(padded);
  std::vector<std::string> texts;
  for (int r = 0; r < size_; ++r) {
    texts.emplace_back(reinterpret_cast<const char*>(all[r].const_data_ptr<uint8_t>()), static_cast<size_t>(bytes_of[r]));
  }
  return texts;
}

at::Tensor Communicator::swap(const at::Tensor& tensor, int peer) {
  check_contiguous(tensor);
  at::Tensor received = make_with_kept_memory([&] { return at::empty_like(tensor); });
  std::vector<at::Tensor> out{tensor}, in{received};
  const auto send_first = [&] { return begun([&] { return backend_->send(out, peer, kTag); }); };
  const auto receive = [&] { return begun([&] { return backend_->recv(in, peer, kTag); }); };
  // Both orders at once: a backend that sends synchronously (NCCL outside a group) would wait for ever otherwise.
  if (rank_ < peer) {
    const auto sent = send_first();
    finish(receive());
    finish(sent);
  } else {
    const auto came = receive();
    finish(send_first());
    finish(came);
  }
  return received;
}

void Communicator::send(const at::Tensor& tensor, int to) {
  check_contiguous(tensor);
  std::vector<at::Tensor> out{tensor};
  finish(begun([&] { return backend_->send(out, to, kTag); }));
}

void Communicator::receive(at::Tensor tensor, int from) {
  check_contiguous(tensor);
  std::vector<at::Tensor> in{std::move(tensor)};
  finish(begun([&] { return backend_->recv(in, from, kTag); }));
}

void Communicator::close() {
  backend_.reset();
}

void Communicator::reopen(c10::intrusive_ptr<c10d::Backend> backend) {
  backend_ = std::move(backend);
}

void Communicator::barrier() {
  if (!alone()) finish(backend_->barrier());
}

void abort_together(const std::vector<Communicator*>& groups) {
  std::vector<std::future<void>> aborts;
  for (Communicator* group : groups)
    aborts.push_back(std::async(std::launch::async, [backend = group->backend_] { backend->abort(); }));
  for (std::future<void>& abort : aborts) abort.get();
}

}  // namespace tessera
