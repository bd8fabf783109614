#include "test/support/fake_api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace etcdop::testing {

using kube::Call;

FakeApi::FakeApi(Executor& executor, Misuse misuse)
    : VirtualWallClock(executor),
      ApiServer(
          static_cast<const VirtualWallClock&>(*this),
          misuse ? std::move(misuse) : [](const std::string& how) { ADD_FAILURE() << how; }),
      executor_(executor) {}

void FakeApi::grant(const std::vector<kube::Permission>& permissions) {
  if (!granted_) granted_.emplace();
  granted_->insert(granted_->end(), permissions.begin(), permissions.end());
}

std::optional<Error> FakeApi::admit(const Call& call) {
  requests_.push_back(sim::line_of(call));
  if (!granted_ || sim::permits(*granted_, call)) return std::nullopt;
  misused(call, "not granted");
  return Error{Code::Denied, sim::line_of(call) + ": not granted"};
}

Result<Json> FakeApi::call(const Call& call) {
  if (auto refused = admit(call)) return *refused;
  if (latency_ > Duration(0))
    if (auto slept = to_result(executor_.sleep(latency_ / 2), "send the request"); !slept)
      return slept.error();
  if (before_)
    if (auto fault = before_(call)) return *fault;
  Result<Json> answer = perform(call);
  if (after_)
    if (auto fault = after_(call)) return *fault;
  if (latency_ > Duration(0))
    if (auto slept = to_result(executor_.sleep(latency_ / 2), "wait for the answer"); !slept)
      return slept.error();
  return answer;
}

Result<Done> FakeApi::watch(const Call& call, const std::function<bool(kube::WatchEvent)>& each) {
  if (auto refused = admit(call)) return *refused;
  if (before_)
    if (auto fault = before_(call)) return *fault;
  return ApiServer::watch(executor_, call, each, line_);
}

std::ptrdiff_t FakeApi::requests(std::string_view prefix) const {
  return std::ranges::count_if(requests_,
                               [&](const std::string& r) { return r.starts_with(prefix); });
}

}  // namespace etcdop::testing
