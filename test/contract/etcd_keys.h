// Keys, and alarms raised from outside: calls that our client does not make.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "etcd/errors.h"
#include "test/contract/etcds.h"

namespace etcdop::contract {

/// Calls of one node. Errors are those of etcd::to_error, with etcd's text.
class Keys {
 public:
  Keys(Etcds& etcds, std::size_t node, Secret token = {})
      : etcds_(etcds), node_(node), token_(std::move(token)) {}

  /// The put's revision.
  Result<std::int64_t> put(const std::string& key, const std::string& value) const;
  struct Found {
    std::string key, value;
    std::int64_t created = 0, modified = 0, version = 0;
    bool operator==(const Found&) const = default;
  };
  struct Range {
    std::string key, end = "";  ///< As in etcd: [key, end).
    std::int64_t revision = 0;  ///< 0: now.
    bool serializable = false;
  };
  Result<std::vector<Found>> get(const Range& range) const;
  /// How many existed, and the revision.
  Result<std::pair<std::int64_t, std::int64_t>> erase(const std::string& key,
                                                      const std::string& end = "") const;
  /// When it returns, the keys are compacted on disk, too.
  Result<std::int64_t> compact(std::int64_t revision) const;
  Result<Done> raise(const etcd::Alarm& alarm) const;

 private:
  template <class Answer, class Question>
  Result<Answer> ask(const std::string& method, const Question& question,
                     etcd::Asks asks = etcd::Asks::Write) const;

  Etcds& etcds_;
  const std::size_t node_;
  const Secret token_;
};

}  // namespace etcdop::contract
