// Where an EtcdSnapshot's own bytes lie. Pure.
#pragma once
#include <string>
#include <string_view>

#include "api/v1alpha2/etcdsnapshot.h"

namespace etcdop {

/// "a/b" of "/a//b/": the folder, or the file of a volume, that the agents take it for.
std::string segments_of(std::string_view path);

/// As its spec says, but with key or subPath naming the object or file itself, as status.artifact
/// has it. One that has stored nothing: as the spec says.
api::v1alpha2::SnapshotLocation stored_location(const api::v1alpha2::EtcdSnapshot& of);

/// Whether a source, named by an object of that namespace, is what this EtcdSnapshot has stored.
/// Endpoints are not compared: one store may have several.
bool is_source(const api::v1alpha2::SnapshotLocation& source, const std::string& ns,
               const api::v1alpha2::EtcdSnapshot& of);

}  // namespace etcdop
