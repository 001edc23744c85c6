#include "control/launch/uid.h"

#include <sys/random.h>

#include <array>

#include "base/diagnostic.h"
#include "base/utf8.h"

namespace exprun {

std::string make_uid() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw Error("launch: the kernel gives no random numbers for the run's id");
  std::string uid;
  for (const unsigned char byte : bytes) {
    uid += "0123456789abcdef"[byte >> 4];
    uid += "0123456789abcdef"[byte & 15];
  }
  return uid;
}

std::string run_folder_name(const std::string& name, const std::string& uid) {
  constexpr size_t kLongest = 128;  // bytes: names of files have 255
  return std::string(first_bytes(name, kLongest)) + '-' + uid.substr(0, 8);
}

}  // namespace exprun
