#include "sim/world/scratch_etcd.h"

#include "etcd/key_digest.h"
#include "sim/etcd/data_dir.h"

namespace etcdop::sim {

using namespace std::chrono_literals;

namespace {

const std::string kToTheEnd(1, '\0');

}  // namespace

ScratchImage::ScratchImage(Passage& passage, SiteTrouble& trouble, const Scratch& scratch)
    : passage_(passage), trouble_(trouble), scratch_(scratch) {}

/// Takes some time, as an election does.
Result<Done> ScratchImage::start() {
  Passage& p = passage_;
  check(scratch_.rebuilt != nullptr, "etcd is started on what was rebuilt");
  if (auto there = p.travel(p.dice.between(100ms, 3s)); !there) return there.error();
  if (p.before_write && !p.before_write("etcd start")) return p.killed();
  if (p.dead) return p.killed();
  p.trace.add(p.who, "etcd start");
  if (trouble_.etcd_fails > 0) {
    --trouble_.etcd_fails;
    return Error{Code::Lost, "etcd ended with 1"};
  }
  runs_ = true;
  if (p.after_write && !p.after_write("etcd start")) return p.killed();
  return Done{};
}

template <class Answer>
Result<Answer> ScratchImage::ask(const std::string& what, std::int64_t revision,
                                 const std::function<Answer(const Store&)>& answer) {
  Passage& p = passage_;
  check(runs_, "etcd is asked while it runs");
  if (auto there = p.travel(p.dice.between(1ms, 50ms)); !there) return there.error();
  if (p.before_write && !p.before_write("etcd " + what)) return p.killed();
  if (p.dead) return p.killed();
  const Store& store = scratch_.rebuilt->restored->image.store;
  if (const Refusal refusal = store.must_have(revision); refusal.code != 0)
    return Error{Code::Invalid, refusal.text};
  p.trace.add(p.who, "etcd " + what);
  return answer(store);
}

Result<etcd::KeyHash> ScratchImage::hash_kv(std::int64_t revision) {
  return ask<etcd::KeyHash>("hash_kv", revision, [revision](const Store& store) {
    return etcd::KeyHash{store.hash(revision == 0 ? store.revision() : revision), store.revision(),
                         store.compacted()};
  });
}

Result<std::int64_t> ScratchImage::count(std::int64_t revision) {
  return ask<std::int64_t>("count", revision, [revision](const Store& store) {
    return static_cast<std::int64_t>(store.range(kToTheEnd, kToTheEnd, revision).size());
  });
}

Result<std::string> ScratchImage::digest(std::int64_t revision) {
  return ask<std::string>("digest", revision, [revision](const Store& store) {
    etcd::KeyDigest sum;
    for (const Store::Found& one : store.range(kToTheEnd, kToTheEnd, revision))
      sum.add({one.key, one.version->value, one.version->created, one.version->revision,
               one.version->count});
    return sum.text();
  });
}

}  // namespace etcdop::sim
