#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/command.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "infer/environment.h"
#include "storage/aws_settings.h"
#include "tensor/device.h"
#include "tensor/prepare_cpu.h"

namespace tessera {
namespace {

// Whether this machine lets us listen on a local port, as distributed training will need.
std::string port_check() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool ok = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(fd, 1) == 0 &&
                  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (fd >= 0) ::close(fd);
  return ok ? fmt::format("free local ports can be opened (tried {})", ntohs(address.sin_port)) : "no local port can be opened";
}

std::string describe_budget(const CpuBudget& budget) {
  std::string text = fmt::format("{} CPUs", budget.online);
  if (budget.allowed < budget.online) text += fmt::format(", {} of them for this process", budget.allowed);
  if (budget.quota) text += fmt::format(", a quota of {:.3g}", *budget.quota);
  return text;
}

// Who asks for files in buckets, and where; not with what.
std::string describe_buckets(BucketSettings (*settings_for)(const UserSettings&)) {
  try {
    const BucketSettings settings = settings_for(settings_of_user());
    const std::string who =
        settings.is_signed() ? "signed with the credentials of " + settings.source : "not signed, as no credentials are set";
    return fmt::format("{}; region {}{}", who, settings.region,
                       settings.endpoint.empty() ? "" : ", endpoint " + settings.endpoint);
  } catch (const Error& e) {
    return e.what();
  }
}

void examine() {
  const nlohmann::json e = describe_environment();
  const auto line = [](const char* name, const std::string& value) { fmt::print("{:<13} {}\n", name, value); };
  line("tessera", fmt::format("{} ({})", e["tessera"].get<std::string>(), e["commit"].get<std::string>()));
  line("torch", e["torch"]);
  line("system", e["system"]);
  line("cpu", fmt::format("{}, {}, {} compute threads", e["cpu"].get<std::string>(), describe_budget(cpu_budget()),
                          e["compute_threads"].get<int>()));
  line("instructions", e["instructions"]);
  line("memory", fmt::format("{} GB", e["memory_gb"].get<int>()));
  line("cuda", e["cuda"]);
  if (e["driver"] != "none") line("driver", e["driver"]);
  if (cuda_plugin() != nullptr) {
    int index = 0;
    for (const GpuInfo& gpu : cuda_plugin()->gpus()) {
      line(fmt::format("gpu {}", index++).c_str(),
           fmt::format("{}, {:.1f} GiB, compute capability {}.{}", gpu.name, static_cast<double>(gpu.memory_bytes) / (1 << 30),
                       gpu.major, gpu.minor));
    }
  }
  std::error_code error;
  const auto space = fs::space(".", error);
  const std::string why = why_not_writable(".");
  line("disk", fmt::format("{:.1f} GB free here, {}", static_cast<double>(space.available) / 1e9,
                           why.empty() ? "writable" : "not writable: " + why));
  line("ports", port_check());
  line("s3://", describe_buckets(s3_settings));
  line("gs://", describe_buckets(google_settings));
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto variables = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("doctor", "say what was found on this machine: torch, CUDA, GPUs, cores, memory, disk, ports");
  command->add_flag("--variables", *variables,
                    "print instead the variables that other programs with torch need to run here, as NAME=VALUE");
  command->callback([variables] {
    if (!*variables) return examine();
    if (const OneDnnBound bound = onednn_bound(); bound.by_us) fmt::print("ONEDNN_MAX_CPU_ISA={}\n", bound.isa);
  });
}

}  // namespace tessera
