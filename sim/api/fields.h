// Who owns which fields of an object: what server-side apply decides by.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace etcdop::sim {

/// The steps to a field; an entry of a list of finalizers or owners is one, too. Other lists are
/// owned as a whole. Who changes an object owns the objects in it that he began as well.
using FieldPath = std::vector<std::string>;
using FieldSet = std::set<FieldPath>;
/// By manager, operation and sub-resource; in the server's words:
/// `"kubectl" using v1`. Empty sets are not kept.
using FieldManagers = std::map<std::string, FieldSet>;

/// The fields that an object applies, without those that are the server's.
FieldSet fields_of(const Json& object);

/// `manager` has made `after` of `before` (null: nothing) by other means than apply.
void note_update(FieldManagers&, const std::string& manager, const Json& before, const Json& after);

/// Server-side apply of `config` to `live`: what the manager had applied and leaves out goes unless
/// somebody else owns it, and the rest is merged in. Conflict: fields of others change, and it is
/// not `forced`.
Result<Json> apply(FieldManagers&, const std::string& manager, bool forced, const Json& live,
                   const Json& config);

}  // namespace etcdop::sim
