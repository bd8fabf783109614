// The etcd that a simulated verification starts on the rebuilt data, and throws away.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "agent/scratch_etcd.h"
#include "sim/etcd/store.h"
#include "sim/world/doors.h"
#include "sim/world/volume_site.h"

namespace etcdop::sim {

/// The passage sees its calls like those of a store: "etcd start", "etcd hash_kv"...
class ScratchImage final : public agent::ScratchEtcd {
 public:
  /// All arguments outlive this.
  ScratchImage(Passage&, SiteTrouble&, const Scratch&);
  Result<Done> start() override;
  Result<etcd::KeyHash> hash_kv(std::int64_t revision) override;
  Result<std::int64_t> count(std::int64_t revision) override;
  Result<std::string> digest(std::int64_t revision) override;
  void stop() override { runs_ = false; }

 private:
  template <class Answer>
  Result<Answer> ask(const std::string& what, std::int64_t revision,
                     const std::function<Answer(const Store&)>& answer);
  Passage& passage_;
  SiteTrouble& trouble_;
  const Scratch& scratch_;
  bool runs_ = false;
};

}  // namespace etcdop::sim
