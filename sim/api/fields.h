// The field owners of an object, on which server-side apply decides.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace etcdop::sim {

/// The steps to a field; an entry of a list of finalizers or owners counts as a field. Other lists
/// are owned as a whole. A manager that changes an object also owns the objects in it that it
/// created.
using FieldPath = std::vector<std::string>;
using FieldSet = std::set<FieldPath>;
/// Keyed by manager, operation and sub-resource, in the server's words: `"kubectl" using v1`. Empty
/// sets are not kept.
using FieldManagers = std::map<std::string, FieldSet>;

/// The fields that an object applies, without those that the server sets.
FieldSet fields_of(const Json& object);

/// `manager` changed `before` (null: nothing) into `after` by other means than apply.
void note_update(FieldManagers&, const std::string& manager, const Json& before, const Json& after);

/// Server-side apply of `config` to `live`. Fields that the manager applied before and omits now
/// are removed, unless another manager owns them; the rest is merged. Conflict: fields of other
/// managers change, and the apply is not `forced`.
Result<Json> apply(FieldManagers&, const std::string& manager, bool forced, const Json& live,
                   const Json& config);

}  // namespace etcdop::sim
