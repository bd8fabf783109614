// The calls of the simulated etcd clients and their answers, in one order: the evidence that no
// acknowledged write was lost.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/fiber.h"

namespace etcdop::sim {

/// One operation of one client on one key, a register of a number. 0 means absent, so put(0) is a
/// delete; every key starts as 0 unless the history says otherwise.
struct Operation {
  enum class Kind { Put, Get };
  /// Unknown: it was sent, and may take effect at any time after its invocation, or never. An
  /// operation that has not returned is Unknown. Failed: it had no effect and never will.
  enum class Outcome { Unknown, Ok, Failed };
  static constexpr std::uint64_t kNever = UINT64_MAX;

  int client = 0;
  Kind kind = Kind::Get;
  std::string key;
  std::uint64_t value = 0;  ///< A put's value; a get's result once it is Ok.
  Outcome outcome = Outcome::Unknown;
  Instant invoked{};
  Instant returned = Instant::max();  ///< For an Unknown operation: when the client gave up.
  /// The history's order, which breaks ties between equal instants: each invocation and each return
  /// has a number of its own. Only Ok and Failed operations have a return in this order.
  std::uint64_t invoked_order = 0, returned_order = kNever;
};

/// Records operations as they happen; the order of the calls is the order of the events. Many
/// clients share one history; they need no lock because they are fibers.
class History {
 public:
  /// Identifies one operation in this history.
  enum class Handle : std::size_t {};

  /// Call it before the request is sent. Use each value for one put only: then the check is exact,
  /// fast and reports more.
  Handle invoke_put(int client, std::string key, std::uint64_t value, Instant now) {
    return invoke({client, Operation::Kind::Put, std::move(key), value, {}, now});
  }
  Handle invoke_get(int client, std::string key, Instant now) {
    return invoke({client, Operation::Kind::Get, std::move(key), 0, {}, now});
  }

  /// Call it once per handle, after the answer; otherwise the operation stays Unknown.
  void returned(Handle handle, Operation::Outcome outcome, Instant now) {
    Operation& operation = operations_.at(static_cast<std::size_t>(handle));
    check(operation.returned == Instant::max(), "an operation returns once");
    operation.outcome = outcome;
    operation.returned = now;
    if (outcome != Operation::Outcome::Unknown) operation.returned_order = events_++;
  }
  /// A get was answered: `seen` is the key's value, 0 if absent.
  void returned_value(Handle handle, std::uint64_t seen, Instant now) {
    Operation& operation = operations_.at(static_cast<std::size_t>(handle));
    check(operation.kind == Operation::Kind::Get, "only a get returns a value");
    operation.value = seen;
    returned(handle, Operation::Outcome::Ok, now);
  }

  /// The key's value before any put. Call it before the key's first operation; no later put may use
  /// that value.
  void begins_with(const std::string& key, std::uint64_t value) { first_values_[key] = value; }
  std::uint64_t first_value(const std::string& key) const {
    const auto found = first_values_.find(key);
    return found == first_values_.end() ? 0 : found->second;
  }

  /// The operations on the registers that `wanted` names.
  History part(const std::function<bool(const std::string& key)>& wanted) const {
    History out;
    for (const Operation& one : operations_)
      if (wanted(one.key)) out.operations_.push_back(one);
    out.first_values_ = first_values_;
    out.events_ = events_;
    return out;
  }

  /// In the order of their invocations.
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  Handle invoke(Operation operation) {
    operation.invoked_order = events_++;
    operations_.push_back(std::move(operation));
    return Handle{operations_.size() - 1};
  }

  std::vector<Operation> operations_;
  std::map<std::string, std::uint64_t> first_values_;  // Only values that are not 0.
  std::uint64_t events_ = 0;
};

}  // namespace etcdop::sim
