#include "runtime/host_tensor.h"

#include <utility>

namespace layline {

HostTensor as_host(const Tensor& tensor) {
  return {tensor.dtype(), tensor.dims(), {tensor.bytes().begin(), tensor.bytes().end()}};
}

Tensor as_tensor(HostTensor host) {
  return Tensor({host.dtype, Shape(host.shape.begin(), host.shape.end())}, std::move(host.bytes));
}

}  // namespace layline
