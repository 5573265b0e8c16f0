#include "train/meter.h"

#include <unistd.h>

#include <fstream>

#include "tensor/device.h"

namespace tessera {

double resident_memory_mb() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

StepMeter::StepMeter(double seconds_before, c10::Device device)
    : device_(device), seconds_before_(seconds_before), last_(Clock::now()) {
  if (device_.is_cuda()) cuda_plugin()->peak_memory(device_.index());  // what came before in this process is not the run's
}

void StepMeter::add(int64_t images, double seconds_waited) {
  const auto now = Clock::now();
  trained_ += now - last_;
  interval_ += now - last_;
  last_ = now;
  images_ += images;
  waited_ += seconds_waited;
}

double StepMeter::seconds() const {
  return seconds_before_ + std::chrono::duration<double>(trained_).count();
}

void StepMeter::skip() {
  last_ = Clock::now();
}

void StepMeter::fill(LogLine& line) {
  const double seconds = std::max(1e-9, std::chrono::duration<double>(interval_).count());
  line.images_per_s = static_cast<double>(images_) / seconds;
  line.data_wait = waited_ / seconds;
  line.memory_mb =
      device_.is_cuda() ? static_cast<double>(cuda_plugin()->peak_memory(device_.index())) / 1e6 : resident_memory_mb();
  interval_ = {};
  images_ = 0;
  waited_ = 0;
}

}  // namespace tessera
