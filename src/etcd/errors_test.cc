#include "etcd/errors.h"

#include <gtest/gtest.h>

#include <string>

namespace etcdop::etcd {
namespace {

TEST(EtcdErrors, EachKnownRefusalHasItsCode) {
  struct Row {
    int status;
    const char* text;
    Code read, write;
  };
  const Row rows[] = {
      {9, "rpc not supported for learner", Code::Invalid, Code::Invalid},
      {14, "rpc not supported for learner", Code::Invalid, Code::Invalid},  // 3.5's status.
      {9, "Peer URLs already exists", Code::AlreadyExists, Code::AlreadyExists},
      {9, "member ID already exist", Code::AlreadyExists, Code::AlreadyExists},
      {9, "too many learner members in cluster", Code::Invalid, Code::Invalid},
      {14, "unhealthy cluster", Code::Unavailable, Code::Unavailable},
      {14, "request timed out", Code::TimedOut, Code::Lost},
      {14, "request timed out, possibly due to previous leader failure", Code::TimedOut,
       Code::Lost},
      {14, "request timed out, possibly due to connection lost", Code::TimedOut, Code::Lost},
      {14, "request timed out, waiting for the applied index took too long", Code::TimedOut,
       Code::Lost},
      {2, "request timed out, leader transfer took too long", Code::TimedOut, Code::Lost},
      {14, "leader changed", Code::Unavailable, Code::Lost},
      {14, "server stopped", Code::Unavailable, Code::Lost},
      {1, "request canceled", Code::Unavailable, Code::Lost},
      {5, "member not found", Code::NotFound, Code::NotFound},
      {2, "re-configuration failed due to not enough started members", Code::Invalid,
       Code::Invalid},
      {9, "re-configuration failed due to not enough started members", Code::Invalid,
       Code::Invalid},
      {9, "can only promote a learner member which is in sync with leader", Code::Conflict,
       Code::Conflict},
      {9, "can only promote a learner member", Code::AlreadyExists, Code::AlreadyExists},
      {14, "no leader", Code::Unavailable, Code::Unavailable},
      {9, "not leader", Code::Conflict, Code::Conflict},
      {9, "bad leader transferee", Code::Invalid, Code::Invalid},
      {3, "given member URLs are invalid", Code::Invalid, Code::Invalid},
      {3, "user name is empty", Code::Denied, Code::Denied},
      {3, "authentication failed, invalid user ID or password", Code::Denied, Code::Denied},
      {16, "invalid auth token", Code::Denied, Code::Denied},
      {3, "revision of auth store is old", Code::Denied, Code::Denied},
      {7, "permission denied", Code::Denied, Code::Denied},
      {9, "root user does not exist", Code::Invalid, Code::Invalid},
      {9, "root user does not have root role", Code::Invalid, Code::Invalid},
      {9, "user name already exists", Code::AlreadyExists, Code::AlreadyExists},
      {9, "user name not found", Code::Invalid, Code::Invalid},
      {9, "role name not found", Code::Invalid, Code::Invalid},
      {11, "mvcc: required revision has been compacted", Code::Invalid, Code::Invalid},
      {11, "mvcc: required revision is a future revision", Code::Invalid, Code::Invalid},
      {8, "mvcc: database space exceeded", Code::Invalid, Code::Lost},
      {15, "corrupt cluster", Code::Corrupt, Code::Corrupt},
  };
  for (const Row& row : rows) {
    const std::string text = std::string("etcdserver: ") + row.text;
    EXPECT_EQ(to_error(row.status, text, Asks::Read), (Error{row.read, text}));
    EXPECT_EQ(to_error(row.status, text, Asks::Write), (Error{row.write, text}));
  }
}

TEST(EtcdErrors, ARefusalThatEtcdForgotToTranslateIsKnownToo) {
  for (const Asks asks : {Asks::Read, Asks::Write})
    for (const char* text : {"user name is empty", "permission denied", "invalid auth token"})
      EXPECT_EQ(to_error(2, std::string("auth: ") + text, asks).code, Code::Denied) << text;
}

TEST(EtcdErrors, AnUnknownTextIsJudgedByItsStatus) {
  struct Row {
    int status;
    Code read, write;
    const char* because;
  };
  const Row rows[] = {
      {1, Code::Unavailable, Code::Lost, "the server's cancellation is not ours"},
      {2, Code::Unavailable, Code::Lost, "raft dropped a proposal, or anything else"},
      {3, Code::Invalid, Code::Invalid, ""},
      {4, Code::TimedOut, Code::Lost, ""},
      {5, Code::NotFound, Code::NotFound, ""},
      {6, Code::AlreadyExists, Code::AlreadyExists, ""},
      {7, Code::Denied, Code::Denied, ""},
      {8, Code::Unavailable, Code::Unavailable, "refused at the door"},
      {9, Code::Invalid, Code::Invalid, ""},
      {12, Code::Invalid, Code::Invalid, "an etcd that does not know the call"},
      {13, Code::Unavailable, Code::Lost, ""},
      {14, Code::Unavailable, Code::Lost, "it does not say whether it was carried out"},
      {15, Code::Corrupt, Code::Corrupt, ""},
      {16, Code::Denied, Code::Denied, ""},
      {99, Code::Unavailable, Code::Lost, ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(to_error(row.status, "words of tomorrow", Asks::Read).code, row.read) << row.status;
    EXPECT_EQ(to_error(row.status, "words of tomorrow", Asks::Write).code, row.write)
        << row.status << " " << row.because;
  }
  EXPECT_EQ(to_error(13, "", Asks::Read).message, "gRPC status 13");
}

TEST(EtcdErrors, WhatOfOurIdentityIsNotTaken) {
  const auto trouble = [](const char* text) {
    return auth_trouble(to_error(3, text, Asks::Read).during("Status at 10.0.0.1"));
  };
  EXPECT_EQ(trouble("etcdserver: user name is empty"), AuthTrouble::Required);
  EXPECT_EQ(trouble("auth: permission denied"), AuthTrouble::Required);
  EXPECT_EQ(trouble("etcdserver: authentication failed, invalid user ID or password"),
            AuthTrouble::Rejected);
  EXPECT_EQ(trouble("etcdserver: user name not found"), AuthTrouble::Required);
  EXPECT_EQ(trouble("etcdserver: authentication is not enabled"), AuthTrouble::Off);
  EXPECT_EQ(trouble("etcdserver: invalid auth token"), AuthTrouble::Expired);
  EXPECT_EQ(trouble("etcdserver: revision of auth store is old"), AuthTrouble::Expired);
  EXPECT_EQ(trouble("etcdserver: unhealthy cluster"), AuthTrouble::None);
  EXPECT_EQ(auth_trouble({Code::Denied, "TLS handshake with a: the other side refuses us"}),
            AuthTrouble::None);
}

}  // namespace
}  // namespace etcdop::etcd
