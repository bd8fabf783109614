// The names of a new member of a cluster, and of a member's volume.
#pragma once
#include <cstdint>
#include <string>

namespace etcdop {

/// "<cluster>-" and five characters that follow from the cluster's UID and the sequence.
std::string member_name(const std::string& cluster, const std::string& uid, std::int64_t sequence);

inline constexpr const char* kVolumePrefix = "data-";
/// "data-<member>": the PersistentVolumeClaim of a member.
inline std::string volume_name(const std::string& member) { return kVolumePrefix + member; }

}  // namespace etcdop
