#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <map>

namespace tessera {

// Work beside a GPU's current stream. It begins after what the current stream was given before this was made; what the current
// stream is given after this is gone begins after it. So tensors that live longer than this need no further care.
class SideStream {
 public:
  explicit SideStream(at::Device device)
      : main_(c10::impl::VirtualGuardImpl(device.type()).getStream(device)), side_(own(device)), done_(device.type()) {
    c10::Event ready(device.type());
    ready.record(main_);
    ready.block(side_);
  }
  ~SideStream() {
    done_.record(side_);
    done_.block(main_);
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  template <class Work>
  auto run(const Work& work) {
    const c10::StreamGuard guard(side_);
    return work();
  }

 private:
  // Always the same one: libtorch keeps memory apart for each stream.
  static c10::Stream own(at::Device device) {
    static thread_local std::map<c10::DeviceIndex, c10::Stream> streams;
    const auto found = streams.find(device.index());
    if (found != streams.end()) return found->second;
    return streams.emplace(device.index(), c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device))
        .first->second;
  }

  c10::Stream main_, side_;
  c10::Event done_;
};

}  // namespace tessera
