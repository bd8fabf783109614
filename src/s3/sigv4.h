// AWS Signature Version 4 by header, for the service "s3". Pure: the caller gives the time.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/secret.h"
#include "base/wall_time.h"

namespace etcdop::s3 {

/// The signer's keys.
struct Credentials {
  std::string key_id;
  Secret secret;
  Secret session_token = {};  ///< For temporary credentials; empty: none.
};

/// The signed content: exactly the bytes that are sent.
struct ToSign {
  std::string method;
  std::string path;                          ///< As in the request line: percent-encoded.
  std::map<std::string, std::string> query;  ///< Not encoded.
  /// All headers to sign, including `host`; names in lower case.
  std::map<std::string, std::string> headers;
  std::string payload_hash;  ///< sha256_hex() of the body, or kUnsignedPayload.
};

inline constexpr const char* kUnsignedPayload = "UNSIGNED-PAYLOAD";

/// The headers to send besides `headers`: authorization, x-amz-content-sha256, x-amz-date and, for
/// temporary credentials, x-amz-security-token. Source: AWS's "Signature Calculations for the
/// Authorization Header".
std::map<std::string, std::string> signature(const ToSign&, const Credentials&,
                                             const std::string& region, WallTime);

/// As lower-case hex digits.
std::string sha256_hex(std::string_view);

/// Encodes all but letters, digits and -._~ as %XX; in a path, slashes stay.
std::string uri_encoded(std::string_view, bool path = false);
/// "a=1&b=": the signed form, which must be sent unchanged. Empty without parameters.
std::string query_text(const std::map<std::string, std::string>&);

}  // namespace etcdop::s3
