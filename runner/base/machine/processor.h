// What the processor is and can do.
#pragma once

#include <string>
#include <string_view>

namespace exprun {

// Its name; empty where the system does not say.
std::string processor_model();

// The largest of what the kernel allows and what it sees now, in hertz; 0 where it says neither.
double highest_clock();

// Its flags, as /proc/cpuinfo lists them; empty where that is not known.
std::string processor_flags();

// Whether a processor with these flags multiplies in a format ("bf16", "fp16") itself; where it
// does not, the format is emulated, slower than fp32.
bool multiplies_in(std::string_view format, std::string_view flags);

}  // namespace exprun
