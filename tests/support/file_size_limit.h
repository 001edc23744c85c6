// A full disk that needs no disk.
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <stdexcept>

namespace exprun {

// No file may grow beyond `bytes` while this lives: writes fail as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("no limit");
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_ = {};
  sighandler_t old_handler_;
};

}  // namespace exprun
