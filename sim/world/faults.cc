#include "sim/world/faults.h"

namespace etcdop::sim {
namespace {

constexpr const char* kNames[] = {
    "api-slow",       "api-refused",   "api-lost",        "api-late",        "api-conflict",
    "api-outage",     "watch-cut",     "watch-lag",       "watch-silent",    "watch-expired",
    "etcd-slow",      "etcd-lost",     "etcd-black-hole", "operator-crash",  "operator-pause",
    "clock-jump",     "clock-rate",    "lease-edited",    "node-down",       "etcd-killed",
    "pod-killed",     "pod-evicted",   "image-errors",    "slow-start",      "dns-lag",
    "stale-address",  "partition",     "slow-snapshots",  "forgetful-peers", "quota",
    "user-spec",      "user-version",  "user-members",    "user-services",   "user-etcdctl",
    "user-cluster",   "volume-lost",   "volume-corrupt",  "user-password",   "user-secrets",
    "user-snapshots", "user-restores", "user-in-place",   "user-jobs",       "user-objects",
    "agent-killed",   "store-faults"};
constexpr auto kCount = static_cast<std::size_t>(Fault::kCount);
static_assert(std::size(kNames) == kCount);

}  // namespace

const char* to_string(Fault f) { return kNames[static_cast<std::size_t>(f)]; }

void Faults::set(Fault f, bool on) {
  const std::uint64_t bit = std::uint64_t(1) << static_cast<unsigned>(f);
  set_ = on ? set_ | bit : set_ & ~bit;
}

Faults Faults::draw(Dice& dice) {
  Faults out;
  const std::uint64_t density = dice.below(70);  // Percent.
  for (std::size_t i = 0; i < kCount; ++i) out.set(static_cast<Fault>(i), dice.percent(density));
  // Losing data for good is rarer: such worlds cannot show much else.
  for (const Fault f : {Fault::VolumeLost, Fault::VolumeCorrupt})
    if (!dice.one_in(4)) out.set(f, false);
  return out;
}

Result<Faults> Faults::parse(std::string_view text) {
  Faults out;
  if (text == "none") return out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    bool known = false;
    for (std::size_t i = 0; i < kCount; ++i)
      if (name == "all" || name == kNames[i]) {
        out.set(static_cast<Fault>(i));
        known = true;
      }
    if (!known) return Error{Code::Invalid, "there is no fault \"" + std::string(name) + "\""};
  }
  return out;
}

std::vector<Fault> Faults::list() const {
  std::vector<Fault> out;
  for (std::size_t i = 0; i < kCount; ++i)
    if (has(static_cast<Fault>(i))) out.push_back(static_cast<Fault>(i));
  return out;
}

std::string Faults::text() const {
  std::string out;
  for (const Fault f : list()) (out += out.empty() ? "" : ",") += to_string(f);
  return out.empty() ? "none" : out;
}

}  // namespace etcdop::sim
