// A process group over a backend of c10d.
#pragma once

#include <memory>
#include <string>

#include "dist/process_group.h"

namespace c10d {
class Backend;
}

namespace exprun {

std::unique_ptr<ProcessGroup> group_over(c10::intrusive_ptr<c10d::Backend> backend);

}  // namespace exprun
