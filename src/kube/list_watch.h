// Keeps a mirror in sync with the server: lists, watches, resumes, and lists again when necessary.
#pragma once
#include <memory>
#include <string>

#include "base/fiber.h"
#include "base/log.h"
#include "base/random.h"
#include "kube/api.h"

namespace etcdop::kube {

/// The copy that is kept in sync. No method may suspend.
class Mirror {
 public:
  virtual ~Mirror() = default;
  /// A list begins (again): objects listed since the last list_ends are void.
  virtual void list_begins() = 0;
  virtual void listed(const Json& object) = 0;
  virtual void list_ends(Instant) = 0;
  /// Never called for a bookmark.
  virtual void event(WatchEvent::Type, const Json& object) = 0;
  /// Called after each event and bookmark. False: something is missing, list again.
  virtual bool heard(Instant) = 0;
};

/// Normal flow: list everything (paged, the newest state); watch from that list's version; when the
/// watch ends, resume from the last event or bookmark.
///
/// Guarantees: list_begins, listed..., list_ends come before events; events come in the server's
/// order. Once the server answers again, the mirror lags by at most a few silent watches,
/// kBackoffMax and a list.
///
/// Lists again: when the version is too old (Expired), when the mirror asks, when the kind itself
/// was removed (NotFound), when the received data made no sense (Corrupt, Invalid), and after
/// kWatchFailuresMax watches in a row that brought nothing. Every other failure resumes.
///
/// A watch that is silent until the client's limit is no error. The server sends bookmarks each
/// minute, but only if the version has moved on since the watch began; a dead connection looks the
/// same. Silence does not prove much either: a server restored to an earlier state sends nothing to
/// a watch from a version of its lost future. That is why the third silent watch causes a list.
///
/// Between failures it waits, doubling from kBackoffMin to kBackoffMax, less up to a half at
/// random. An exception, in the mirror or below, counts as such a failure, and it lists again. The
/// wait starts again from kBackoffMin after a watch that brought something or stayed
/// open for kWatchShort. An error is logged as a warning if it differs from the previous one.
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
    bool optional = false;  ///< The kind may not be installed; that is not worth a warning.
  };
  ListWatch(Executor&, Random&, Log&, Api&, Mirror&, Scope);
  /// Must have been stopped, if it was started.
  ~ListWatch();
  ListWatch(const ListWatch&) = delete;

  /// Call it at most once.
  void start();
  /// Ends it; may suspend. After this the mirror is not touched any more, and keeps its content.
  void stop();

 private:
  enum class Next { Resume, List, Stop };
  void run();
  Next list_or_watch(Next);
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
  std::string version_;     // Version of the last list, event or bookmark.
  int failures_ = 0;        // In a row.
  int watch_failures_ = 0;  // In a row, since the last list.
  std::string complaint_;   // The last logged error; cleared when watching works again.
};

}  // namespace etcdop::kube
