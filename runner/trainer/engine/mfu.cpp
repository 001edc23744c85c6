#include "engine/mfu.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace exprun {

namespace {

constexpr double kOperationsOfFusedMultiplyAdd = 2, kUnits = 2;

int64_t lanes_of(const std::string& instruction_set) {
  if (instruction_set.starts_with("AVX512")) return 16;
  return instruction_set == "AVX2" ? 8 : 0;
}

// The largest of what the kernel allows and what it sees now, in hertz; 0 where it says neither.
double highest_clock() {
  double hertz = 0, kilohertz = 0;
  if (std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") >> kilohertz)
    return kilohertz * 1e3;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("cpu MHz"))
      hertz = std::max(hertz, std::strtod(line.c_str() + line.find(':') + 1, nullptr) * 1e6);
  return hertz;
}

}  // namespace

std::string Mfu::text(double tokens_per_second) const {
  char text[96];
  std::snprintf(text, sizeof text, "MFU %.1f %% (convention P, peak %.4g TFLOP/s",
                100 * of(tokens_per_second), peak.flops / 1e12);
  return text + peak.how + ")";
}

// The first name that the device's contains.
std::optional<Peak> known_peak(std::string_view device) {
  static constexpr std::pair<std::string_view, double> kDevices[] = {
      {"H100 PCIe", 756e12}, {"H100", 989e12}, {"H200", 989e12}, {"A100", 312e12}};
  for (const auto& [name, peak] : kDevices)
    if (device.find(name) != std::string_view::npos) return Peak{peak};
  return std::nullopt;
}

Peak estimated_peak(int64_t lanes, int64_t threads, double hertz) {
  char how[96];
  std::snprintf(how, sizeof how, ", estimated: fp32, %lld x %.3g GHz x 2 x %lld lanes",
                static_cast<long long>(threads), hertz / 1e9, static_cast<long long>(lanes));
  return {kOperationsOfFusedMultiplyAdd * kUnits * static_cast<double>(lanes * threads) * hertz,
          how};
}

std::optional<Peak> estimated_peak(const Machine& machine) {
  const int64_t lanes = lanes_of(machine.instruction_set);
  const double hertz = highest_clock();
  if (lanes == 0 || hertz == 0) return std::nullopt;
  return estimated_peak(lanes, machine.threads, hertz);
}

MfuRecorder::MfuRecorder(MetricWriter& metrics, int64_t metrics_every, Mfu mfu)
    : metrics_(metrics),
      metrics_every_(metrics_every),
      mfu_(std::move(mfu)),
      series_(metrics.series("mfu", true)) {}

void MfuRecorder::step(const StepRecord& record) {
  if (record.step % metrics_every_ != 0) return;
  const std::array<MetricWriter::Point, 1> points{
      {{series_, mfu_.of(static_cast<double>(record.tokens) / record.seconds)}}};
  metrics_.push(record.step, points);
}

}  // namespace exprun
