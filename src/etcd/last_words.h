// What an etcd that has ended said of its data, in the last lines of its log.
#pragma once
#include <string_view>

namespace etcdop::etcd {

enum class DataVerdict {
  Unknown,  ///< It says nothing about its data.
  Lost,     ///< Its log is gone: a member that has started before would begin with nothing.
  Corrupt,  ///< It is there and cannot be read.
};

/// `said`: the end of the log, 2 KB are enough. `has_started`: it is a member that once ran; one
/// that is new says some of the same words where only its list of members is old. The words are
/// those of 3.5, 3.6 and 3.7; test/contract asks real ones.
DataVerdict verdict_of(std::string_view said, bool has_started);

}  // namespace etcdop::etcd
