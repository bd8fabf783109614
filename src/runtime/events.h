// Events (events.k8s.io/v1) for people: what happened to an object. They are written in the
// background and never block the work.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/fiber.h"
#include "base/log.h"
#include "base/random.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "kube/granted.h"

namespace etcdop::runtime {

/// A call without a row here does not compile; the chart's rules are generated from it.
inline constexpr kube::Permission kEventPermissions[] = {
    {kube::Event::resource, "", {kube::Verb::Create, kube::Verb::Patch}}};

/// The same table, as a list.
std::vector<kube::Permission> event_permissions();

/// Something that happened to an object.
struct Event {
  /// The object; an Event names its kind, and it is found by UID.
  struct Object {
    api::Resource kind;
    api::ObjectKey key;
    std::string uid;  ///< May be empty in `related`.
  };
  Object regarding;
  std::optional<Object> related;
  bool warning = false;
  std::string reason;  ///< One CamelCase word; the same as in conditions.
  std::string action;  ///< The action, for programs; not empty.
  std::string note;    ///< For people; nothing secret. Cut to 1 kB.
};

/// Normal flow: start() once we may write; record() from any fiber; stop() before another process
/// may write.
///
/// Guarantees: if an event repeats within six minutes of the last time (same objects, reason and
/// action), no new Event is created; the count of its series grows and is written at most once a
/// minute. At rest nothing is written. Both the pending and the remembered events are bounded.
///
/// Caveats: best effort, as in every client: an event is lost if it cannot be written for ten
/// minutes, is refused, or is still pending at stop().
class EventRecorder {
 public:
  static constexpr Duration kSeriesEnds = std::chrono::minutes(6);  // As in client-go.
  static constexpr Duration kSeriesEvery = std::chrono::minutes(1);
  static constexpr Duration kRetry = std::chrono::seconds(10), kKeep = std::chrono::minutes(10);
  static constexpr std::size_t kPendingMax = 256, kSeriesMax = 1024;

  /// All of them must outlive this. `instance`: identifies this process among those of our name.
  EventRecorder(kube::Granted<kEventPermissions>, Executor&, const WallClock&, Random&, Log&,
                std::string instance);
  EventRecorder(const EventRecorder&) = delete;

  /// Never suspends.
  void record(const Event&);
  /// Call it at most once.
  void start();
  /// Suspends until a running request has ended; nothing is written afterwards.
  void stop();
  /// Number of events not written for lack of room, time, or permission.
  std::uint64_t lost() const { return lost_; }

 private:
  // UID of the object, name of the related object, whether it is a warning, reason, action.
  using Key = std::tuple<std::string, std::string, bool, std::string, std::string>;
  struct Series {
    api::ObjectKey event;
    std::string uid;  // Empty: the Event is not known to exist.
    std::int32_t count = 1, told = 1;
    Instant last, told_at;
    WallTime last_date;
  };
  struct Pending {
    Key key;
    Instant since;
    api::ObjectKey event;
    Json body;
  };

  void work();
  Instant next_due() const;
  void create_first();
  void tell_series();
  void forget_ended();
  void lose(const Error&);
  Json body_of(const Event&, const std::string& name) const;

  kube::Granted<kEventPermissions> api_;
  Executor& executor_;
  const WallClock& wall_;
  Random& random_;
  Log& log_;
  std::string instance_;
  std::deque<Pending> pending_;
  std::map<Key, Series> series_;
  Instant not_before_{};  // Set after a failure.
  Wait* waiting_ = nullptr;
  std::shared_ptr<Fiber> fiber_;
  std::uint64_t lost_ = 0;
  std::string complaint_;
};

}  // namespace etcdop::runtime
