#pragma once
#include <string>
#include <vector>

#include "config/node.h"

namespace tessera {

// Note [Secrets]
// A run must be whole without its environment: eval, predict and resume read its config.yaml years later and elsewhere. So
// ${VAR} is saved expanded, and a run that is resumed while VAR has changed is found out like any other change. But a config
// goes into config.yaml, checkpoints, the report and TensorBoard, and is passed on. So a text is saved as it was written, with
// the variable's name, where
//   - the name says that it is a secret: TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE or CREDENTIAL in it, or a word ending in
//   KEY;
//   - it is written ${secret:VAR};
//   - it is, or holds, a URL with credentials, in which the variable's value would be masked.
// What reads such a config looks the variable up again. Credentials that are written out in a URL are saved as ***. In logs the
// values of such variables are shown as ${VAR} (core/secrets.h). Numbers are saved as numbers.

// A text of a config that is saved as it was written.
struct SecretText {
  std::string key;      // "model.pretrained"
  std::string written;  // "https://host/m.pth?token=${TOKEN}"
  std::string value;    // what it stands for in this process
  std::string missing;  // a variable that it needs and that is not set; "" where there is none
};

// What becomes of a variable that is not set: an error, or ${VAR} stays in the value. The latter is for the config of a run, in
// whose file only secrets are still names; what the command line sets over it must have a secret's name to be kept.
enum class MissingSecrets { kRefuse, kKeep };

// Replaces ${VAR} and ${VAR:-default} by the environment, $$ by a dollar sign. Done when everything is laid together: a value
// that the command line replaces needs no variable. Returns the texts that hold secrets, which are also noted for the logs.
// Throws UsageError for a variable that is not set.
std::vector<SecretText> resolve_environment(Node& node, MissingSecrets missing = MissingSecrets::kRefuse);

// The same for one text.
std::string interpolate(const std::string& text, const Origin& origin);

}  // namespace tessera
