#include "runtime/transitions.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "api/v1alpha2/names.h"
#include "kube/core_types.h"

namespace etcdop::runtime {
namespace {

const Event::Object kObject{kube::Pod::resource, {"prod", "db"}, "u-1"};

/// "Type=Status/Reason Type=Status/Reason"
std::vector<api::Condition> conditions(const std::string& text) {
  std::vector<api::Condition> out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('='), slash = word.find('/');
    api::Condition c;
    c.type = word.substr(0, equals);
    c.status = word.substr(equals + 1, slash - equals - 1);
    c.reason = word.substr(slash + 1);
    c.message = "because of " + c.reason;
    out.push_back(c);
  }
  return out;
}

/// Reasons; those of warnings with a "!".
std::string told(const std::string& before, const std::string& after) {
  std::string out;
  for (const Event& one : transitions(kObject, conditions(before), conditions(after)))
    out += (out.empty() ? "" : " ") + one.reason + (one.warning ? "!" : "");
  return out;
}

TEST(Transitions, Table) {
  struct Row {
    const char *before, *after, *want, *because;
  };
  const Row rows[] = {
      {"", "Progressing=True/InitialSnapshot", "InitialSnapshot", "a cluster begins"},
      {"Progressing=True/InitialSnapshot", "Progressing=True/WaitingForSeed", "",
       "it goes the way they all go"},
      {"Progressing=True/WaitingForSeed", "Progressing=True/InitialSnapshot", "", "and on"},
      {"Progressing=True/WaitingForSeed", "Progressing=False/BootstrapFailed", "BootstrapFailed!",
       "until it does not"},
      {"Progressing=True/InitialSnapshot", "Progressing=True/InitialSnapshot", "",
       "a change of words alone is none"},
      {"Degraded=True/MembersUnhealthy Progressing=True/InitialSnapshot",
       "Degraded=False/QuorumHealthy Progressing=False/Reconciled", "Reconciled",
       "that nothing is wrong any more goes with it"},
      {"Progressing=True/InitialSnapshot",
       "Degraded=True/MembersUnhealthy Progressing=True/InitialSnapshot", "",
       "who grows has members that are not ready"},
      {"Degraded=False/QuorumHealthy Progressing=False/Reconciled",
       "Degraded=True/MembersUnhealthy Progressing=False/Reconciled", "MembersUnhealthy!",
       "who does not grow has lost one"},
      {"Degraded=True/MembersUnhealthy Progressing=False/Reconciled",
       "Degraded=False/QuorumHealthy Progressing=False/Reconciled", "QuorumHealthy",
       "and it is back"},
      {"Degraded=True/MembersUnhealthy Progressing=False/Reconciled",
       "Degraded=True/MembersUnhealthy Progressing=True/MemberReplacing", "MemberReplacing",
       "it is replaced"},
      {"Degraded=True/MembersUnhealthy Progressing=True/MemberReplacing",
       "Degraded=True/QuorumLost Progressing=True/MemberReplacing", "QuorumLost!",
       "what is worse is told at any time"},
      {"Degraded=True/QuorumLost Progressing=True/MemberReplacing",
       "Degraded=True/MembersUnhealthy Progressing=True/MemberReplacing", "",
       "what is better is Available's to tell"},
      {"Degraded=True/ForeignMember Progressing=True/MemberReplacing",
       "Degraded=False/QuorumHealthy Progressing=True/MemberReplacing", "QuorumHealthy",
       "an end of what was told is told"},
      {"Available=True/QuorumHealthy", "Available=False/QuorumLost", "QuorumLost!", "an outage"},
      {"Available=False/QuorumLost", "Available=True/QuorumAvailable", "QuorumAvailable",
       "its end"},
      {"Available=True/QuorumHealthy", "Available=True/QuorumAvailable", "",
       "Degraded tells which member is missing"},
      {"Available=Unknown/ClusterUnreachable", "Available=Unknown/SplitBrain", "SplitBrain!",
       "another trouble"},
      {"", "Available=False/Paused Degraded=False/Paused Progressing=False/Paused", "",
       "what was never started is no news"},
      {"Degraded=False/QuorumHealthy", "Degraded=True/NoSpace Alarmed=True/NoSpace", "NoSpace!",
       "once"},
      {"Degraded=True/NoSpace Alarmed=True/NoSpace", "Degraded=True/Corrupt Alarmed=True/Corrupt",
       "Corrupt!", "another alarm"},
      {"Degraded=True/NoSpace Alarmed=True/NoSpace",
       "Degraded=False/QuorumHealthy Alarmed=False/Disarmed", "Disarmed", "its end, once"},
      {"Progressing=True/InitialSnapshot", "Progressing=False/DeadlineExceeded",
       "DeadlineExceeded!", "somebody should look"},
      {"", "Progressing=False/UnsupportedVersion", "UnsupportedVersion!", "also of what is new"},
      {"", "Ready=False/PodNotReady", "", "every member begins so"},
      {"Ready=False/PodNotReady", "Ready=False/DiscoveringMemberID", "", "and goes on so"},
      {"Ready=False/DiscoveringMemberID", "Ready=True/PodReady", "",
       "that it serves is told by its vote"},
      {"Ready=False/CrashLooping", "Ready=True/PodReady", "PodReady", "what was wrong is over"},
      {"Ready=True/PodReady", "Ready=False/PodNotReady", "PodNotReady!", "it no longer does"},
      {"Ready=False/PodNotReady", "Ready=False/CrashLooping", "CrashLooping!", "a reason why"},
      {"Ready=False/CrashLooping", "Ready=False/PodNotReady", "", "not yet good news"},
      {"", "VersionDrifted=False/VersionMatched", "", "as it should be"},
      {"VersionDrifted=False/VersionMatched", "VersionDrifted=True/VersionMismatch",
       "VersionMismatch!", "it is not what was asked for"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(told(row.before, row.after), row.want)
        << row.because << ": " << row.before << " -> " << row.after;
}

TEST(Transitions, CarryTheConditionsWords) {
  const auto all = transitions(kObject, {}, conditions("Progressing=True/WaitingForSeed"));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].regarding.uid, "u-1");
  EXPECT_EQ(all[0].note, "because of WaitingForSeed");
  EXPECT_EQ(all[0].action, "Reconcile");
}

}  // namespace
}  // namespace etcdop::runtime
