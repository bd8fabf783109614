#include "s3/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hex.h"

namespace etcdop::s3 {
namespace {

std::string hmac(std::string_view key, std::string_view message) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  const auto* const made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                reinterpret_cast<const unsigned char*>(message.data()),
                                message.size(), out.data(), &size);
  check(made != nullptr, "HMAC-SHA256 is there");
  return {reinterpret_cast<const char*>(out.data()), size};
}

/// "20261121T173000Z".
std::string to_basic_time(WallTime when) {
  std::string out = to_rfc3339(when);
  std::erase_if(out, [](char c) { return c == '-' || c == ':'; });
  return out;
}

/// Removes spaces at the ends, and replaces each run of them by one: AWS's Trimall.
std::string trimmed(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const bool space = c == ' ' || c == '\t';
    if (!space) out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  check(EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, EVP_sha256(), nullptr) == 1,
        "SHA-256 is there");
  return hex_of_bytes({reinterpret_cast<const char*>(out.data()), size});
}

std::string uri_encoded(std::string_view text, bool path) {
  constexpr const char* digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool stays = (byte < 0x80 && std::isalnum(byte)) || c == '-' || c == '.' || c == '_' ||
                       c == '~' || (path && c == '/');
    if (stays) {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    }
  }
  return out;
}

std::string query_text(const std::map<std::string, std::string>& query) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query)
    encoded.emplace_back(uri_encoded(name), uri_encoded(value));
  std::ranges::sort(encoded);  // The order of encoded names differs.
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out += '&';
    out += name;
    out += '=';
    out += value;
  }
  return out;
}

std::map<std::string, std::string> signature(const ToSign& request, const Credentials& who,
                                             const std::string& region, WallTime when) {
  const std::string time = to_basic_time(when);
  const std::string date = time.substr(0, 8);
  std::map<std::string, std::string> added = {{"x-amz-content-sha256", request.payload_hash},
                                              {"x-amz-date", time}};
  if (!who.session_token.empty()) added["x-amz-security-token"] = who.session_token.reveal();

  std::map<std::string, std::string> all = request.headers;
  all.insert(added.begin(), added.end());
  check(all.size() == request.headers.size() + added.size() && all.contains("host"),
        "the host is signed, and what we add is not there already");
  std::string headers, names;
  for (const auto& [name, value] : all) {
    headers += name + ":" + trimmed(value) + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = request.method + "\n" + request.path + "\n" +
                                query_text(request.query) + "\n" + headers + "\n" + names + "\n" +
                                request.payload_hash;
  const std::string scope = date + "/" + region + "/s3/aws4_request";
  const std::string text =
      "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + sha256_hex(canonical);

  std::string key = hmac("AWS4" + who.secret.reveal(), date);
  for (const std::string& part : {region, std::string("s3"), std::string("aws4_request")})
    key = hmac(key, part);
  added["authorization"] = "AWS4-HMAC-SHA256 Credential=" + who.key_id + "/" + scope +
                           ", SignedHeaders=" + names +
                           ", Signature=" + hex_of_bytes(hmac(key, text));
  return added;
}

}  // namespace etcdop::s3
