// The dataset over prepared token shards: what every source of tokens becomes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/files/file.h"
#include "engine/dataset.h"
#include "text/sample_order.h"
#include "text/token_shard.h"

namespace exprun {

// Train samples in the section's `order`, of its `blocks`; validation in order from the start.
// Throws Error when a split is shorter than one sample; an empty validation split has no samples.
std::unique_ptr<Dataset> make_token_dataset(const Section& section, const DatasetContext& context);
std::unique_ptr<Dataset> make_token_dataset(const DatasetContext& context, SampleOrder order,
                                            Blocks blocks = Blocks::overlapping);

// Token shards of one split, memory-mapped and joined without a gap: a sample may begin in one
// shard and end in the next, and the boundary loses no token.
class TokenReader {
 public:
  // Throws Error when a shard is not there or no longer has the size it was prepared with. Of
  // shards that are not `opened`, which may be gone, only the number of tokens is known.
  explicit TokenReader(const std::vector<TokenShard>& shards, bool pins_memory = false,
                       bool opened = true);

  int64_t tokens() const { return tokens_; }

  // The samples of `length` inputs that begin at the given tokens. Past the end of the split
  // there are zeros, and targets that do not count. Any thread.
  Batch read(std::span<const int64_t> offsets, int64_t length,
             Blocks blocks = Blocks::overlapping) const;

  // Widens tokens [begin, begin + count) to `out`; the largest of them. Any thread.
  int64_t copy(int64_t begin, int64_t count, int64_t* out) const;

  // The first of tokens [begin, begin + count) that is at least `least`.
  std::optional<TokenPlace> find(int64_t begin, int64_t count, int64_t least) const;

  // Tells the kernel that tokens are read in order.
  void expect_sequential() const;

 private:
  struct Piece {
    std::string path;
    MappedFile file;
    const std::byte* data;
    // Widens tokens [begin, begin + count) of the shard to `out`; the largest of them.
    int64_t (*read)(const std::byte* data, int64_t begin, int64_t count, int64_t* out);
    int64_t begin, end;  // places in the joined split
  };

  std::vector<Piece> pieces_;
  bool pins_memory_, opened_;
  int64_t tokens_ = 0;
};

}  // namespace exprun
