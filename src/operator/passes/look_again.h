// Reads an object from the server: after a write that was refused as stale or whose answer was
// lost, or where the watch may be behind.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "kube/store.h"

namespace etcdop {

/// Whether the cache may be behind after this result.
template <class T>
bool leaves_doubt(const Result<T>& written) {
  return written.failed_with(Code::Conflict) || written.failed_with(Code::Lost) ||
         written.failed_with(Code::TimedOut);
}

/// Reads the object and puts it into the store, ahead of the watch, which may be behind by minutes.
/// Otherwise the same stale write would be sent again and again. If the read fails, the store stays
/// as it is.
template <class T, class Api>
void look_again(const Api& api, kube::Store<T>& store, const api::ObjectKey& key,
                const std::string& uid) {
  auto now = api.template get<T>(key);
  if (now) store.wrote(std::move(*now));
  else if (now.failed_with(Code::NotFound)) store.saw_deleted(key, uid);
}

/// Reads the object with that name; nullopt: not found. An error names the object.
template <class T, class Api>
Result<std::optional<T>> look_for(const Api& api, const api::ObjectKey& key) {
  auto there = api.template get<T>(key);
  if (there) return std::optional(std::move(*there));
  if (there.failed_with(Code::NotFound)) return std::optional<T>();
  return Error(there.error())
      .during(std::string("look for ") + T::resource.kind + " " + to_string(key));
}

}  // namespace etcdop
