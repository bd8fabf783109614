// Reads what an ended etcd said about its data, from the last lines of its log.
#pragma once
#include <string_view>

namespace etcdop::etcd {

enum class DataVerdict {
  Unknown,  ///< They say nothing about its data.
  Lost,     ///< Its log is missing: a member that has started before would begin empty.
  Corrupt,  ///< Its data exists but cannot be read.
};

/// `said`: the end of the log, 2 KB are enough. `has_started`: the member ran before. A new member
/// says some of the same words when only its member list is old. The words are those of 3.5, 3.6
/// and 3.7; test/contract checks them with real etcds.
DataVerdict verdict_of(std::string_view said, bool has_started);

}  // namespace etcdop::etcd
