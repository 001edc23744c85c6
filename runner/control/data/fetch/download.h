// One file from the net: into "<file>.part", gone on with where it stopped, checked, then renamed.
// Without a checksum it is gone on with only where the server says that it is the same version, and
// begun again otherwise.
// A file that was taken as it is, whatever was published, is known again by its SHA-256 in
// "<file>.taken".
// Of several processes that fetch the same file one does, and the others wait for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "control/data/fetch/download_progress.h"
#include "control/data/fetch/mirror.h"

namespace exprun {

struct Download {
  std::string address;
  std::filesystem::path file;
  int64_t bytes = 0;      // as published; 0: not known
  std::string sha256;     // as published; empty: not known
  bool tokens = false;    // a token shard
  bool as_it_is = false;  // whatever was published
};

struct DownloadOptions {
  int64_t retries = 5;      // without having come further
  double first_wait = 0.5;  // seconds before the first retry; each next one waits twice as long
  Mirror mirror = {};       // that the addresses are of
};

// Whether the file is there and whole: by its size and checksum where they are known, a shard by
// its header, and else JSON by its end; a page of HTML is none. One that is wanted as it is may be
// what was taken so.
bool is_downloaded(const Download& download);

// How much of it is in its part.
int64_t bytes_begun(const Download& download);

// Throws Error: no such file on the server, wrong bytes (the same ones twice, or after all
// retries), or no answer after all retries; what arrived stays for the next call, unless it was
// wrong. Returns at once, without the file, when a stop was requested.
void download(const Download& download, const DownloadOptions& options, DownloadProgress& progress);

}  // namespace exprun
