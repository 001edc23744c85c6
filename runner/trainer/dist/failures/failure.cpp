#include "dist/failures/failure.h"

#include <c10/util/Exception.h>

namespace exprun {
namespace {

// What NCCL says after LibTorch's sentence: "...\nLast error:\nno space left on /dev/shm\n..."
std::string last_error(const std::string& text) {
  const std::string head = "\nLast error:\n";
  const size_t found = text.find(head);
  if (found == std::string::npos) return "";
  const size_t begin = found + head.size();
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  return line.empty() ? "" : ": " + line;
}

}  // namespace

// "[/some/build/gloo/transport/tcp/pair.cc:544] Connection closed by peer [127.0.0.1]:3212" and a
// stack trace: the sentence alone.
std::string first_sentence(std::string text) {
  const std::string behind = last_error(text);
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.front() == '[') {
    const size_t end = text.find("] ");
    if (end != std::string::npos) text = text.substr(end + 2);
  }
  return text + behind;
}

void throw_dist_error(const std::string& what, const std::exception& cause) {
  if (dynamic_cast<const c10::AcceleratorError*>(&cause)) throw;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&cause)) throw;
  throw Error("dist: " + what + ": " + first_sentence(cause.what()), ExitCode::lost_ranks);
}

}  // namespace exprun
