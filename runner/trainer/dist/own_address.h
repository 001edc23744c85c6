// Which of this machine's addresses others reach it at.
#pragma once

#include <string>

namespace exprun {

// The numeric address that traffic to the host leaves from, by the routes of the kernel; nothing is
// sent. Throws Error when the host has no address or no route leads there.
std::string own_address_towards(const std::string& host);

}  // namespace exprun
