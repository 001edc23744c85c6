// Whether a process listens at an address, though it may not answer yet.
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"

namespace exprun {

class Presence {
 public:
  Presence(std::string host, uint16_t port) : host_(std::move(host)), port_(port) {}

  // Holds a connection, which ends with the process that listens, and a minute behind its machine.
  // Takes a second at most for each address that the host has, and what resolving its name takes.
  bool is_there();

 private:
  bool holds() const;
  void connect();

  std::string host_;
  uint16_t port_;
  UniqueFd connection_;
};

}  // namespace exprun
