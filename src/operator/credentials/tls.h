// A cluster's TLS: which Secrets it comes from, and what is known of these. Pure.
#pragma once
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

/// Names of the Secrets that a cluster's TLS comes from; empty: none.
struct TlsSecrets {
  std::string server;           ///< Of the members' client port.
  std::string operator_client;  ///< What the operator shows; set: etcd asks every client for one.
  std::string peer;
};
TlsSecrets tls_secrets_of(const api::v1alpha2::EtcdCluster&);
/// Of a member that was made: the operator's own is not among them.
TlsSecrets tls_secrets_of(const api::v1alpha2::EtcdMember&);

/// What a new member of the cluster is made with; nullopt: plaintext.
std::optional<api::v1alpha2::MemberTls> member_tls(const api::v1alpha2::EtcdCluster&);

/// A Secret that the operator makes, where it is the cluster's authority.
struct ManagedSecret {
  enum class Kind { Authority, Server, Client, Peer };
  std::string name;
  Kind kind = Kind::Authority;
  std::string authority;  ///< The Secret of who signs it; of an authority: empty.
  std::string common_name;
  std::int64_t duration_s = 0;
};
/// The authority of each port first. Each has its own: who may speak to clients' port is no peer.
std::vector<ManagedSecret> managed_secrets_of(const api::v1alpha2::EtcdCluster&);

/// The names of a server's certificate, and of a peer's: those of the contract, of a peer's the
/// Service too, and of each of `members` its own. An etcd that cannot look up a peer's address
/// backwards looks up the exact names, not the wildcards (its listener_tls.go), and the Service has
/// the addresses of all members. `domain`: "cluster.local".
std::vector<std::string> server_names(const api::ObjectKey& cluster, const std::string& domain,
                                      const std::vector<std::string>& members);
std::vector<std::string> peer_names(const api::ObjectKey& cluster, const std::string& domain,
                                    const std::vector<std::string>& members);

/// A Secret with a certificate, as it was last read: nothing of its key.
struct CertificateSeen {
  std::string secret = {};               ///< Its name.
  bool missing = false;                  ///< There is no such Secret.
  bool ours = false;                     ///< Its owner is the cluster.
  std::string unread = {};               ///< Why there is none to look at; empty: it was read.
  std::vector<std::string> faults = {};  ///< For any member, in words.
  std::vector<std::string> names = {};   ///< DNS names and addresses that it is for.
  std::string serial = {};               ///< Hex digits.
  std::string authority = {};            ///< Fingerprint of ca.crt.
  WallTime from = {}, until = {};
  bool operator==(const CertificateSeen&) const = default;

  template <class S = CertificateSeen>
  static auto describe() {
    return api::object(
        "A certificate's Secret.",
        api::Fields{api::required("secret", &S::secret, ""),
                    api::sparse("missing", &S::missing, ""), api::sparse("ours", &S::ours, ""),
                    api::sparse("unread", &S::unread, ""), api::sparse("faults", &S::faults, ""),
                    api::sparse("names", &S::names, ""), api::sparse("serial", &S::serial, ""),
                    api::sparse("authority", &S::authority, ""), api::sparse("from", &S::from, ""),
                    api::sparse("until", &S::until, "")});
  }
};

/// The certificates of a cluster's TLS, or of one member's. Absent: it has none of that kind.
struct TlsSeen {
  std::optional<CertificateSeen> server, operator_client, peer;
  std::vector<CertificateSeen> managed;  ///< As managed_secrets_of has them.
  bool operator==(const TlsSeen&) const = default;

  template <class S = TlsSeen>
  static auto describe() {
    return api::object(
        "The certificates.",
        api::Fields{api::optional("server", &S::server, ""),
                    api::optional("operatorClient", &S::operator_client, ""),
                    api::optional("peer", &S::peer, ""), api::sparse("managed", &S::managed, "")});
  }
};

/// Each Secret once. They point into `tls`.
std::vector<const CertificateSeen*> all_of(const TlsSeen& tls);

/// Whether the Secret of one of them could not be read.
bool is_missing(const TlsSeen&);

/// What keeps a certificate from being used, in words that name the Secret and its key; empty:
/// nothing. `hosts`: it must be for each of these.
std::string trouble_with(const CertificateSeen&, const std::vector<std::string>& hosts,
                         WallTime now);

/// Whether it is for that host by its own name, or a wildcard.
bool is_for(const CertificateSeen&, const std::string& host);

/// The first of those that members use, whose names in URLs are `hosts`.
std::string trouble_with(const TlsSeen&, const std::vector<std::string>& hosts, WallTime now);

}  // namespace etcdop
