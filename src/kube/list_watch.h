// Keeps a mirror in step with the server: lists, watches, resumes, lists again where it must.
#pragma once
#include <memory>
#include <string>

#include "base/fiber.h"
#include "base/log.h"
#include "base/random.h"
#include "kube/api.h"

namespace etcdop::kube {

/// What is kept in step. Nothing here may suspend.
class Mirror {
 public:
  virtual ~Mirror() = default;
  /// A list begins (again): what was listed since the last end is void.
  virtual void list_begins() = 0;
  virtual void listed(const Json& object) = 0;
  virtual void list_ends(Instant) = 0;
  /// Never a bookmark.
  virtual void event(WatchEvent::Type, const Json& object) = 0;
  /// After each event and bookmark. False: something is missing, list again.
  virtual bool heard(Instant) = 0;
};

/// Expected flow: list everything (paged, the newest state); watch from that list's version; when
/// the watch ends, watch on from the last event or bookmark.
///
/// Guarantees: list_begins, listed..., list_ends come before events; events come in the server's
/// order. Once the server answers again, the mirror is not further behind than a few silent
/// watches, kBackoffMax and a list.
///
/// Lists again: when the version is too old (Expired), when the mirror asks, when the kind itself
/// went away (NotFound), when what came made no sense (Corrupt, Invalid), and after
/// kWatchFailuresMax watches in a row that brought nothing. Everything else resumes.
///
/// A watch that is silent until the client's limit is no error: the server sends bookmarks each
/// minute, but only where the version has moved on since the watch began; a connection that has
/// died looks the same. Nor does silence prove much: a server restored to an earlier state says
/// nothing to who watches from a version of its lost future, which is why a third one means a list.
///
/// Between failures it waits, doubling from kBackoffMin to kBackoffMax, less up to a half at
/// random, and from the start again after a watch that brought something or stayed open for
/// kWatchShort. An error is logged as a warning when it is another one than before.
class ListWatch {
 public:
  static constexpr Duration kBackoffMin = std::chrono::milliseconds(250);
  static constexpr Duration kBackoffMax = std::chrono::seconds(30);
  static constexpr Duration kWatchShort = std::chrono::seconds(5);
  static constexpr Duration kWatchQuiet = std::chrono::minutes(1);
  static constexpr int kWatchFailuresMax = 3;

  struct Scope {
    Resource resource;
    std::string ns = {};  ///< Empty: all namespaces.
    std::string label_selector = {};
    bool optional = false;  ///< The kind may not be installed, which is nothing to warn of.
  };
  ListWatch(Executor&, Random&, Log&, Api&, Mirror&, Scope);
  /// Must have been stopped, if it was started.
  ~ListWatch();
  ListWatch(const ListWatch&) = delete;

  /// At most once.
  void start();
  /// Ends it; may suspend. After this the mirror is not touched any more, and what it knows stays.
  void stop();

 private:
  enum class Next { Resume, List, Stop };
  void run();
  Call call(Verb) const;
  Result<Done> list();
  Next watch();
  Next after_watch(const Result<Done>&, bool heard, Duration lasted);
  bool take(const WatchEvent&);
  void complain(const char* doing, const Error&);
  /// False if it is to stop.
  bool back_off();

  Executor& executor_;
  Random& random_;
  Log& log_;
  Api& api_;
  Mirror& mirror_;
  Scope scope_;
  std::shared_ptr<Fiber> fiber_;
  std::string version_;     // Of the last list, event or bookmark.
  int failures_ = 0;        // In a row.
  int watch_failures_ = 0;  // In a row, since the last list.
  std::string complaint_;   // The last error logged, until things went well again.
};

}  // namespace etcdop::kube
