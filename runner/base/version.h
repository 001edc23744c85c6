// The version of exprun: both programs of one build have the same.
#pragma once

namespace exprun {

const char* version();  // "0.1.0"

}  // namespace exprun
