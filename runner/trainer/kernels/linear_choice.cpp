#include "kernels/linear_choice.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "engine/device/kernel_choices.h"

namespace exprun {
namespace {

using Seconds = std::chrono::duration<double>;

// Another backend than ATen's must be visibly faster, so that noise does not decide.
constexpr double kWorthwhile = 0.97;
constexpr int kLeastRuns = 2, kMostRuns = 8;
constexpr Seconds kPatience{0.01};

struct Choice {
  LinearProduct product;
  LinearBackend backend;
};

// What the engine's table says, without text, for as long as nothing is loaded into it.
struct Answers {
  std::mutex mutex;
  int64_t generation = -1;
  std::vector<Choice> known;
};

Answers& answers() {
  static Answers all;
  return all;
}

std::optional<LinearBackend> backend_named(const std::string& name) {
  if (name == "aten") return LinearBackend::aten;
  if (name == "onednn") return LinearBackend::onednn;
  return std::nullopt;
}

const char* name_of(LinearBackend backend) {
  return backend == LinearBackend::aten ? "aten" : "onednn";
}

Seconds time_once(const std::function<void(LinearBackend)>& compute, LinearBackend backend) {
  const auto begin = std::chrono::steady_clock::now();
  compute(backend);
  return std::chrono::steady_clock::now() - begin;
}

// Both once untimed, then in alternation: the minimum is what a quiet machine gives.
LinearBackend measure(const std::function<void(LinearBackend)>& compute) {
  compute(LinearBackend::aten);
  compute(LinearBackend::onednn);
  Seconds aten{std::numeric_limits<double>::max()}, onednn = aten, spent{0};
  for (int run = 0; run < kLeastRuns || (run < kMostRuns && spent < kPatience); ++run) {
    const auto first = time_once(compute, LinearBackend::aten);
    const auto second = time_once(compute, LinearBackend::onednn);
    aten = std::min(aten, first);
    onednn = std::min(onednn, second);
    spent += first + second;
  }
  return onednn < aten * kWorthwhile ? LinearBackend::onednn : LinearBackend::aten;
}

LinearBackend look_up(const std::string& key, const std::function<void(LinearBackend)>& compute) {
  const auto known = kernel_choices::find(key);
  const auto named = known ? backend_named(*known) : std::nullopt;
  if (named) return *named;
  if (kernel_choices::closed()) return LinearBackend::aten;
  const auto backend = measure(compute);
  kernel_choices::add(key, name_of(backend));
  return backend;
}

}  // namespace

LinearProduct::LinearProduct(Kind kind, int64_t tokens, int64_t in, int64_t out)
    : kind(kind),
      rows(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(tokens)))),
      in(in),
      out(out) {}

std::string to_string(const LinearProduct& product) {
  static constexpr const char* kKinds[] = {"forward", "input_gradient", "weight_gradient"};
  return std::string(kKinds[static_cast<int>(product.kind)]) + " " + std::to_string(product.rows) +
         "x" + std::to_string(product.in) + "x" + std::to_string(product.out);
}

LinearBackend choose_backend(const LinearProduct& product,
                             const std::function<void(LinearBackend)>& compute) {
  if (kernel_choices::fixed()) return LinearBackend::aten;
  auto& all = answers();
  const std::lock_guard lock(all.mutex);
  if (const auto now = kernel_choices::generation(); std::exchange(all.generation, now) != now)
    all.known.clear();
  for (const auto& choice : all.known)
    if (choice.product == product) return choice.backend;
  const auto backend = look_up(to_string(product), compute);
  all.known.push_back({product, backend});
  return backend;
}

}  // namespace exprun
