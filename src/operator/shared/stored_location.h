// Where an EtcdSnapshot's own bytes lie. Pure.
#pragma once
#include <string>

#include "api/v1alpha2/etcdsnapshot.h"

namespace etcdop {

/// As its spec says, but with key or subPath naming the object or file itself, as status.artifact
/// has it. One that has stored nothing: as the spec says.
api::v1alpha2::SnapshotLocation stored_location(const api::v1alpha2::EtcdSnapshot& of);

/// Whether a source, named by an object of that namespace, is what this EtcdSnapshot has stored.
/// Endpoints are not compared: one store may have several.
bool is_source(const api::v1alpha2::SnapshotLocation& source, const std::string& ns,
               const api::v1alpha2::EtcdSnapshot& of);

}  // namespace etcdop
