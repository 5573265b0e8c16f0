#include "apps/command.h"
#include "core/error.h"
#include "core/files.h"
#include "train/run.h"

namespace tessera {

void add_report(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto folder = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("report", "make report.html of a run anew, also of one that is still running or was killed");
  command->add_option("run", *folder, "run folder")->required();
  command->callback([folder] {
    TSR_CHECK(fs::exists(fs::path(*folder) / "log.jsonl"), "{} is not a run folder: it has no log.jsonl", *folder);
    write_report(*folder);
    fmt::print("{}\n", (fs::path(*folder) / "report.html").string());
  });
}

}  // namespace tessera
