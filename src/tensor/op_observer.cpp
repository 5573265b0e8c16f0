#include "tensor/op_observer.h"

#include <ATen/record_function.h>

#include <mutex>
#include <utility>

namespace tessera {
namespace {

struct Running : at::ObserverContext {
  OpObserver::Finish finish;
};

// libtorch takes plain functions, so what they are to call is kept here.
using SharedStart = std::shared_ptr<const OpObserver::Start>;
thread_local SharedStart start_of_thread;
std::mutex all_mutex;
SharedStart start_of_all;

std::unique_ptr<at::ObserverContext> begin(const SharedStart& start, const at::RecordFunction& function) {
  if (start == nullptr) return nullptr;
  auto running = std::make_unique<Running>();
  running->finish = (*start)(function.name(), function.inputs());
  if (!running->finish) return nullptr;
  return running;
}

std::unique_ptr<at::ObserverContext> begin_in_thread(const at::RecordFunction& function) {
  return begin(start_of_thread, function);
}

// The lock is not held while the observer runs: operations of several threads begin at a time.
std::unique_ptr<at::ObserverContext> begin_anywhere(const at::RecordFunction& function) {
  SharedStart start;
  {
    const std::lock_guard lock(all_mutex);
    start = start_of_all;
  }
  return begin(start, function);
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) return;
  const std::vector<c10::IValue>& outputs = function.outputs();
  static_cast<Running&>(*context).finish(OpValues(outputs.data(), outputs.size()));
}

at::RecordFunctionCallback callback(at::RecordFunctionCallback::StartCallback start) {
  return at::RecordFunctionCallback(start, &end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION});
}

void set_start(OpObserver::Threads threads, SharedStart start) {
  if (threads == OpObserver::Threads::kThis) {
    start_of_thread = std::move(start);
  } else {
    const std::lock_guard lock(all_mutex);
    start_of_all = std::move(start);
  }
}

}  // namespace

OpObserver::OpObserver(Threads threads, Start start) : threads_(threads) {
  set_start(threads, std::make_shared<const Start>(std::move(start)));
  handle_ = threads == Threads::kThis ? at::addThreadLocalCallback(callback(&begin_in_thread))
                                      : at::addGlobalCallback(callback(&begin_anywhere));
}

OpObserver::~OpObserver() {
  at::removeCallback(handle_);
  set_start(threads_, nullptr);
}

// A transposed convolution spreads every input value over its kernel, any other one gathers every output value.
ProductMacs convolution_macs(const at::Tensor& input, const at::Tensor& weight, bool transposed) {
  const int64_t kernel = weight.numel() / weight.size(0);
  if (transposed) return {.from_inputs = input.numel() * kernel};
  return {.per_output = kernel};
}

ProductMacs matmul_macs(const at::Tensor& left) {
  return {.per_output = left.size(-1)};
}

}  // namespace tessera
