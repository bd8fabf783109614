// The Secrets of a Pod, as its kubelet brings them there, and the TLS that its etcd makes of them.
// Handshakes are judged, not made.
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

/// A port with TLS of a process.
struct TlsPort {
  SecretVersion now;      ///< etcd reads leaf and key again in each handshake,
  SecretVersion started;  ///< and the authority when it starts.
  bool asks_clients = false;
};

/// The Secrets that one Pod has mounted. A version is there some time after the API server has it;
/// one that is deleted stays.
class Mounts {
 public:
  Mounts() = default;
  explicit Mounts(const Json& pod);
  const std::vector<std::string>& names() const { return names_; }
  void bring(const std::string& secret, SecretVersion, Instant when);
  /// etcd starts, and reads its authorities. Its last words, if it ends at once; else empty.
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

/// Verdicts on handshakes: who has met lately is not judged anew.
class Handshakes {
 public:
  explicit Handshakes(const WallClock& clock) : clock_(clock) {}
  /// What dialling gives, as sys/tls.h has it: Denied says who does not take whom. `name`: whom the
  /// leaf must be for.
  Result<CertificateFacts> judge(const TlsPort&, const std::string& name,
                                 const std::shared_ptr<const TlsClient::Options>& with);
  /// One peer dials the other, each with its own.
  bool agree(const TlsPort& from, const TlsPort& to, const std::string& name);

 private:
  using Options = std::shared_ptr<const TlsClient::Options>;
  struct Verdict {
    Result<CertificateFacts> what;
    WallTime at;
    TlsPort port;  // These three are alive as long as it is.
    Options with;
  };
  Result<CertificateFacts> look(const TlsPort&, const std::string& name, const Options&) const;
  const WallClock& clock_;
  std::map<std::tuple<const void*, const void*, const void*, std::string>, Verdict> known_;
  std::map<std::pair<SecretVersion, SecretVersion>, Options> peers_;  // What they dial with.
};

}  // namespace etcdop::sim
