// The Secrets of a cluster's TLS, and what is known of them. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "base/wall_time.h"
#include "operator/passes/value_codecs.h"

namespace etcdop {

// Keys of a Secret of type kubernetes.io/tls.
inline constexpr const char* kCertificateKey = "tls.crt";
inline constexpr const char* kPrivateKeyKey = "tls.key";
inline constexpr const char* kAuthorityKey = "ca.crt";

/// The names of the Secrets of a cluster's TLS; empty: none.
struct TlsSecrets {
  std::string server;           ///< For the members' client port.
  std::string operator_client;  ///< The operator's own; if set, etcd asks every client for one.
  std::string peer;
};
TlsSecrets tls_secrets_of(const api::v1alpha2::EtcdCluster&);
/// The Secrets of an existing member, without the operator's own.
TlsSecrets tls_secrets_of(const api::v1alpha2::EtcdMember&);

/// The TLS of a new member of the cluster; nullopt: plaintext.
std::optional<api::v1alpha2::MemberTls> member_tls(const api::v1alpha2::EtcdCluster&);

/// A Secret that the operator creates, where it is the cluster's CA.
struct ManagedSecret {
  enum class Kind { Authority, Server, Client, Peer };
  std::string name;
  Kind kind = Kind::Authority;
  std::string authority;  ///< The Secret of its CA; empty for a CA.
  std::string common_name;
  std::int64_t duration_s = 0;
};
/// The CA of each port first. Each port has its own: a client of the client port is not a peer.
std::vector<ManagedSecret> managed_secrets_of(const api::v1alpha2::EtcdCluster&);

/// The names in a server's certificate, and in a peer's: those of the contract, for a peer also the
/// Service, and for each of `members` its own name. If etcd cannot look up a peer's address in
/// reverse, it looks up the exact names, not the wildcards (its listener_tls.go), and the Service
/// resolves to the addresses of all members. `domain`: "cluster.local".
std::vector<std::string> server_names(const api::ObjectKey& cluster, const std::string& domain,
                                      const std::vector<std::string>& members);
std::vector<std::string> peer_names(const api::ObjectKey& cluster, const std::string& domain,
                                    const std::vector<std::string>& members);

/// More CA certificates than any public bundle has (some 140). To load more blocks all clusters for
/// a part of a second.
inline constexpr std::size_t kAuthoritiesMax = 1000;

/// A Secret with a certificate, as it was last read; without its key.
struct CertificateSeen {
  std::string secret = {};               ///< Its name.
  bool missing = false;                  ///< The Secret does not exist.
  bool ours = false;                     ///< It was made for the cluster.
  bool disowned = false;                 ///< It was, and a user took its owner away.
  bool ownerless = false;                ///< It has no owner.
  std::string unread = {};               ///< Why it could not be read; empty: it was read.
  std::vector<std::string> faults = {};  ///< Faults for any member, in words.
  std::vector<std::string> names = {};   ///< The DNS names and addresses that it covers.
  std::string serial = {};               ///< Hex digits.
  std::string authority = {};            ///< Fingerprint of ca.crt.
  WallTime from = {}, until = {};
  std::int64_t many_authorities = 0;  ///< Certificates in ca.crt, if more than kAuthoritiesMax.
  bool operator==(const CertificateSeen&) const = default;

  template <class S = CertificateSeen>
  static auto describe() {
    return api::value(api::required("secret", &S::secret), api::sparse("missing", &S::missing),
                      api::sparse("ours", &S::ours), api::sparse("disowned", &S::disowned),
                      api::sparse("ownerless", &S::ownerless), api::sparse("unread", &S::unread),
                      api::sparse("faults", &S::faults), api::sparse("names", &S::names),
                      api::sparse("serial", &S::serial), api::sparse("authority", &S::authority),
                      api::sparse("from", &S::from), api::sparse("until", &S::until),
                      api::sparse("manyAuthorities", &S::many_authorities));
  }
};

/// The certificates of a cluster's TLS, or of one member's. Absent: not used.
struct TlsSeen {
  std::optional<CertificateSeen> server, operator_client, peer;
  std::vector<CertificateSeen> managed;  ///< In the order of managed_secrets_of().
  bool operator==(const TlsSeen&) const = default;

  template <class S = TlsSeen>
  static auto describe() {
    return api::value(api::optional("server", &S::server),
                      api::optional("operatorClient", &S::operator_client),
                      api::optional("peer", &S::peer), api::sparse("managed", &S::managed));
  }
};

/// Each Secret once. The pointers point into `tls`.
std::vector<const CertificateSeen*> all_of(const TlsSeen& tls);

/// Whether one of the Secrets could not be read.
bool is_missing(const TlsSeen&);

/// Why a certificate cannot be used, in words that name the Secret and its key; empty: it can.
/// `hosts`: it must cover each of these.
std::string trouble_with(const CertificateSeen&, const std::vector<std::string>& hosts,
                         WallTime now);

/// Whether it covers that host, by its own name or by a wildcard.
bool is_for(const CertificateSeen&, const std::string& host);

/// The first such fault of the members' certificates; `hosts`: the members' names in URLs.
std::string trouble_with(const TlsSeen&, const std::vector<std::string>& hosts, WallTime now);

}  // namespace etcdop
