// An API server in memory and virtual time: strict where the real one is, and stricter about what
// no correct program does.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fiber.h"
#include "kube/api.h"

namespace etcdop::testing {

using api::ObjectKey;
using api::Resource;

/// One kind that the fake serves.
struct FakeKind {
  Resource resource;
  bool namespaced = true;
  bool status = false;      ///< Has a status sub-resource.
  bool generation = false;  ///< metadata.generation counts changes of the spec, as of custom ones.
  bool graceful = false;    ///< As Pods: delete only marks it; the kubelet (erase()) ends it.
  /// Asked about every object that is to be stored, after defaults; its error is the answer.
  std::function<Result<Done>(const Json&)> validate = {};
  /// Called on every object that is to be stored.
  std::function<void(json::object&)> fill_in = {};
};

/// Objects as JSON with UID, resourceVersion, generation, finalizers; get, list (paged, selected),
/// watch (from a version, bookmarks, 410), create, merge and JSON patch, server-side apply, status
/// sub-resource, delete with preconditions; as design/semantics.md has it.
///
/// What only a faulty program does fails the test: a resource or verb that is not served or not
/// granted, an unknown query parameter, a request without the names it needs.
///
/// Caveats: server-side apply knows one field manager; JSON is not checked against a schema
/// (FakeKind::validate may); nothing happens by itself: no garbage collector (collect_garbage()),
/// no kubelet, no defaults.
class FakeApi final : public kube::Api {
 public:
  using Misuse = std::function<void(const std::string&)>;
  /// Without a `misuse`, misuse fails the running test.
  explicit FakeApi(Executor&, Misuse misuse = {});
  ~FakeApi() override;

  void serve(FakeKind);
  /// From now on only this may be asked for; the first call forbids everything else. Adds up.
  void grant(const std::vector<kube::Permission>&);

  Result<Json> call(const kube::Call&) override;
  Result<Done> watch(const kube::Call&, const std::function<bool(kube::WatchEvent)>& each) override;

  // What a test does behind the program's back: never suspends, is not recorded, fails nothing.

  /// Creates the object, status included, and returns it as stored. The name must be free.
  Json put(const Resource&, Json manifest);
  std::optional<Json> find(const Resource&, const ObjectKey&) const;
  /// Ordered by namespace and name.
  std::vector<Json> all(const Resource&) const;
  /// Edits an object that is there, status and all. No edit, no event.
  void change(const Resource&, const ObjectKey&, const std::function<void(json::object&)>& edit);
  /// Ends it at once, finalizers or not. False if it is not there.
  bool erase(const Resource&, const ObjectKey&);
  /// Deletes, as a user would, what has owners of which none exists any more (by UID), until there
  /// is nothing more to delete. Returns how many.
  std::size_t collect_garbage();

  // Faults. Hooks may suspend the calling fiber.

  using Fault = std::function<std::optional<Error>(const kube::Call&)>;
  /// An error is answered, and nothing done.
  void before(Fault fault) { before_ = std::move(fault); }
  /// It is done, and the error answered.
  void after(Fault fault) { after_ = std::move(fault); }
  /// Each call takes so long, half before and half after it is done.
  void latency(Duration d) { latency_ = d; }
  /// Ends every watch: with success, as the server does now and then, or with an error.
  void cut_watches(std::optional<Error> how = std::nullopt);
  /// A watch from an earlier version gets Expired.
  void forget_history();
  /// Watches that are open now.
  std::size_t watches() const { return watching_; }

  /// Every call and watch so far: "patch etcdmembers/status prod/db-x", "list pods /" ("/": all).
  const std::vector<std::string>& requests() const { return requests_; }
  void forget_requests() { requests_.clear(); }
  /// How many requests began with `prefix`.
  std::ptrdiff_t requests(std::string_view prefix) const;

 private:
  struct Kind {
    FakeKind fake;
    std::map<ObjectKey, Json> objects;
    std::map<ObjectKey, Json> applied;  // The last body of server-side apply.
  };
  struct Change {
    const Kind* kind;
    Json before, after;  // Null: there was, or is, nothing.
  };
  Kind* admit(const kube::Call&);
  bool well_formed(const kube::Call&, const Kind&);
  Kind& kind(const Resource&);
  const Kind& kind(const Resource&) const;
  Result<Json> perform(const kube::Call&, Kind&);
  Result<Json> get(const kube::Call&, const Kind&) const;
  Result<Json> list(const kube::Call&, const Kind&) const;
  Result<Json> create(const kube::Call&, Kind&);
  Result<Json> insert(Kind&, Json object);
  Result<Json> patch(const kube::Call&, Kind&);
  Result<Json> patched(const kube::Call&, Kind&, const Json& now);
  Result<Json> remove(const kube::Call&, Kind&);
  Json begin_end(Kind&, const ObjectKey&, bool at_once);
  Result<Json> store(Kind&, const ObjectKey&, Json next);
  void commit(Kind&, const ObjectKey&, Json before, Json after);
  std::string now() const;
  void misused(const kube::Call&, const std::string& how) const;

  Executor& executor_;
  Misuse misuse_;
  std::map<std::string, Kind> kinds_;
  std::optional<std::vector<kube::Permission>> granted_;
  std::map<std::uint64_t, Change> history_;
  std::uint64_t version_ = 1000, forgotten_ = 0, uids_ = 0, names_ = 0, cuts_ = 0;
  std::optional<Error> cut_how_;
  std::list<Wait*> watchers_;
  std::size_t watching_ = 0;
  std::vector<std::string> requests_;
  Fault before_, after_;
  Duration latency_{0};
};

}  // namespace etcdop::testing
