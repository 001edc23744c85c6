#include "base/counted.h"

#include "base/number.h"

namespace exprun {

std::string counted(int64_t count, const char* thing) {
  return count == 1 ? std::string("one ") + thing : with_thousands(count) + ' ' + thing + 's';
}

}  // namespace exprun
