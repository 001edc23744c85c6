#include "engine/attempt/restarts.h"

#include <unistd.h>

#include <string>

#include "base/log.h"

namespace exprun {
namespace {

void write_down(const RankPlace& place, const std::string& text) {
  if (!place.restarts_fd) return;
  if (::ftruncate(*place.restarts_fd, 0) != 0 ||
      ::pwrite(*place.restarts_fd, text.data(), text.size(), 0) < 0)
    log_warning("cannot report restarts to the launcher of this rank");
}

}  // namespace

void report_restarts(const RankPlace& place, int so_far, int most) {
  write_down(place, std::to_string(so_far) + ' ' + std::to_string(most));
}

void forbid_restarts(const RankPlace& place) {
  write_down(place, "");
}

}  // namespace exprun
