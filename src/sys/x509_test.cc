#include "sys/x509.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "test/support/certificates.h"

namespace etcdop {
namespace {

using testing::Authority;
using testing::Leaf;

constexpr const char* kName = "db-x1y2z.db.prod.svc";

WallTime date(const char* text) { return *from_rfc3339(text); }
const WallTime kNow = date("2027-01-01T00:00:00Z");

// Made by openssl 3.0: keys and signatures that issue() does not make, for db.prod.svc.
constexpr const char* kRsa1024 = R"(-----BEGIN CERTIFICATE-----
MIICFDCCAX2gAwIBAgIUCglCW3WhmzW4W4CeJ7lP88gKY38wDQYJKoZIhvcNAQEL
BQAwDzENMAsGA1UEAwwEd2VhazAgFw0yNjExMjIxNTQ3MDdaGA8yMTAwMTAyNTE1
NDcwN1owDzENMAsGA1UEAwwEd2VhazCBnzANBgkqhkiG9w0BAQEFAAOBjQAwgYkC
gYEAsw3LI31IXVTbJPBAflNYyTiULZBEtW/nXEdZVW61qvgGvoimCuesgPYPyTnT
Pj9CCGcUsJR292Z7i3TLY0UDTdWHnJg6QjB/5RynmIEUcayMIDlAKZRlkmc+y6HQ
mEwV1WUzqDZhqouHyG2BklERCnng4aNXM3H+4mfrfTLbW9UCAwEAAaNrMGkwHQYD
VR0OBBYEFIoXwg6+fu6CWkRmMLtm8M/hoM9/MB8GA1UdIwQYMBaAFIoXwg6+fu6C
WkRmMLtm8M/hoM9/MA8GA1UdEwEB/wQFMAMBAf8wFgYDVR0RBA8wDYILZGIucHJv
ZC5zdmMwDQYJKoZIhvcNAQELBQADgYEAJOYOQy44nd6uIoU6DeThJZc8zlKi8e/5
SVPJoADMMHssw8aM7k+c639wYZGHDYjUmPPmsRKcZCp8Xj3J1FiVmELQizZmSoJ0
2Dt8EaAURCdBJn1hI8ABqieFyMfiHcOeMvPnboavSV6fMN/RzMgFmApwW9arJFKw
2S7V/AGZOP0=
-----END CERTIFICATE-----
)";
constexpr const char* kRsa1024Key = R"(-----BEGIN PRIVATE KEY-----
MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBALMNyyN9SF1U2yTw
QH5TWMk4lC2QRLVv51xHWVVutar4Br6IpgrnrID2D8k50z4/QghnFLCUdvdme4t0
y2NFA03Vh5yYOkIwf+Ucp5iBFHGsjCA5QCmUZZJnPsuh0JhMFdVlM6g2YaqLh8ht
gZJREQp54OGjVzNx/uJn630y21vVAgMBAAECgYATnSAyfAfQSXpT+olmDSU9rZf1
wcb1BRQX9KzhgeYem1rJxlhB+4zW951VEqOEPxOxrfEDQtAhW7WO2jVpY2bwEc8M
ki+dhJ8M0GLncU77PzEogbdvaxhl9lCUWXC4uBi2IsdKLG4z6zNAZep+DZClpmNZ
Sj3Zm9WGt/FTQY1ZIQJBAN/lJh65zXQqcNI4cWVRz1RLwDjDfFCbFQG7mHzY5VPC
TXQRCL/j7JiclDFZyssD66DvH3NAfhjQo3vw/cpmBwkCQQDMupc8xFOiml5hVnJg
0Vd9N0rlWidO/p8/aKU3+LpARZ2R35WqnK6Z1cl22tzhtP+AXbYmRv8sx5kNbPUy
KbVtAkEAkXP839k1cFJiGTAx+vC7ELhlmHrnODaH3yhQWEtQMKn6R30JgiBAhKS0
YZtD88AIQ/UVKXqscNKaYtqdBfBigQJAM5mb4L8C7WrG+vWU4n4g9PhosiHk4m4e
qRaw/ch8+RISwt99k4DmKPPPUVucbG74LtxvunoOerTcCJw7uKb2iQJBANRJ3Wqf
WE/azo+jULpOQgzhRVeJcK7X4aBnKs3XXnnIJEqzdEmrIWl1dMbihAmdsoGLi/Ce
7lgnkSkHUxFjeqE=
-----END PRIVATE KEY-----
)";
constexpr const char* kSha1 = R"(-----BEGIN CERTIFICATE-----
MIIBizCCATKgAwIBAgIUPD04FHd4qUIeH0z/Y0hMedn3Jl4wCQYHKoZIzj0EATAP
MQ0wCwYDVQQDDAR3ZWFrMCAXDTI2MTEyMjE1NDcwN1oYDzIxMDAxMDI1MTU0NzA3
WjAPMQ0wCwYDVQQDDAR3ZWFrMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEE7RK
79MKZ/krUmJRziWH+1HRTRKG4ZwOgCaMXb32MPPUKrlOrpGNE/huKvv4u8+bsCrq
O0M7lI5BH5lzagfRj6NrMGkwHQYDVR0OBBYEFAKg6TnSdDPwYcMq1dsAwFSVfTbO
MB8GA1UdIwQYMBaAFAKg6TnSdDPwYcMq1dsAwFSVfTbOMA8GA1UdEwEB/wQFMAMB
Af8wFgYDVR0RBA8wDYILZGIucHJvZC5zdmMwCQYHKoZIzj0EAQNIADBFAiEA0h3D
LL2B3/+bQaKle1vVv49DAqYfFy3CD9wbV0MOs6MCICsokXV+0ClH60W8v9Yr6qiL
Eog/kxrpIZhpHx8QFqPZ
-----END CERTIFICATE-----
)";
constexpr const char* kSha1Key = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIViZXEUshO6m9O2i
Q6hu7Fbpqdjkx7TWWvutosAL5FChRANCAAQTtErv0wpn+StSYlHOJYf7UdFNEobh
nA6AJoxdvfYw89QquU6ukY0T+G4q+/i7z5uwKuo7QzuUjkEfmXNqB9GP
-----END PRIVATE KEY-----
)";
constexpr const char* kP224 = R"(-----BEGIN CERTIFICATE-----
MIIBejCCASigAwIBAgIUfnfomL7YrLFlx3RLrVQzwQJTvgIwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEd2VhazAgFw0yNjExMjIxNTQ3MDdaGA8yMTAwMTAyNTE1NDcw
N1owDzENMAsGA1UEAwwEd2VhazBOMBAGByqGSM49AgEGBSuBBAAhAzoABD3RQtUb
DCjUVLo/wJhbcQ95zF9JWnmaH71GjEAsLFnOk4i/QNIGcKXdJc8RWnYaq5ol6bOH
Mvbdo2swaTAdBgNVHQ4EFgQUjKd5UKbPMUblZ8nhHQHNjGuQXQIwHwYDVR0jBBgw
FoAUjKd5UKbPMUblZ8nhHQHNjGuQXQIwDwYDVR0TAQH/BAUwAwEB/zAWBgNVHREE
DzANggtkYi5wcm9kLnN2YzAKBggqhkjOPQQDAgNAADA9Ah0Azzb1juSx7Zw8S95H
P9NGohziWWN0vCk+s6DwzgIcGUELtA4lctD0ccsqt9ZmP6DjfwQrVXwevK19Sw==
-----END CERTIFICATE-----
)";
constexpr const char* kP224Key = R"(-----BEGIN PRIVATE KEY-----
MHgCAQAwEAYHKoZIzj0CAQYFK4EEACEEYTBfAgEBBBzwNQW++hm89pgxHPXwJfLp
ZjGdQ4lem99zN3mDoTwDOgAEPdFC1RsMKNRUuj/AmFtxD3nMX0laeZofvUaMQCws
Wc6TiL9A0gZwpd0lzxFadhqrmiXps4cy9t0=
-----END PRIVATE KEY-----
)";

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

TEST(X509, WhatACertificateSays) {
  const Authority authority;
  const Identity made = authority.issue({.common_name = "db-server",
                                         .names = {"*.db.prod.svc", "127.0.0.1", "fd00::1"},
                                         .not_before = "2026-01-01T00:00:00Z",
                                         .not_after = "2026-03-01T00:00:00Z"});
  auto says = read_certificate(made.certificate);
  ASSERT_TRUE(says) << says.error().message;
  EXPECT_EQ(says->common_name, "db-server");
  EXPECT_EQ(says->names, (std::vector<std::string>{"*.db.prod.svc", "127.0.0.1", "fd00::1"}));
  EXPECT_EQ(says->from, date("2026-01-01T00:00:00Z"));
  EXPECT_EQ(says->until, date("2026-03-01T00:00:00Z"));
  EXPECT_GE(says->serial.size(), 2U);
  EXPECT_NE(says->serial, read_certificate(authority.issue({}).certificate)->serial);
  EXPECT_TRUE(read_certificate("nothing").failed_with(Code::Invalid));
}

/// To judge a large bundle blocks everybody, so it is done again only when its result may change.
TEST(X509, N7_AJudgementHoldsUntilTheNextDateInIt) {
  const Authority authority;  // From 2020 to 2100.
  const Identity made =
      authority.issue({.not_before = "2026-01-01T00:00:00Z", .not_after = "2026-03-01T00:00:00Z"});
  const auto judged = [&](const char* now) {
    return judge(made, authority.certificate(), {}, date(now));
  };
  EXPECT_EQ(judged("2019-06-01T00:00:00Z").until, date("2020-01-01T00:00:00Z"));
  EXPECT_EQ(judged("2025-06-01T00:00:00Z").until, date("2026-01-01T00:00:00Z"));
  const Judgement good = judged("2026-01-01T00:00:00Z");
  EXPECT_TRUE(good.faults.empty());
  EXPECT_EQ(good.until, date("2026-03-01T00:00:00Z"));
  EXPECT_EQ(good.authority, fingerprint_of(authority.certificate()));
  EXPECT_EQ(good.authorities, 1U);
  EXPECT_EQ(good.leaf, *read_certificate(made.certificate));
  const Judgement last = judged("2026-03-01T00:00:00Z");
  EXPECT_EQ(last.until, date("2026-03-01T00:00:01Z"));
  EXPECT_FALSE(judged("2026-03-01T00:00:01Z").faults.empty());
  EXPECT_EQ(judged("2026-03-01T00:00:01Z").until, date("2100-01-01T00:00:00Z"));
  for (const char* const now : {"2025-06-01T00:00:00Z", "2026-01-01T00:00:00Z"})
    EXPECT_EQ(judged(now).faults, faults_of(made, authority.certificate(), {},
                                            judged(now).until + -std::chrono::seconds(1)));
}

/// Any user may have put the certificate into a Secret, and its text reaches conditions.
TEST(X509, N1_ANameThatIsNoUtf8IsMadeUtf8) {
  const Authority authority;
  const Identity made = authority.issue({.names = {"a\xFF.db.prod.svc"}});
  EXPECT_EQ(read_certificate(made.certificate)->names,
            (std::vector<std::string>{"a\xEF\xBF\xBD.db.prod.svc"}));
}

// Made by openssl 3.0 with string_mask=nombstr: its common name is the T61String "a\xFFz".
constexpr const char* kLatin = R"(-----BEGIN CERTIFICATE-----
MIHYMIGLAhQTFhEOPDYjKUfphmcSPkgEt/uyqzAFBgMrZXAwDjEMMAoGA1UEAxQD
Yf96MCAXDTI2MTEyOTExMDYwN1oYDzIxMjYxMTA1MTEwNjA3WjAOMQwwCgYDVQQD
FANh/3owKjAFBgMrZXADIQARbjCDryTjCMayGnNbTf+HJ4nzLZNllR6TqjKBP3Qq
djAFBgMrZXADQQDIsklFlh+QfYvPnhizayDs2eztdiFjVCAKgrD8ElIg0koNJfhv
/FlUWKP2oVScOm9iTH5oPbkK+BIBDEmjn0gI
-----END CERTIFICATE-----
)";

TEST(X509, N1_ACommonNameThatIsNoUtf8IsMadeUtf8) {
  EXPECT_EQ(read_certificate(kLatin)->common_name, "a\xEF\xBF\xBDz");
}

TEST(X509, ALongCommonNameIsCutAndAForeignKeySignsNothing) {
  const Authority authority;
  const auto made = authority.issue({.common_name = std::string(70, 'a')});
  EXPECT_EQ(read_certificate(made.certificate)->common_name, std::string(64, 'a'));
  const Identity broken{authority.certificate(), authority.issue({}).key};
  EXPECT_TRUE(
      issue({.common_name = "x", .from = kNow, .until = kNow}, &broken).failed_with(Code::Invalid));
}

// Made by openssl 3.0, for a key that can only agree on secrets.
constexpr const char* kX25519 = R"(-----BEGIN CERTIFICATE-----
MIHoMIGQAhRC3btoi6oUEWeWJaSR2UBrhdlrfDAKBggqhkjOPQQDAjAOMQwwCgYD
VQQDDANvZGQwIBcNMjYxMTI4MDIwODIwWhgPMjEyNjExMDQwMjA4MjBaMA4xDDAK
BgNVBAMMA29kZDAqMAUGAytlbgMhAH0XocwWIpI58Lbxtrl++9O2qGpVtnzGFYac
xFivuX1wMAoGCCqGSM49BAMCA0cAMEQCIC8pMU5SaT3hEm17o4b9rWRDgSEDrg8c
LPPxoAa9JP6BAiAdHiwRoHhKp5OlALAQwWjjpVzMyazs7V821k57JQcnJA==
-----END CERTIFICATE-----
)";
constexpr const char* kX25519Key = R"(-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VuBCIEILBm+lbIyVShjY+oqVgrBVIj1hiaWC0qjml+p0L0d0ti
-----END PRIVATE KEY-----
)";

/// A user may have put it into the Secret of an authority.
TEST(X509, N2_AKeyThatCannotSignIsAnError) {
  const Identity odd{kX25519, Secret(kX25519Key)};
  const auto made = issue({.common_name = "x", .from = kNow, .until = kNow}, &odd);
  ASSERT_TRUE(made.failed_with(Code::Invalid));
  EXPECT_EQ(made.error().message, "key: of a kind that cannot sign certificates");
}

// Made by openssl 3.0, without any extension.
constexpr const char* kPlainAuthority = R"(-----BEGIN CERTIFICATE-----
MIIBHDCBwwIUY+7lQTACmqNmwf9EUtGJcrCJjAMwCgYIKoZIzj0EAwIwEDEOMAwG
A1UEAwwFcGxhaW4wIBcNMjYxMTI4MDQxNjI1WhgPMjEyNjExMDQwNDE2MjVaMBAx
DjAMBgNVBAMMBXBsYWluMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE3QwsJgox
5IVv0juHQSp6EsUcrGw+U8bOTdhVHkk7GREZc8sVmds9o5TvDPpn1HLm0tyRPEgT
Xg1bol7LFe9LDTAKBggqhkjOPQQDAgNIADBFAiAjWMqckzR1utFSgneN6ePbG+47
xh9OpGVFN3YM9279UAIhALsBh/cNlZ/8k84QTvpnxUkJcYb1M28vUNPeFQx+AShh
-----END CERTIFICATE-----
)";
constexpr const char* kPlainAuthorityKey = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgzwv4vd4oAfTLZ/fd
JsodlLRBYdouuZQi0juqgBgX35qhRANCAATdDCwmCjHkhW/SO4dBKnoSxRysbD5T
xs5N2FUeSTsZERlzyxWZ2z2jlO8M+mfUcubS3JE8SBNeDVuiXssV70sN
-----END PRIVATE KEY-----
)";

TEST(X509, N2_AnAuthorityWithoutAnIdentifierSigns) {
  const Identity plain{kPlainAuthority, Secret(kPlainAuthorityKey)};
  const auto made = issue({.common_name = "x", .from = kNow, .until = kNow}, &plain);
  ASSERT_TRUE(made) << made.error().message;
}

/// The same certificate with a key of an unknown kind; its signature is no longer valid.
std::string of_no_kind(const std::string& pem) {
  const std::size_t first = pem.find('\n') + 1;
  std::string text = pem.substr(first, pem.find("\n-----END") - first);
  std::erase(text, '\n');
  std::string der = from_base64(text).value_or("");
  const std::string elliptic("\x2A\x86\x48\xCE\x3D\x02\x01", 7);  // Its OID.
  const std::size_t at = der.find(elliptic);
  EXPECT_NE(at, std::string::npos);
  der[at + elliptic.size() - 1] = '\x7F';
  return "-----BEGIN CERTIFICATE-----\n" + to_base64(der) + "\n-----END CERTIFICATE-----\n";
}

// Contents that a user may put into a Secret, and the resulting texts. `{}` means no text.
struct Row {
  const char* what;
  Identity identity;
  std::string ca;
  Purpose purpose;
  std::string says;
};

std::vector<Row> rows() {
  const Authority authority, other("other");
  const Authority middle = authority.intermediate("middle");
  const auto made = [&](const Leaf& leaf) { return authority.issue(leaf); };
  const Identity good = made({.names = {"*.db.prod.svc", "localhost"}});
  const Identity by_middle = middle.issue({.names = {kName}});
  const auto until = [](const char* when, bool may_sign, const Identity* by = nullptr) {
    return *issue({.common_name = may_sign ? "authority" : "leaf",
                   .names = {kName},
                   .authority = may_sign,
                   .from = date("2020-01-01T00:00:00Z"),
                   .until = date(when)},
                  by);
  };
  const Identity past_authority = until("2026-01-01T00:00:00Z", true);
  const Identity by_past = until("2030-01-01T00:00:00Z", false, &past_authority);
  const Identity root = until("2050-01-01T00:00:00Z", true);
  const Identity past_middle = until("2026-01-01T00:00:00Z", true, &root);
  const Identity by_past_middle = until("2030-01-01T00:00:00Z", false, &past_middle);
  const Purpose server{true, true};
  const Purpose one{true, false};
  const std::string& ca = authority.certificate();
  return {
      {"good, by a wildcard", good, ca, server, ""},
      {"good, whoever signed it", good, "", server, ""},
      {"good, of several authorities", good, other.certificate() + ca, server, ""},
      {"good, a chain", {by_middle.certificate + middle.certificate(), by_middle.key}, ca, one, ""},
      {"good, an authority in the middle is trusted", by_middle, middle.certificate(), one, ""},
      {"1 no PEM", {"tls", good.key}, ca, server, "tls.crt: no PEM certificate in it\n"},
      {"2 no PEM key",
       {good.certificate, Secret("key")},
       ca,
       server,
       "tls.key: no unencrypted PEM key in it\n"},
      {"3 no PEM authority", good, "ca", server, "ca.crt: no PEM certificate in it\n"},
      {"4 the key of another",
       {good.certificate, other.issue({}).key},
       ca,
       server,
       "tls.key is the key of another certificate than tls.crt\n"},
      {"5 expired", made({.names = {kName}, .not_after = "2026-12-31T23:59:59Z"}), ca, one,
       "tls.crt expired on 2026-12-31T23:59:59Z\n"},
      {"6 not yet valid", made({.names = {kName}, .not_before = "2027-01-01T00:00:01Z"}), ca, one,
       "tls.crt is not valid before 2027-01-01T00:00:01Z\n"},
      {"8 for clients only", made({.names = {kName}, .server = false}), ca, one,
       "tls.crt lacks the extended key usage \"server auth\"\n"},
      {"9 for servers only", made({.names = {kName, "localhost"}, .client = false}), ca, server,
       "tls.crt lacks the extended key usage \"client auth\"\n"},
      {"10 another authority", good, other.certificate(), server,
       "ca.crt has not signed tls.crt: unable to get local issuer certificate\n"},
      {"10 a chain that is cut", by_middle, ca, one,
       "ca.crt has not signed tls.crt: unable to get local issuer certificate\n"},
      {"11 an expired authority", by_past, past_authority.certificate, one,
       "ca.crt expired on 2026-01-01T00:00:00Z\n"},
      {"11 an expired authority beside one that signed nothing", by_past,
       past_authority.certificate + ca, one, "ca.crt expired on 2026-01-01T00:00:00Z\n"},
      {"11 an expired one in the middle",
       {by_past_middle.certificate + past_middle.certificate, by_past_middle.key},
       root.certificate,
       one,
       "tls.crt has an intermediate that expired on 2026-01-01T00:00:00Z\n"},
      {"12 a key of no kind",
       {of_no_kind(good.certificate), good.key},
       ca,
       one,
       "tls.key is the key of another certificate than tls.crt\n"
       "tls.crt has a key of an unknown type\n"
       "ca.crt has not signed tls.crt: unspecified certificate verification error\n"},
      {"12 a short key",
       {kRsa1024, Secret(kRsa1024Key)},
       kRsa1024,
       one,
       "tls.crt has an RSA key of 1024 bits; it needs 2048\n"},
      {"12 a curve that Go does not take",
       {kP224, Secret(kP224Key)},
       kP224,
       one,
       "tls.crt has a key on the curve secp224r1; etcd takes P-256, P-384 and P-521\n"},
      {"12 a weak signature",
       {kSha1, Secret(kSha1Key)},
       kSha1,
       one,
       "tls.crt is signed over SHA1, which can be forged\n"},
      {"all at once",
       {made({}).certificate, Secret()},
       other.certificate(),
       one,
       "tls.key: no unencrypted PEM key in it\n"
       "ca.crt has not signed tls.crt: unable to get local issuer certificate\n"},
  };
}

TEST(X509, T6_WhatIsWrongIsNamed) {
  for (const Row& row : rows())
    EXPECT_EQ(joined(faults_of(row.identity, row.ca, row.purpose, kNow)), row.says) << row.what;
}

TEST(X509, NothingOfAKeyIsEverSaid) {
  const Identity made = Authority().issue({});
  const std::string said =
      joined(faults_of({made.key.reveal(), Secret(made.certificate + made.key.reveal().substr(9))},
                       made.key.reveal(), {true, true}, kNow));
  for (std::size_t at = 30; at + 12 < made.key.reveal().size(); at += 12)
    EXPECT_EQ(said.find(made.key.reveal().substr(at, 12)), std::string::npos) << said;
}

TEST(X509, AFingerprintIsThatOfTheCertificatesInWhateverOrder) {
  const std::string a = Authority("a").certificate(), b = Authority("b").certificate();
  EXPECT_EQ(fingerprint_of(a).size(), 32U);
  EXPECT_EQ(fingerprint_of(a + b), fingerprint_of("# both\n" + b + "\n" + a + a));
  EXPECT_NE(fingerprint_of(a), fingerprint_of(b));
  EXPECT_NE(fingerprint_of(a), fingerprint_of(a + b));
  EXPECT_EQ(fingerprint_of("none"), "");
}

}  // namespace
}  // namespace etcdop
