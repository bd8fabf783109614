// The simulated API server as a test uses it: one program, whose every request can be counted,
// delayed and failed.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/api/server.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::testing {

using api::ObjectKey;
using api::Resource;
using FakeKind = sim::ApiKind;

/// What only a faulty program does fails the test: what the server calls misuse, and a request that
/// is not granted.
class FakeApi final : private VirtualWallClock, public sim::ApiServer, public kube::Api {
 public:
  /// Without a `misuse`, misuse fails the running test.
  explicit FakeApi(Executor&, Misuse misuse = {});

  /// From now on only this may be asked for; the first call forbids everything else. Adds up.
  void grant(const std::vector<kube::Permission>&);

  Result<Json> call(const kube::Call&) override;
  Result<Done> watch(const kube::Call&, const std::function<bool(kube::WatchEvent)>& each) override;

  // Faults. Hooks may suspend the calling fiber.

  using Fault = std::function<std::optional<Error>(const kube::Call&)>;
  /// An error is answered, and nothing done.
  void before(Fault fault) { before_ = std::move(fault); }
  /// It is done, and the error answered.
  void after(Fault fault) { after_ = std::move(fault); }
  /// Each call takes so long, half before and half after it is done.
  void latency(Duration d) { latency_ = d; }
  /// Ends every watch: with success, as the server does now and then, or with an error.
  void cut_watches(std::optional<Error> how = std::nullopt) { line_.cut(std::move(how)); }

  /// Every call and watch so far, as sim::line_of has it.
  const std::vector<std::string>& requests() const { return requests_; }
  void forget_requests() { requests_.clear(); }
  /// How many requests began with `prefix`.
  std::ptrdiff_t requests(std::string_view prefix) const;

 private:
  std::optional<Error> admit(const kube::Call&);
  Executor& executor_;
  std::optional<std::vector<kube::Permission>> granted_;
  sim::WatchLine line_;
  std::vector<std::string> requests_;
  Fault before_, after_;
  Duration latency_{0};
};

}  // namespace etcdop::testing
