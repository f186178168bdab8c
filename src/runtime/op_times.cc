#include "runtime/op_times.h"

#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace layline {
namespace et = executorch::runtime;
namespace {

double ms_between(et_timestamp_t start, et_timestamp_t end) {
  const et_tick_ratio_t ratio = et_pal_ticks_to_ns_multiplier();
  return static_cast<double>(end - start) * static_cast<double>(ratio.numerator) /
         static_cast<double>(ratio.denominator) / 1e6;
}

}  // namespace

/// Only two kinds of the runtime's events are about ops: calls of kernels, which their wrappers
/// announce by name, and the operators that a delegate logs. The rest is around these.
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
      entry.event_id = index_of(event.substr(kKernel.size()), false);
    entry.start_time = et_pal_current_ticks();
    return entry;
  }
  void end_profiling(et::EventTracerEntry entry) override {
    if (entry.event_id >= 0) add(entry.event_id, entry.start_time, et_pal_current_ticks());
  }
  void log_profiling_delegate(const char* name, et::DelegateDebugIntId, et_timestamp_t start,
                              et_timestamp_t end, const void*, size_t) override {
    if (name != nullptr) add(index_of(name, true), start, end);
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

  void clear() {
    ops_.clear();
    places_.clear();
  }
  const std::vector<OpTime>& ops() const { return ops_; }

 private:
  /// The index of an op. An instruction calls one kernel, and XNNPACK numbers the operators of a
  /// delegate by kind, so instruction and name tell an op from every other.
  int64_t index_of(std::string_view name, bool delegated) {
    const auto instruction = static_cast<size_t>(current_debug_handle());
    const auto [place, is_new] =
        places_.try_emplace({instruction, std::string(name)}, std::ssize(ops_));
    if (is_new) ops_.push_back({std::string(name), instruction, delegated, 0});
    return place->second;
  }

  void add(int64_t index, et_timestamp_t start, et_timestamp_t end) {
    ops_[static_cast<size_t>(index)].ms += ms_between(start, end);
  }

  std::vector<OpTime> ops_;
  std::map<std::pair<size_t, std::string>, int64_t> places_;
};

OpTimer::OpTimer() : tracer_(std::make_unique<Tracer>()) {}
OpTimer::~OpTimer() = default;

void OpTimer::clear() { tracer_->clear(); }

const std::vector<OpTime>& OpTimer::ops() const { return tracer_->ops(); }

et::EventTracer* OpTimer::tracer() { return tracer_.get(); }

std::vector<KindTime> by_kind(const std::vector<OpTime>& ops) {
  std::vector<KindTime> kinds;
  for (const OpTime& op : ops) {
    const std::string kind = op.op.substr(0, op.op.find(" #"));
    auto known = std::ranges::find(kinds, kind, &KindTime::kind);
    if (known == kinds.end()) known = kinds.insert(known, {kind, 0, 0});
    ++known->calls;
    known->ms += op.ms;
  }
  std::ranges::stable_sort(kinds, std::greater<>(), &KindTime::ms);
  return kinds;
}

}  // namespace layline
