#include "operator/cluster/served_certificates.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "api/v1alpha2/names.h"
#include "operator/cluster/security.h"
#include "operator/passes/side_by_side.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;

constexpr Duration kPauseMin = 5s, kPauseMax = 1min;  // Between handshakes with a member that lags.

}  // namespace

/// Asks both ports of one member, as far as they use TLS.
void ServedCertificates::ask(const TlsSeen& tls, etcd::Endpoint where, const PeerDial& peers,
                             Seat::Shown& shown) const {
  shown.silent = false;
  const auto look = [&](std::int32_t port, std::string& serial) {
    if (auto leaf = handshake_(where, port)) serial = leaf->serial;
    else shown.silent = true;
  };
  if (tls.server && where.tls) look(v1::kClientPort, shown.client_port);
  where.tls = peers;
  if (tls.peer && where.tls) look(v1::kPeerPort, shown.peer_port);
}

void ServedCertificates::note(Known& known, const TlsSeen& tls) const {
  const Instant now = executor_.now();
  known.pause = std::clamp(2 * known.pause, kPauseMin, kPauseMax);
  known.again = now + known.pause;
  if (shows_all(known.shown, tls)) known = {.address = known.address, .shown = known.shown};
  else if (!known.behind_since) known.behind_since = now;
}

void ServedCertificates::look(Observation& seen, const Endpoints& endpoints,
                              Certificates& certificates) {
  if (seen.tls == TlsSeen{}) return;
  PeerDial peers;
  auto& all = known_[seen.cluster.metadata.key()];
  std::erase_if(all, [&](const auto& one) {
    return std::ranges::none_of(
        seen.seats, [&](const Seat& s) { return s.object && s.object->uid == one.first; });
  });
  std::vector<Known*> asked;
  std::vector<std::function<void()>> calls;
  for (const Seat& seat : seen.seats) {
    const auto at = endpoints.find(seat.name);
    if (!seat.answer || !seat.object || at == endpoints.end()) continue;
    Known& known = all[seat.object->uid];
    if (known.address != at->second.address) known = {.address = at->second.address};
    if (shows_all(known.shown, seen.tls) || executor_.now() < known.again) continue;
    asked.push_back(&known);
    calls.emplace_back([this, &seen, &peers, &known, where = at->second] {
      ask(seen.tls, where, peers, known.shown);
    });
  }
  if (!asked.empty()) peers = certificates.peer_dial(seen.cluster);
  side_by_side(executor_, calls);
  for (Known* const known : asked) note(*known, seen.tls);
  for (Seat& seat : seen.seats) {
    const auto known = seat.object ? all.find(seat.object->uid) : all.end();
    if (known == all.end()) continue;
    seat.shown = known->second.shown;
    if (const auto since = known->second.behind_since)
      seat.shown.behind_s =
          std::chrono::duration_cast<std::chrono::seconds>(executor_.now() - *since).count();
  }
}

}  // namespace etcdop::cluster
