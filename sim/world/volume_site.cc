#include "sim/world/volume_site.h"

#include "sim/etcd/data_dir.h"
#include "sim/world/checker.h"

namespace etcdop::sim {

using namespace std::chrono_literals;

VolumeSite::VolumeSite(Passage& passage, SiteTrouble& trouble, DataDir& dir, Scratch& scratch)
    : passage_(passage), trouble_(trouble), dir_(dir), scratch_(scratch) {}

/// Makes the call, unless the process dies before it.
template <class Call>
auto VolumeSite::through(const std::string& what, const Call& call) -> decltype(call()) {
  Passage& p = passage_;
  if (auto there = p.travel(p.dice.between(100us, 3ms)); !there) return there.error();
  if (p.before_write && !p.before_write(what)) return p.killed();
  if (p.dead) return p.killed();
  auto answer = call();
  if (p.dead) return p.killed();
  p.trace.add(p.who, what + (answer ? "" : ": " + answer.error().message));
  if (p.after_write && !p.after_write(what)) return p.killed();
  return answer;
}

Result<bool> VolumeSite::has_member() {
  return through("has_member", [&] { return Result<bool>(dir_.owner.has_value()); });
}

Result<Done> VolumeSite::find_tool() {
  return through("find_tool", [&] {
    return trouble_.tool_missing ? Result<Done>(Error{Code::NotFound, "there is no etcdutl"})
                                 : Result<Done>(Done{});
  });
}

Result<Done> VolumeSite::sweep() {
  return through("sweep", [&] {
    scratch_ = {};
    return Result<Done>(Done{});
  });
}

Result<std::uint64_t> VolumeSite::free_bytes() {
  return through("free_bytes", [&] {
    const std::uint64_t used = scratch_.snapshot ? scratch_.snapshot->size() : 0;
    return Result<std::uint64_t>(trouble_.free_bytes - std::min(used, trouble_.free_bytes));
  });
}

Result<Done> VolumeSite::create() {
  return through("create", [&] {
    if (!scratch_.is_clean())
      passage_.checker.violated("misuse", passage_.who + " begins among leftovers");
    scratch_ = {};
    scratch_.snapshot.emplace();
    return Result<Done>(Done{});
  });
}

Result<Done> VolumeSite::write(std::string_view bytes) {
  return through("write", [&]() -> Result<Done> {
    check(scratch_.snapshot && !scratch_.finished, "a file is written between create and finish");
    if (scratch_.snapshot->size() + bytes.size() > trouble_.free_bytes)
      return Error{Code::Unavailable, "no space left on device"};
    *scratch_.snapshot += bytes;
    return Done{};
  });
}

Result<Done> VolumeSite::finish() {
  return through("finish", [&] {
    scratch_.finished = true;
    return Result<Done>(Done{});
  });
}

Result<agent::DatabaseFacts> VolumeSite::inspect() {
  return through("inspect", [&]() -> Result<agent::DatabaseFacts> {
    check(scratch_.snapshot && scratch_.finished, "a file is inspected once it is finished");
    auto image = image_of(*scratch_.snapshot);
    if (!image) return Error{Code::Corrupt, "no database of etcd"};
    return agent::DatabaseFacts{
        .etcd_version = image->minor < 0 ? "" : "3." + std::to_string(image->minor),
        .auth_enabled = image->users.enabled(),
        .revision = image->store.revision(),
        .newest_key = image->store.newest_key()};
  });
}

/// Takes some time; a process that dies meanwhile leaves a partial result.
Result<Done> VolumeSite::rebuild(const agent::Rebuild& wanted) {
  Passage& p = passage_;
  check(scratch_.snapshot && scratch_.finished, "a file is rebuilt once it is finished");
  scratch_.begun = true;
  if (auto worked = p.travel(p.dice.between(20ms, 2s)); !worked) return worked.error();
  return through("rebuild", [&]() -> Result<Done> {
    if (trouble_.tool_fails > 0) {
      --trouble_.tool_fails;
      return Error{Code::Lost, "etcdutl ended with 1"};
    }
    auto made = rebuilt(*scratch_.snapshot, {.name = wanted.member_name,
                                             .initial_cluster = wanted.initial_cluster,
                                             .token = wanted.initial_cluster_token,
                                             .peer_urls = wanted.peer_urls,
                                             .bump_revision = wanted.bump_revision});
    if (!made) return made.error();
    scratch_.rebuilt = *made;
    return Done{};
  });
}

Result<Done> VolumeSite::commit() {
  return through("commit", [&]() -> Result<Done> {
    if (dir_.owner || dir_.in_use) {
      passage_.checker.violated("I4", passage_.who + " restores over a member");
      return Error{Code::AlreadyExists, "there is a member"};
    }
    check(scratch_.rebuilt != nullptr, "only what is whole becomes a member");
    move_into(dir_, *scratch_.rebuilt);
    scratch_.rebuilt = nullptr;
    scratch_.begun = false;
    return Done{};
  });
}

}  // namespace etcdop::sim
