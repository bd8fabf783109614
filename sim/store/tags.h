// ETags as S3 computes them: the MD5 of a single put, and the MD5 of the parts' MD5s.
#pragma once
#include <string_view>
#include <vector>

#include "s3/store.h"

namespace etcdop::sim {

/// "\"5d41402abc4b2a76b9719d911017c592\"", with its quotes.
s3::Tag tag_of(std::string_view bytes);
/// "\"...-2\"" for an object of two parts.
s3::Tag tag_of_parts(const std::vector<s3::Tag>&);

}  // namespace etcdop::sim
