#pragma once
#include <curl/curl.h>

namespace tessera {

// Starts libcurl, once in a process.
void start_curl();

// What every request of ours has: no signals, our name, certificates to trust (the user's own choice in SSL_CERT_FILE, else the
// first place that this system has), and of protocols only http and https; from https no redirect leads to http.
void prepare_curl(CURL* handle, bool secure);

}  // namespace tessera
