// Quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace exprun {

std::string four_digits(double value);  // 1.9149 -> "1.915", 3e-5 -> "3.000e-05", 2e6 -> "2.00e6"
// 1.91494 to 4 digits: "1.9149"; nan -> "nan", 2.5612e33 -> "2.56e33"
std::string fixed(double value, int digits);
std::string duration(double seconds);              // "0.42s", "12s", "1m 12s", "2h 05m", "3d 04h"
std::string binary_bytes(double bytes);            // "512 B", "12.3 MiB"
std::string in_thousands(double count);            // 813000 -> "813 k", 2.5e9 -> "2.50 G"
std::string age(int64_t then_ms, int64_t now_ms);  // "just now", "5m ago", "3d ago"
std::string utc_time(int64_t ms);                  // 1700000000000 -> "2023-11-14 22:13:20 UTC"

}  // namespace exprun
