// Typed requests over kube::Api. T has `static constexpr Resource resource` and a description
// (api/describe.h).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/describe.h"
#include "kube/api.h"
#include "kube/list_pages.h"

namespace etcdop::kube {

/// Decodes the server's answer; Corrupt, with the field's path, if it does not match the schema.
template <class T>
Result<T> decoded(Result<Json> answer) {
  if (!answer) return answer.error();
  T object;
  if (auto ok = api::decode(*answer, object, T::resource.kind); !ok)
    return Error{Code::Corrupt, ok.error().message};
  return object;
}

template <class T>
Result<T> get(Api& api, const ObjectKey& key) {
  return decoded<T>(api.call({Verb::Get, T::resource, key.ns, key.name, {}, {}, {}, {}}));
}

/// Whether an object of a list is wanted; called as each is read.
using Wanted = std::function<bool(const Json&)>;

/// Every object of a namespace ("": of all) that matches the selector ("": all objects) and is
/// wanted, page by page. Corrupt if one of these cannot be decoded; a Reflector skips such objects.
/// An object that is not wanted takes no memory, and need not be readable.
template <class T>
Result<std::vector<T>> list(Api& api, const std::string& ns, const std::string& label_selector,
                            const Wanted& wanted = {}) {
  Call call{Verb::List, T::resource, ns, {}, {}, {}, {}, {}};
  if (!label_selector.empty()) call.query["labelSelector"] = label_selector;
  std::vector<T> out;
  Result<Done> read = Done{};
  auto version = list_pages(
      api, std::move(call), [&] { out.clear(); },
      [&](const Json& item) {
        if (wanted && !wanted(item)) return;
        out.emplace_back();
        if (auto ok = api::decode(item, out.back(), T::resource.kind); !ok)
          read = Error{Code::Corrupt, ok.error().message};
      });
  if (!version) return version.error();
  if (!read) return read.error();
  return out;
}

/// `body` is the whole manifest; apiVersion and kind are set here.
template <class T>
Result<T> create(Api& api, const std::string& ns, Json body) {
  body.as_object()["apiVersion"] = api::api_version(T::resource);
  body.as_object()["kind"] = T::resource.kind;
  return decoded<T>(api.call({Verb::Create, T::resource, ns, {}, {}, {}, {}, std::move(body)}));
}

/// `patch` may carry metadata.uid and metadata.resourceVersion as preconditions: Conflict if they
/// differ. For a subresource the server compares the version only.
template <class T>
Result<T> merge_patch(Api& api, const ObjectKey& key, const std::string& subresource, Json patch) {
  return decoded<T>(api.call({Verb::Patch,
                              T::resource,
                              key.ns,
                              key.name,
                              subresource,
                              PatchType::Merge,
                              {},
                              std::move(patch)}));
}

/// `operations` is a list as in RFC 6902; Conflict if a `test` among them fails.
template <class T>
Result<T> json_patch(Api& api, const ObjectKey& key, Json operations) {
  return decoded<T>(api.call({Verb::Patch,
                              T::resource,
                              key.ns,
                              key.name,
                              {},
                              PatchType::Json,
                              {},
                              std::move(operations)}));
}

/// Whether the answer to a delete is an object that still exists. Some kinds (Service, Pod) answer
/// with the last state of a deleted object, others with a Status.
bool is_kept(const Json& deleted, const char* kind);

/// The object that a delete has answered with, while something (a finalizer, a grace period) keeps
/// it; nullopt: it is deleted.
template <class T>
Result<std::optional<T>> kept(Result<Json> deleted) {
  if (deleted.failed_with(Code::NotFound)) return std::optional<T>();
  if (!deleted) return deleted.error();
  if (!is_kept(*deleted, T::resource.kind)) return std::optional<T>();
  auto object = decoded<T>(std::move(deleted));
  if (!object) return object.error();
  return std::optional<T>(std::move(*object));
}

/// Deletes the object with that UID, and no other, in the background. Returns the object while
/// something keeps it; nullopt, a success, if the object is deleted or has another UID.
template <class T>
Result<std::optional<T>> remove(Api& api, const ObjectKey& key, const std::string& uid) {
  auto gone = api.call({Verb::Delete,
                        T::resource,
                        key.ns,
                        key.name,
                        {},
                        {},
                        {},
                        {{"preconditions", {{"uid", uid}}}, {"propagationPolicy", "Background"}}});
  if (gone.failed_with(Code::Conflict)) return std::optional<T>();
  return kept<T>(std::move(gone));
}

/// The same, if the object still is as it was read. Conflict: it has changed, or is another one.
template <class T>
Result<std::optional<T>> remove_unchanged(Api& api, const api::ObjectMeta& read) {
  return kept<T>(
      api.call({Verb::Delete,
                T::resource,
                read.ns,
                read.name,
                {},
                {},
                {},
                {{"preconditions", {{"uid", read.uid}, {"resourceVersion", read.resource_version}}},
                 {"propagationPolicy", "Background"}}}));
}

}  // namespace etcdop::kube
