#include "runtime/op_times.h"

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace layline {
namespace et = executorch::runtime;
namespace {

double ms_between(et_timestamp_t start, et_timestamp_t end) {
  const et_tick_ratio_t ratio = et_pal_ticks_to_ns_multiplier();
  return static_cast<double>(end - start) * static_cast<double>(ratio.numerator) /
         static_cast<double>(ratio.denominator) / 1e6;
}

}  // namespace

/// Of the runtime's events only two kinds are about ops: calls of kernels, which their wrappers
/// announce by name, and what a delegate logs of its own operators. The rest is around these.
class OpTimer::Tracer : public et::EventTracer {
 public:
  et::EventTracerEntry start_profiling(const char* name, et::ChainID chain,
                                       et::DebugHandle handle) override {
    et::EventTracerEntry entry{};
    entry.event_id = -1;
    entry.chain_id = chain;
    entry.debug_handle = handle;
    constexpr std::string_view kKernel = "native_call_";
    if (const std::string_view event(name); event.starts_with(kKernel))
      entry.event_id = index_of(event.substr(kKernel.size()));
    entry.start_time = et_pal_current_ticks();
    return entry;
  }
  void end_profiling(et::EventTracerEntry entry) override {
    if (entry.event_id >= 0) add(entry.event_id, entry.start_time, et_pal_current_ticks());
  }
  void log_profiling_delegate(const char* name, et::DelegateDebugIntId, et_timestamp_t start,
                              et_timestamp_t end, const void*, size_t) override {
    if (name != nullptr) add(index_of(name), start, end);
  }

  // What is not needed: the delegates measured here log their operators when they are done.
  void create_event_block(const char*) override {}
  et::EventTracerEntry start_profiling_delegate(const char*, et::DelegateDebugIntId) override {
    return {};
  }
  void end_profiling_delegate(et::EventTracerEntry, const void*, size_t) override {}
  void track_allocation(et::AllocatorID, size_t) override {}
  et::AllocatorID track_allocator(const char*) override { return 0; }
  et::Result<bool> log_evalue(const et::EValue&, et::LoggedEValueType) override { return true; }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const executorch::aten::Tensor&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(
      const char*, et::DelegateDebugIntId, const et::ArrayRef<executorch::aten::Tensor>) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const int&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const bool&) override {
    return true;
  }
  et::Result<bool> log_intermediate_output_delegate(const char*, et::DelegateDebugIntId,
                                                    const double&) override {
    return true;
  }
  void set_delegation_intermediate_output_filter(et::EventTracerFilterBase*) override {}

  std::vector<OpTime> ops;

 private:
  int64_t index_of(std::string_view name) {
    // XNNPACK numbers its operators: "Add (ND, F32) #12".
    name = name.substr(0, name.find(" #"));
    const int64_t index = std::ranges::find(ops, name, &OpTime::op) - ops.begin();
    if (index == std::ssize(ops)) ops.push_back({std::string(name), 0, 0});
    return index;
  }

  void add(int64_t index, et_timestamp_t start, et_timestamp_t end) {
    OpTime& op = ops[static_cast<size_t>(index)];
    ++op.calls;
    op.ms += ms_between(start, end);
  }
};

OpTimer::OpTimer() : tracer_(std::make_unique<Tracer>()) {}
OpTimer::~OpTimer() = default;

void OpTimer::clear() { tracer_->ops.clear(); }

std::vector<OpTime> OpTimer::ops() const {
  std::vector<OpTime> ops = tracer_->ops;
  std::ranges::stable_sort(ops, std::greater<>(), &OpTime::ms);
  return ops;
}

et::EventTracer* OpTimer::tracer() { return tracer_.get(); }

}  // namespace layline
