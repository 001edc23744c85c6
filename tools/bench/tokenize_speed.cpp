// How fast GPT-2's BPE encodes: tokenize_speed VOCABULARY THREADS DOCUMENT_BYTES FILE...
// From a text in memory to tokens in memory. One JSON object: tokens, seconds and processor seconds
// (each the best of three), bytes, peak memory. Beside other tokenizers:
// tools/bench/tokenizing.py.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/files/file.h"
#include "text/bpe/bpe_tokenizer.h"

using namespace exprun;

namespace {

std::vector<std::string_view> documents_of(std::string_view text, size_t size) {
  std::vector<std::string_view> documents;
  for (; !text.empty(); text.remove_prefix(std::min(size, text.size())))
    documents.push_back(text.substr(0, size));
  return documents;
}

size_t encode_share(const Tokenizer& tokenizer, std::span<const std::string_view> documents,
                    size_t first, size_t step) {
  const auto encoder = tokenizer.make_encoder();
  size_t count = 0;
  Tokens tokens;
  TokenList list(tokens);
  for (size_t i = first; i < documents.size(); i += step) {
    tokens.clear();
    encoder->encode(documents[i], list);
    count += tokens.size();
  }
  return count;
}

size_t encode_all(const Tokenizer& tokenizer, std::span<const std::string_view> documents,
                  size_t threads) {
  std::vector<size_t> counts(threads);
  std::vector<std::thread> pool;
  for (size_t i = 0; i < threads; ++i)
    pool.emplace_back([&, i] { counts[i] = encode_share(tokenizer, documents, i, threads); });
  for (std::thread& thread : pool) thread.join();
  size_t total = 0;
  for (const size_t count : counts) total += count;
  return total;
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const auto tokenizer = load_bpe_tokenizer(argv[1]);
  const size_t threads = std::stoul(argv[2]);
  std::string text;
  for (int i = 4; i < argc; ++i) text += read_file(argv[i]);
  const auto documents = documents_of(text, std::stoul(argv[3]));
  double best = 1e9, best_processor = 1e9;
  size_t tokens = 0;
  for (int round = 0; round < 3; ++round) {
    const double processor = processor_seconds();
    const auto start = std::chrono::steady_clock::now();
    tokens = encode_all(*tokenizer, documents, threads);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
    best_processor = std::min(best_processor, processor_seconds() - processor);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"tokens\": %zu, \"seconds\": %.4f, \"processor_seconds\": %.4f, \"bytes\": %zu, "
      "\"peak_kib\": %ld}\n",
      tokens, best, best_processor, text.size(), usage.ru_maxrss);
}
