// The simulated API server for a test of one program: every request can be counted, delayed and
// failed.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/codec.h"
#include "base/check.h"
#include "sim/api/server.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::testing {

using api::ObjectKey;
using api::Resource;
using FakeKind = sim::ApiKind;

/// Fails the test on what only a faulty program does: what the server calls misuse, and requests
/// that are not granted.
class FakeApi final : private VirtualWallClock, public sim::ApiServer, public kube::Api {
 public:
  /// Without `misuse`, misuse fails the running test.
  explicit FakeApi(Executor&, Misuse misuse = {});

  /// From now on only these calls are allowed; the first grant forbids everything else. Grants add
  /// up.
  void grant(const std::vector<kube::Permission>&);

  Result<Json> call(const kube::Call&) override;
  Result<Done> watch(const kube::Call&, const std::function<bool(kube::WatchEvent)>& each) override;

  // Objects as their types.

  using ApiServer::find;
  using ApiServer::put;
  template <class T>
  T put(Json manifest) {
    return decoded<T>(put(T::resource, std::move(manifest)));
  }
  template <class T>
  std::optional<T> find(const ObjectKey& key) const {
    const auto found = find(T::resource, key);
    return found ? std::optional(decoded<T>(*found)) : std::nullopt;
  }

  // Faults. Hooks may suspend the calling fiber.

  using Fault = std::function<std::optional<Error>(const kube::Call&)>;
  /// Runs before the call; an error is the answer, and nothing is done.
  void before(Fault fault) { before_ = std::move(fault); }
  /// Runs after the call took effect; an error is the answer.
  void after(Fault fault) { after_ = std::move(fault); }
  /// Each call takes this long, half before and half after it takes effect.
  void latency(Duration d) { latency_ = d; }
  /// Ends every watch: with success, as the server sometimes does, or with an error.
  void cut_watches(std::optional<Error> how = std::nullopt) { line_.cut(std::move(how)); }

  /// Every call and watch so far, in the form of sim::line_of.
  const std::vector<std::string>& requests() const { return requests_; }
  void forget_requests() { requests_.clear(); }
  /// How many requests began with `prefix`.
  std::ptrdiff_t requests(std::string_view prefix) const;

 private:
  template <class T>
  static T decoded(const Json& manifest) {
    T out;
    check(bool(api::decode(manifest, out, T::resource.kind)), "a test's object is of its kind");
    return out;
  }
  std::optional<Error> admit(const kube::Call&);
  Executor& executor_;
  std::optional<std::vector<kube::Permission>> granted_;
  sim::WatchLine line_;
  std::vector<std::string> requests_;
  Fault before_, after_;
  Duration latency_{0};
};

}  // namespace etcdop::testing
