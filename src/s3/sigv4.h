// AWS Signature Version 4 by header, for the service "s3". Pure: the caller gives the time.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "base/secret.h"
#include "base/wall_time.h"

namespace etcdop::s3 {

/// Who signs.
struct Credentials {
  std::string key_id;
  Secret secret;
  Secret session_token = {};  ///< Of temporary credentials; empty: none.
};

/// What is signed: exactly what is sent.
struct ToSign {
  std::string method;
  std::string path;                          ///< As in the request line: percent-encoded.
  std::map<std::string, std::string> query;  ///< Not encoded.
  /// All that are to be signed, `host` among them; names in lower case.
  std::map<std::string, std::string> headers;
  std::string payload_hash;  ///< sha256_hex() of the body, or kUnsignedPayload.
};

inline constexpr const char* kUnsignedPayload = "UNSIGNED-PAYLOAD";

/// The headers to send beside `headers`: authorization, x-amz-content-sha256, x-amz-date and, of
/// temporary credentials, x-amz-security-token. Source: AWS's "Signature Calculations for the
/// Authorization Header".
std::map<std::string, std::string> signature(const ToSign&, const Credentials&,
                                             const std::string& region, WallTime);

/// As hex digits in lower case.
std::string sha256_hex(std::string_view);

/// All but letters, digits and -._~ as %XX; slashes stay if this is a path.
std::string uri_encoded(std::string_view, bool path = false);
/// "a=1&b=": as it is signed, and so as it must be sent. Empty without parameters.
std::string query_text(const std::map<std::string, std::string>&);

}  // namespace etcdop::s3
