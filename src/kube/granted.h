// The Kubernetes API restricted to a table of permissions: a call without a row in the table does
// not compile.
#pragma once
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kube/typed.h"

namespace etcdop::kube {

/// The part of an object that a call is about: RBAC can grant a part.
enum class Part { Whole, Status };

constexpr const char* subresource_of(Part part) { return part == Part::Status ? "status" : ""; }

/// The requests of typed.h, each only for the kinds, parts and verbs that have a row in `table`, a
/// constexpr array of Permission. Code that calls the API takes one of these instead of an Api. So
/// the table, and the RBAC made from it, cannot miss a call.
template <const auto& table>
class Granted {
 public:
  /// The API outlives this.
  Granted(Api& api) : api_(api) {}
  /// Narrows another Granted, whose table contains all rows of this one.
  template <const auto& wider>
  Granted(const Granted<wider>& other) : api_(other.api_) {
    static_assert(covered_by(wider),
                  "not granted: a row of this table is not in the caller's (rbac.h): add it there, "
                  "then ./dev gen");
  }

  /// The table as a list.
  static std::vector<Permission> permissions() { return {std::begin(table), std::end(table)}; }

  template <class T>
  Result<T> get(const ObjectKey& key) const {
    needs<T, Verb::Get>();
    return kube::get<T>(api_, key);
  }
  template <class T>
  Result<std::vector<T>> list(const std::string& ns, const std::string& label_selector,
                              const Wanted& wanted = {}) const {
    needs<T, Verb::List>();
    return kube::list<T>(api_, ns, label_selector, wanted);
  }
  /// As Api::watch, for one namespace.
  template <class T>
  Result<Done> watch(const std::string& ns, std::map<std::string, std::string> query,
                     const std::function<bool(WatchEvent)>& each) const {
    needs<T, Verb::Watch>();
    return api_.watch({Verb::Watch, T::resource, ns, {}, {}, {}, std::move(query), {}}, each);
  }
  template <class T>
  Result<T> create(const std::string& ns, Json body) const {
    needs<T, Verb::Create>();
    return kube::create<T>(api_, ns, std::move(body));
  }
  template <class T, Part part = Part::Whole>
  Result<T> merge_patch(const ObjectKey& key, Json patch) const {
    needs<T, Verb::Patch, part>();
    return kube::merge_patch<T>(api_, key, subresource_of(part), std::move(patch));
  }
  template <class T>
  Result<T> json_patch(const ObjectKey& key, Json operations) const {
    needs<T, Verb::Patch>();
    return kube::json_patch<T>(api_, key, std::move(operations));
  }
  template <class T>
  Result<std::optional<T>> remove(const ObjectKey& key, const std::string& uid) const {
    needs<T, Verb::Delete>();
    return kube::remove<T>(api_, key, uid);
  }
  template <class T>
  Result<std::optional<T>> remove_unchanged(const api::ObjectMeta& read) const {
    needs<T, Verb::Delete>();
    return kube::remove_unchanged<T>(api_, read);
  }
  /// The API itself, only for a Reflector of T.
  template <class T>
  Api& to_mirror() const {
    needs<T, Verb::List>();
    needs<T, Verb::Watch>();
    return api_;
  }

 private:
  template <const auto& other>
  friend class Granted;

  template <class T, Verb verb, Part part = Part::Whole>
  static constexpr void needs() {
    static_assert(grants(table, T::resource, subresource_of(part), {verb}),
                  "not granted: add this verb to this kind's row in this table (rbac.h, leader.h), "
                  "then ./dev gen");
  }
  static constexpr bool covered_by(std::span<const Permission> wider) {
    for (const Permission& row : table)
      if (!grants(wider, row.resource, row.subresource, row.verbs)) return false;
    return true;
  }

  Api& api_;
};

}  // namespace etcdop::kube
