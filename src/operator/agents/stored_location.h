// The place of the data that an EtcdSnapshot has stored. Pure.
#pragma once
#include <string>
#include <string_view>

#include "api/v1alpha2/etcdsnapshot.h"

namespace etcdop {

/// "a/b" for "/a//b/": the folder, or the file in a volume, that the agents use for this path.
std::string segments_of(std::string_view path);

/// The location in its spec, but key or subPath names the stored object or file itself, as in
/// status.artifact. If nothing is stored: the location in its spec.
api::v1alpha2::SnapshotLocation stored_location(const api::v1alpha2::EtcdSnapshot& of);

/// Whether a source, which an object in that namespace names, is what this EtcdSnapshot has stored.
/// Endpoints are not compared: one store may have several.
bool is_source(const api::v1alpha2::SnapshotLocation& source, const std::string& ns,
               const api::v1alpha2::EtcdSnapshot& of);

}  // namespace etcdop
