// Source: etcd's server/etcdserver/v3_server.go and api/v3rpc/interceptor.go.
#include "sim/etcd/request.h"

#include <charconv>
#include <utility>

#include "http/grpc_wire.h"

namespace etcdop::sim {

using namespace std::chrono_literals;

Result<std::string> Request::unary(const std::string& path, const std::string& question) {
  if (!reach(Instant::max())) return error_;
  if (learns() && !for_learners(path, question))
    return fail(kFailedPrecondition, "rpc not supported for learner"), error_;
  std::string answer;
  if (!call(path, question, answer)) return error_;
  if (!pause(200us, 1ms)) return error_;
  status_.code = 0;
  return answer;
}

bool Request::fail(const Refusal& refusal) {
  status_ = {.code = refusal.code, .message = refusal.text};
  error_ = {http::code_of_grpc(refusal.code), status_.message};
  return false;
}

bool Request::gone() {
  if (asked_->terminated) return fail(kUnavailable, "server stopped");
  error_ = {Code::Lost, "connection reset by peer"};
  return false;
}

bool Request::given_up() {
  error_ = {Code::Cancelled, "the caller has gone"};
  return false;
}

bool Request::pause(Duration low, Duration high) {
  if (world_.executor.sleep(world_.dice.between(low, high)) != Woken::Ready) return given_up();
  return !asked_->hung ? here() || gone() : until(Instant::max(), [] { return true; });
}

bool Request::until(Instant end, const std::function<bool()>& holds) {
  bool late = false;  // A process that hangs sees the end of its time once it goes on.
  while (asked_->hung || !holds()) {
    if (!here()) return gone();
    if (late && !asked_->hung) return fail(kUnavailable, "request timed out");
    Wait wait(world_.executor);
    asked_->watchers.push_back(&wait);
    const Woken woken = wait.until(late ? Instant::max() : end);
    asked_->watchers.remove(&wait);
    if (woken == Woken::Cancelled) return given_up();
    late |= woken == Woken::Deadline;
  }
  return here() || gone();
}

bool Request::reach(Instant end) {
  if (world_.executor.sleep(world_.dice.between(200us, 1500us)) != Woken::Ready) return given_up();
  asked_ = world_.at(address_);
  if (!asked_ || !asked_->listens || !here()) {
    error_ = {Code::Unavailable, address_ + ": connection refused"};
    return false;
  }
  return until(end, [&] { return asked_->serves; });
}

bool Request::identify(Caller& caller) {
  if (!users().enabled()) return true;
  if (token_ == EtcdNet::kMasterKey) {
    caller = {.user = "root", .revision = users().revision()};
    return true;
  }
  if (token_.empty()) {
    if (!common_name_.empty()) caller = {.user = common_name_, .revision = users().revision()};
    return true;
  }
  const std::size_t dot = token_.find('.');
  std::uint64_t index = 0;
  const char* const end = token_.data() + token_.size();
  const bool good =
      dot != std::string::npos && std::from_chars(token_.data() + dot + 1, end, index).ptr == end;
  // A member that is further ahead may have issued the token.
  if (good && !until(Instant::max(), [&] { return asked_->dir->applied.index >= index; }))
    return false;
  const auto found = asked_->tokens.find(token_);
  const Duration ttl = std::chrono::seconds(asked_->flags.token_ttl);
  if (found == asked_->tokens.end() || now() > found->second.used + ttl)
    return fail(kUnauthenticated, "invalid auth token");
  found->second.used = now();
  caller = {.user = found->second.user, .revision = users().revision()};
  return true;
}

bool Request::must_be(etcd::Answers who) {
  if (!users().enabled() || who == etcd::Answers::Anybody) return true;
  Caller caller;
  if (!identify(caller)) return false;
  if (who == etcd::Answers::AnyUser && caller.revision != 0) return true;
  const Refusal refusal = users().may_administer(caller);
  return refusal.code == 0 || fail(refusal);
}

bool Request::read_index() {
  if (!pause(500us, 3ms)) return false;
  const std::uint64_t elections = asked_->elections;
  std::uint64_t index = 0;
  const auto changed = [&] { return asked_->elections != elections; };
  const bool told = until(now() + kRequestLimit, [&] {
    const Process* leader = changed() ? nullptr : world_.leader_of(*asked_);
    if (!leader || !world_.confirmed(*leader)) return changed();
    index = leader->dir->commit;
    return true;
  });
  if (!told) return false;
  if (changed()) return fail(kUnavailable, "leader changed");
  return until(Instant::max(), [&] { return asked_->dir->applied.index >= index; });
}

bool Request::forward() { return asked_->leads || pause(500us, 3ms); }

std::shared_ptr<Outcome> Request::propose(Process* leader, Change change) {
  auto outcome = std::make_shared<Outcome>();
  const std::uint64_t ticket = ++world_.tickets;
  asked_->awaited[ticket] = outcome;
  if (leader) (void)world_.propose(*leader, std::move(change), ticket);
  return outcome;
}

}  // namespace etcdop::sim
