// The file in which torchrun looks for why one of its workers failed.
#pragma once

#include <string>

namespace exprun {

// Writes the message to the file that TORCHELASTIC_ERROR_FILE names, in torchrun's format, unless
// there is no such name or something has been written before: the first error is the cause. Never
// throws.
void write_error_file(const std::string& message);

}  // namespace exprun
