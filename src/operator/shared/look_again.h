// After a write that was refused as stale, or whose answer never came: what the server has now.
#pragma once
#include <string>

#include "base/result.h"
#include "kube/store.h"

namespace etcdop {

/// Whether the cache may be behind what this result tells of.
template <class T>
bool leaves_doubt(const Result<T>& written) {
  return written.failed_with(Code::Conflict) || written.failed_with(Code::Lost) ||
         written.failed_with(Code::TimedOut);
}

/// Reads the object and puts it into the store, ahead of the watch, which may be behind by minutes:
/// without this the same stale write would be sent again and again. What cannot be read now stays
/// as it is.
template <class T, class Api>
void look_again(const Api& api, kube::Store<T>& store, const api::ObjectKey& key,
                const std::string& uid) {
  auto now = api.template get<T>(key);
  if (now) store.wrote(std::move(*now));
  else if (now.failed_with(Code::NotFound)) store.saw_deleted(key, uid);
}

}  // namespace etcdop
