#include "runtime/leader.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;
using api::ObjectKey;
using kube::Lease;
using kube::LeaseSpec;

/// So that one silent connection does not use up all the time for renewals.
constexpr Duration kTryLimit = 5s;
constexpr Duration kReleaseLimit = 5s;
/// The server ends a watch after this; client-go also asks for 5 to 10 minutes.
constexpr const char* kWatchSeconds = "600";
/// If a user sets an absurd lease duration, the holder must still renew within this time.
constexpr std::int32_t kHeldSecondsMax = 60;

std::string holder_of(const LeaseSpec& record) { return record.holder_identity.value_or(""); }

}  // namespace

std::vector<kube::Permission> leader_permissions() {
  return {std::begin(kLeaderPermissions), std::end(kLeaderPermissions)};
}

std::string leader_identity(const std::string& host, Random& random) {
  const std::uint64_t a = random.next(), b = random.next();
  char uuid[40];
  std::snprintf(uuid, sizeof uuid, "%08llx-%04llx-4%03llx-%04llx-%012llx",
                static_cast<unsigned long long>(a >> 32),
                static_cast<unsigned long long>(a >> 16 & 0xffff),
                static_cast<unsigned long long>(a & 0xfff),
                static_cast<unsigned long long>(0x8000 | (b >> 48 & 0x3fff)),
                static_cast<unsigned long long>(b & 0xffffffffffff));
  return host + "_" + uuid;
}

LeaderElection::LeaderElection(kube::Granted<kLeaderPermissions> api, Executor& executor,
                               const WallClock& wall, Random& random, Log& log, Options options)
    : api_(api),
      executor_(executor),
      wall_(wall),
      random_(random),
      log_(log),
      options_(std::move(options)) {
  check(!options_.identity.empty() && options_.retry < options_.renew &&
            options_.renew < options_.lease,
        "a leader has an identity, and time to renew");
}

Result<Done> LeaderElection::acquire() {
  log_.info("waiting for the leader lease",
            {{"lease", options_.ns + "/" + options_.name}, {"identity", options_.identity}});
  const auto follower = executor_.spawn([this] { follow(); });
  Result<Done> outcome = stand_by();
  const auto seen = std::pair(version_, record_);
  follower->cancel();
  {
    Shield until_it_ended(executor_);
    (void)follower->join();
  }
  std::tie(version_, record_) = seen;  // The follower's later events are older than our own write.
  if (outcome) log_.info("became leader", {{"identity", options_.identity}});
  return outcome;
}

/// Tries whenever the Lease is free; otherwise waits until it changes or expires.
Result<Done> LeaderElection::stand_by() {
  for (;;) {
    Instant until = free_at();
    if (until <= executor_.now()) {
      const Result<Done> taken = take();
      if (taken) return taken;
      complain(taken.error());
      // Another candidate may have been first, and we may already know.
      until = free_at() <= executor_.now() ? executor_.now() + options_.retry : free_at();
    }
    Wait wait(executor_);
    waiting_ = &wait;
    const Woken woken = wait.until(until);
    waiting_ = nullptr;
    if (woken == Woken::Cancelled || (woken == Woken::Deadline && executor_.now() < until))
      return to_result(woken, "wait for the leader lease");
  }
}

/// Keeps record_ up to date while we stand by.
void LeaderElection::follow() {
  while (!holding_) {
    const Instant start = executor_.now();
    const Result<Done> followed = follow_once();
    if (holding_ || followed.failed_with(Code::Cancelled)) return;
    // A watch that is silent or expired says nothing about the API server's health.
    if (!followed && followed.error().code != Code::Expired &&
        followed.error().code != Code::TimedOut)
      complain(followed.error());
    if (executor_.now() - start < options_.lease && !pause(options_.retry)) return;
  }
}

/// One get, and a watch from there until it ends.
Result<Done> LeaderElection::follow_once() {
  if (auto read = reread(); !read) return read;
  std::map<std::string, std::string> query{{"fieldSelector", "metadata.name=" + options_.name},
                                           {"allowWatchBookmarks", "true"},
                                           {"timeoutSeconds", kWatchSeconds}};
  if (!version_.empty()) query["resourceVersion"] = version_;
  Result<Done> readable = Done{};
  const auto watched =
      api_.watch<Lease>(options_.ns, std::move(query), [&](kube::WatchEvent event) {
        if (event.type == kube::WatchEvent::Type::Bookmark) return true;
        auto lease = kube::decoded<Lease>(std::move(event.object));
        if (!lease) {
          readable = lease.error();
          return false;
        }
        observe(event.type == kube::WatchEvent::Type::Deleted ? std::nullopt
                                                              : std::optional(std::move(*lease)));
        return true;
      });
  return readable ? watched : readable;
}

Result<Done> LeaderElection::reread() {
  auto lease = api_.get<Lease>({options_.ns, options_.name});
  if (!lease && !lease.failed_with(Code::NotFound))
    return Error(lease.error()).during("read the leader lease");
  observe(lease ? std::optional(std::move(*lease)) : std::nullopt);
  return Done{};
}

/// Keeps the record of a deleted Lease: its holder may still believe that it leads.
void LeaderElection::observe(std::optional<Lease> lease) {
  const bool first = !std::exchange(heard_, true);
  version_ = lease ? lease->metadata.resource_version : "";
  if (lease && (first || lease->spec != record_)) {
    const std::string before = first ? "" : holder_of(record_);
    record_ = std::move(lease->spec);
    changed_at_ = executor_.now();
    const std::string holder = holder_of(record_);
    if (holder != before && holder != options_.identity)
      log_.info(holder.empty() ? "the leader lease was released" : "another operator is the leader",
                {{"holder", holder}});
  }
  if (waiting_) (void)waiting_->notify();
}

/// When we may take the Lease; Instant::max() until we have seen it.
Instant LeaderElection::free_at() const {
  if (!heard_) return Instant::max();
  const std::string holder = holder_of(record_);
  if (holder.empty() || holder == options_.identity) return Instant::min();
  const std::int32_t seconds = record_.lease_duration_seconds.value_or(0);
  if (seconds <= 0) return changed_at_ + options_.lease;
  return changed_at_ + std::chrono::seconds(std::min(seconds, kHeldSecondsMax));
}

Result<Done> LeaderElection::take() {
  Within limit(executor_, kTryLimit);
  return write(ours());
}

/// A merge patch or a create; both fail if the Lease has changed since we last saw it.
Result<Done> LeaderElection::write(LeaseSpec spec) {
  const Instant sent = executor_.now();
  const ObjectKey key{options_.ns, options_.name};
  Json body{{"metadata", json::object()}, {"spec", api::encode(spec)}};
  json::object& metadata = body.at("metadata").as_object();
  metadata[version_.empty() ? "name" : "resourceVersion"] =
      version_.empty() ? options_.name : version_;
  auto lease = version_.empty() ? api_.create<Lease>(key.ns, std::move(body))
                                : api_.merge_patch<Lease>(key, std::move(body));
  if (!lease) return Error(lease.error()).during("write the leader lease");
  renewed_at_ = sent;
  holding_ = holder_of(lease->spec) == options_.identity;
  observe(std::move(*lease));
  complaint_.clear();
  return Done{};
}

LeaseSpec LeaderElection::ours() const {
  LeaseSpec spec;
  const bool changes_hands = holder_of(record_) != options_.identity;
  spec.holder_identity = options_.identity;
  spec.lease_duration_seconds = static_cast<std::int32_t>(options_.lease / 1s);
  spec.renew_time = micro_now();
  spec.acquire_time = changes_hands ? *spec.renew_time : record_.acquire_time.value_or(micro_now());
  // The first holder of a new Lease is not a transition.
  spec.lease_transitions = record_.lease_transitions.value_or(0) +
                           (changes_hands && record_.holder_identity.has_value() ? 1 : 0);
  return spec;
}

bool LeaderElection::leading() const {
  return holding_ && executor_.now() < renewed_at_ + options_.renew;
}

Error LeaderElection::lead() {
  Result<Done> last = Done{};
  for (;;) {
    const Instant end = renewed_at_ + options_.renew;
    const Woken woken = executor_.sleep_until(std::min(executor_.now() + options_.retry, end));
    if (woken != Woken::Ready) return to_result(woken, "lead").error();
    if (executor_.now() >= end) {
      holding_ = false;
      return {Code::TimedOut, "the leader lease could not be renewed in time" +
                                  (last ? "" : ": " + last.error().message)};
    }
    last = renew();
    if (last) continue;
    complain(last.error());
    if (holder_of(record_) != options_.identity && !holder_of(record_).empty()) {
      holding_ = false;
      return {Code::Conflict, "the leader lease is held by " + holder_of(record_)};
    }
  }
}

/// Takes at most until leadership would end. A user may have edited or deleted the Lease: if no
/// other candidate holds it now, it is still ours.
Result<Done> LeaderElection::renew() {
  Within limit(executor_, std::min(kTryLimit, renewed_at_ + options_.renew - executor_.now()));
  Result<Done> written = write(ours());
  if (!written.failed_with(Code::Conflict) && !written.failed_with(Code::AlreadyExists) &&
      !written.failed_with(Code::NotFound))
    return written;
  if (auto read = reread(); !read) return read;
  const std::string holder = holder_of(record_);
  if (!holder.empty() && holder != options_.identity) return written;
  return write(ours());
}

void LeaderElection::release() {
  if (!leading()) return;
  Shield cleaning_up(executor_, kReleaseLimit);
  const auto released = [this] {
    LeaseSpec spec = ours();
    spec.holder_identity = "";
    spec.lease_duration_seconds = 1;  // As client-go does.
    return write(spec);
  };
  Result<Done> done = released();
  // A renewal whose answer we did not wait for may have changed the version, but not the holder.
  if (done.failed_with(Code::Conflict) && reread() && holder_of(record_) == options_.identity)
    done = released();
  holding_ = false;
  if (done) log_.info("released the leader lease");
  else
    log_.warn("the leader lease was not released: the next leader waits until it runs out",
              {{"error", done.error().message}});
}

std::string LeaderElection::micro_now() const { return to_rfc3339_micro(wall_.wall_now()); }

/// With jitter, so that standbys do not act in step. False if the fiber should end.
bool LeaderElection::pause(Duration d) {
  const auto fifth = static_cast<std::uint64_t>(d.count() / 5) + 1;
  return executor_.sleep(d + Duration(random_.next() % fifth)) == Woken::Ready;
}

/// Logs each change once. A lost race is not an error.
void LeaderElection::complain(const Error& error) {
  if (error.code == Code::Conflict || error.code == Code::AlreadyExists ||
      error.code == Code::Cancelled || error.message == complaint_)
    return;
  complaint_ = error.message;
  log_.error("leader election failed; trying again", {{"error", error.message}});
}

}  // namespace etcdop::runtime
