#include "engine/device/library_log.h"

#include <c10/util/Logging.h>

#include <iostream>

namespace exprun {

// No environment variable is read unless a program asks for that; some functions throw what they
// have logged as an error.
void set_library_log(LogLevel level) {
  if (level != LogLevel::debug) std::cerr.rdbuf(nullptr);  // Gloo's; our own log does not use it
  FLAGS_caffe2_log_level = level == LogLevel::debug ? c10::GLOG_WARNING : c10::GLOG_FATAL;
}

}  // namespace exprun
