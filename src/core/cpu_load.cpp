#include "core/cpu_load.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/clock.h"

namespace tessera {
namespace {

std::vector<int> own_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<unsigned>(cpu), &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

double cpus_of_others(const CpuUse& before, const CpuUse& after) {
  const double passed = after.seconds - before.seconds;
  if (passed <= 0) return 0;
  return std::max(0.0, ((after.all - before.all) - (after.own - before.own)) / passed);
}

int64_t busy_ticks(const std::string& stat, const std::vector<int>& cpus) {
  std::istringstream lines(stat);
  int64_t busy = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (!name.starts_with("cpu") || name.size() == 3) continue;  // "cpu" alone is the sum of all
    const int number = std::stoi(name.substr(3));
    if (std::find(cpus.begin(), cpus.end(), number) == cpus.end()) continue;
    int64_t user = 0, nice = 0, system = 0, idle = 0, io_wait = 0, irq = 0, soft_irq = 0;
    words >> user >> nice >> system >> idle >> io_wait >> irq >> soft_irq;
    busy += user + nice + system + irq + soft_irq;
  }
  return busy;
}

CpuUse look_at_cpus() {
  std::ifstream file("/proc/stat");
  std::ostringstream stat;
  stat << file.rdbuf();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {.seconds = monotonic_s(),
          .all = static_cast<double>(busy_ticks(stat.str(), own_cpus())) / static_cast<double>(::sysconf(_SC_CLK_TCK)),
          .own = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime)};
}

bool cpus_are_short(double others, int threads, int cpus, bool now) {
  // Less than a third of a CPU is the housekeeping of a system; ours takes that much time from nobody.
  constexpr double kBegin = 0.3, kEnd = 0.15;
  return others > std::max(0, cpus - threads) + (now ? kEnd : kBegin);
}

}  // namespace tessera
