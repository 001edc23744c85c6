#include "base/version.h"

namespace exprun {

const char* version() {
  return EXPRUN_VERSION;  // from CMakeLists.txt
}

}  // namespace exprun
