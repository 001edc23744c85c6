#include "base/hash.h"

#include <fcntl.h>
#include <xxhash.h>
#ifdef EXPRUN_XXHASH_DISPATCHES
#include <immintrin.h>
#include <xxh_x86dispatch.h>  // the same hashes with the widest vectors of this processor
#endif

#include <cerrno>
#include <new>

#include "base/files/file.h"

namespace exprun {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;

// xxHash's AVX code leaves the upper halves of its registers in use, with which the SSE code of
// this thread, and of threads that it starts, is slower from then on: a tokenizer took 12 % longer.
#ifdef EXPRUN_XXHASH_DISPATCHES
__attribute__((target("avx"))) void zero_upper_halves() {
  _mm256_zeroupper();
}

void leave_wide_registers() {
  static const bool are_there = __builtin_cpu_supports("avx");
  if (are_there) zero_upper_halves();
}
#else
void leave_wide_registers() {}
#endif

// Big endian, as xxhsum prints it.
std::string hex_of(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  if (!state_->xxh || XXH3_128bits_reset(state_->xxh) == XXH_ERROR) throw std::bad_alloc();
}

Hasher::~Hasher() = default;

void Hasher::update(const void* bytes, size_t size) {
  XXH3_128bits_update(state_->xxh, bytes, size);
  leave_wide_registers();
}

std::string Hasher::hex() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  leave_wide_registers();
  return hex_of(hash);
}

std::string hash_hex(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  leave_wide_registers();
  return hex_of(hash);
}

std::string hash_file_hex(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw file_error("open", file);
  Hasher hasher;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer.get(), kReadBytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file_error("read", file);
    if (count == 0) return hasher.hex();
    hasher.update(buffer.get(), static_cast<size_t>(count));
  }
}

}  // namespace exprun
