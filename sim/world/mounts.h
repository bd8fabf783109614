// A Pod's Secrets as its kubelet mounts them, and the resulting TLS of its etcd. Handshakes are
// judged, not performed.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/fiber.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/wall_time.h"
#include "sys/tls.h"
#include "sys/x509.h"

namespace etcdop::sim {

/// One version of a Secret, as files.
struct SecretFiles {
  std::string certificate;  ///< tls.crt
  Secret key;               ///< tls.key
  std::string authority;    ///< ca.crt
};
using SecretVersion = std::shared_ptr<const SecretFiles>;
SecretVersion files_of(const Json& secret);
/// The container of a Pod that runs etcd; the first one if none has its name.
const Json& etcd_container_of(const json::object& pod_spec);

/// A process's TLS port.
struct TlsPort {
  SecretVersion now;      ///< etcd reads certificate and key again in each handshake,
  SecretVersion started;  ///< and the CA when it starts.
  bool asks_clients = false;
};

/// The Secrets mounted in one Pod. A version arrives some time after the API server has it; a
/// deleted Secret stays mounted.
class Mounts {
 public:
  Mounts() = default;
  explicit Mounts(const Json& pod);
  const std::vector<std::string>& names() const { return names_; }
  void bring(const std::string& secret, SecretVersion, Instant when);
  /// etcd starts, and reads its CAs. Returns its last words if it exits at once, else "".
  std::string start(Instant now);
  /// nullopt: plaintext.
  std::optional<TlsPort> client_port(Instant now) const { return port(client_, now); }
  std::optional<TlsPort> peer_port(Instant now) const { return port(peer_, now); }

 private:
  struct Port {
    std::string secret;  // Empty: plaintext.
    bool asks_clients = false;
    SecretVersion started = nullptr;
  };
  struct Brought {
    Instant when;
    SecretVersion version;
  };
  SecretVersion now_of(const std::string& secret, Instant now) const;
  std::optional<TlsPort> port(const Port&, Instant now) const;
  std::vector<std::string> names_;
  std::map<std::string, std::deque<Brought>> brought_;
  Port client_, peer_;
};

/// Verdicts on handshakes; recent verdicts are reused.
class Handshakes {
 public:
  explicit Handshakes(const WallClock& clock) : clock_(clock) {}
  /// The result of dialling, as in sys/tls.h: Denied says which side rejects the other. `name`: the
  /// leaf certificate must be for this name.
  Result<CertificateFacts> judge(const TlsPort&, const std::string& name,
                                 const std::shared_ptr<const TlsClient::Options>& with);
  /// One peer dials the other, each with its own certificate.
  bool agree(const TlsPort& from, const TlsPort& to, const std::string& name);

 private:
  using Options = std::shared_ptr<const TlsClient::Options>;
  struct Verdict {
    Result<CertificateFacts> what;
    WallTime at;
    TlsPort port;  // Kept alive, as the keys point to them.
    Options with;
  };
  Result<CertificateFacts> look(const TlsPort&, const std::string& name, const Options&) const;
  const WallClock& clock_;
  std::map<std::tuple<const void*, const void*, const void*, std::string>, Verdict> known_;
  std::map<std::pair<SecretVersion, SecretVersion>, Options> peers_;  // Options of their dials.
};

}  // namespace etcdop::sim
