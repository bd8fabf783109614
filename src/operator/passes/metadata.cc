#include "operator/passes/metadata.h"

#include <map>
#include <string>

#include "api/v1alpha2/names.h"

namespace etcdop {
namespace {

void add(json::object& metadata, const char* where,
         const std::map<std::string, std::string>& wanted) {
  for (const auto& [key, value] : wanted) {
    if (key.starts_with(api::v1alpha2::kReservedPrefix)) continue;
    if (!metadata.contains(where)) metadata[where] = json::object();
    json::object& there = metadata[where].as_object();
    if (!there.contains(key)) there[key] = value;
  }
}

}  // namespace

void add_metadata(json::object& metadata,
                  const std::optional<api::v1alpha2::AdditionalMetadata>& additional) {
  if (!additional) return;
  add(metadata, "labels", additional->labels);
  add(metadata, "annotations", additional->annotations);
}

}  // namespace etcdop
