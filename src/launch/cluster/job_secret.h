#pragma once
#include <memory>
#include <optional>
#include <string>

#include "launch/cluster/rank_environment.h"
#include "launch/cluster/shared_secret.h"
#include "launch/options.h"

namespace tessera {

// Note [Job secret]
// What the launchers and ranks of one job know and nobody else does. Launchers sign what they tell one another with it
// (control/sealed_socket.h), ranks prove that they have it before they train (dist/rank_proof.h). Where it comes from:
//   one host           the launcher makes it; its ranks open it through TESSERA_JOB_SECRET_FILE, which names memory of its own
//   over ssh           the launcher that starts the others makes it and writes it to their standard input
//   srun, mpirun       Note [Secret of a scheduler's job]
//   started by hand    the user gives TESSERA_JOB_SECRET_FILE or TESSERA_JOB_SECRET
// It is on no command line, and in no environment but where the user put it.
class JobSecret {
 public:
  explicit JobSecret(std::string known);  // "": the job has none
  JobSecret(std::unique_ptr<SharedSecret> file, bool first);

  // The secret; nothing while the first process of the job has not left it yet.
  std::optional<std::string> look();
  std::string wait(double seconds);  // throws Error when it does not come
  void all_have_it();                // the file goes
  std::string places() const { return file_ ? file_->places() : ""; }

 private:
  std::optional<std::string> value_;
  std::unique_ptr<SharedSecret> file_;
};

std::string make_secret();  // 32 random bytes, in hexadecimal

// What the user gives by TESSERA_JOB_SECRET_FILE or TESSERA_JOB_SECRET. Throws UsageError for a file that others may read, and
// for a text too short to be a secret.
std::optional<std::string> given_secret(const RankVariables& variables);

// The first line that the launcher which started this one writes to our standard input: "secret HEX". Throws Error when none
// comes in time.
std::string secret_from_stdin(double seconds);

// Of a launcher. Throws UsageError where nodes are started by hand without a secret and without --insecure, unless they meet on
// loopback.
JobSecret launcher_secret(const LaunchOptions& options, const LaunchLayout& layout, const RankVariables& variables);

// Of a rank, whoever started it; "" where nobody gave it one, which rank 0 says where ranks of several hosts go without.
JobSecret rank_secret(const RankSpec& spec, const RankVariables& variables);

std::string ways_to_give_a_secret();  // for messages

}  // namespace tessera
