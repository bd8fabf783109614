// Where a bucket is: what a spec says about it, checked and taken apart.
#pragma once
#include <string>

#include "base/result.h"

namespace etcdop::s3 {

struct PlaceOptions {
  std::string endpoint;  ///< "https://s3.example:9000", or http. No path.
  std::string bucket;
  std::string region = "us-east-1";
  /// The bucket is in the path, as it always is where the host is an address; else it is part of
  /// the host's name.
  bool path_style = false;
};

struct Place {
  bool tls = true;
  std::string host, port;  ///< To dial; the host is also what its certificate must be for.
  std::string authority;   ///< For the Host header.
  std::string path;        ///< Before "/KEY": "/BUCKET", or nothing.
  std::string bucket, region;
};

/// Invalid: the message begins with the option's name and says what it must be.
Result<Place> to_place(const PlaceOptions&);

}  // namespace etcdop::s3
