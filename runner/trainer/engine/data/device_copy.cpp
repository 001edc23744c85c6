#include "engine/data/device_copy.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace exprun {

Batch DeviceCopy::arrived() && {
  if (!copied_) return std::move(batch_);
  const c10::impl::VirtualGuardImpl of_type(copied_->device_type());
  const c10::Stream computing = of_type.getStream(batch_.inputs.device());
  copied_->block(computing);
  // Their memory belongs to the stream that copied: without this it would be given to the next copy
  // while the computation still reads it.
  for (const at::Tensor* tensor : {&batch_.inputs, &batch_.targets})
    of_type.recordDataPtrOnStream(tensor->storage().data_ptr(), computing);
  return std::move(batch_);
}

CopyStream::CopyStream(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl of_type(device.type());
  stream_ = std::make_shared<c10::Stream>(of_type.getStreamFromGlobalPool(device));
}

DeviceCopy CopyStream::copy(const Batch& batch) const {
  if (!stream_) return {batch, nullptr};
  const c10::StreamGuard guard(*stream_);
  Batch there = batch.on(stream_->device());
  const auto copied = std::make_shared<c10::Event>(stream_->device_type());
  copied->record(*stream_);
  return {std::move(there), copied};
}

}  // namespace exprun
