// A stretch of a flat buffer that one collective sends, and which part of it a rank steps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "dist/process_group.h"

namespace exprun {

// Elements of a flat buffer.
struct Slice {
  int64_t begin = 0, count = 0;

  int64_t end() const { return begin + count; }
  at::Tensor of(const at::Tensor& flat) const { return flat.narrow(0, begin, count); }
  // What both have; none if count is not above 0.
  Slice common_with(const Slice& other) const;
};

class Bucket {
 public:
  enum class Form {
    replicated,  // every rank steps all of it
    split,       // every rank steps an equal part
    owned,       // one rank steps all of it
  };

  // `owner` matters to an owned one. A bucket that is not owned can be cut into equal parts.
  Bucket(Form form, Slice slice, int owner = 0) : form_(form), slice_(slice), owner_(owner) {}

  const Slice& slice() const { return slice_; }

  // Of all ranks' parts each element is in one: sums over the buffer add them.
  Slice part_of(const ProcessGroup& group) const;
  // Whether a rank has no more than its part of what is stepped.
  bool is_sharded() const { return form_ != Form::replicated; }

  // Gradients become their sums, at least in what this rank steps. `tensor`: the stretch of the
  // gradients.
  std::unique_ptr<Collective> reduce(ProcessGroup& group, const at::Tensor& tensor) const;

  // Of a sharded one: every rank's part comes to all others. `tensor`: the stretch of values or of
  // a state, with this rank's part in its place.
  std::unique_ptr<Collective> gather(ProcessGroup& group, const at::Tensor& tensor) const;

 private:
  at::Tensor part(const ProcessGroup& group, const at::Tensor& tensor) const;

  Form form_;
  Slice slice_;
  int owner_;
};

}  // namespace exprun
