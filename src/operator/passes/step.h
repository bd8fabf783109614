// The description that every step of a plan has. Pure.
#pragma once
#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "operator/passes/value_codecs.h"

namespace etcdop {

/// The server that a step asks to change something.
enum class Asks { Nothing, ApiServer, Etcd };

/// When the next pass sees the effect of a step. Later: no watch reports it, for example for
/// Secrets and etcd's users.
enum class Effect { AtOnce, Later };

/// The facts that all steps of a type share. Each must be given.
struct StepTraits {
  consteval StepTraits(const char* word, Asks asks, Effect effect)
      : word(word), asks(asks), effect(effect) {}
  const char* word;  ///< In recordings: "add-learner".
  Asks asks;
  Effect effect;
};

/// A step that derives from Fields has no field beside them: comparison and recording would miss
/// it.
template <class S>
concept AddsNoField = !requires { typename S::Fields; } ||
                      (sizeof(S) == sizeof(typename S::Fields) &&
                       std::is_empty_v<S> == std::is_empty_v<typename S::Fields>);

/// A step without one of these does not compile. A step with fields describes them for recordings
/// (api/describe.h).
template <class S>
concept CompleteStep = std::equality_comparable<S> && AddsNoField<S> && requires(const S& step) {
  { S::traits } -> std::same_as<const StepTraits&>;
  { step.words() } -> std::same_as<std::string>;            // In logs: "add-learner db-x1y2z".
  { step.concerns() } -> std::convertible_to<std::string>;  // The member's name, or empty.
};

/// Fields that several steps have, with their comparison and recording. They concern no member. A
/// step that needs another field describes all its fields itself.
struct WithoutFields {
  using Fields = WithoutFields;
  std::string concerns() const { return ""; }
  bool operator==(const WithoutFields&) const = default;
};
struct ByUid {
  using Fields = ByUid;
  std::string uid;
  std::string concerns() const { return ""; }
  bool operator==(const ByUid&) const = default;

  template <class S = ByUid>
  static auto describe() {
    return api::value(api::sparse("uid", &S::uid));
  }
};
struct ByAttempt {
  using Fields = ByAttempt;
  std::int32_t attempt = 0;
  std::string concerns() const { return ""; }
  bool operator==(const ByAttempt&) const = default;

  template <class S = ByAttempt>
  static auto describe() {
    return api::value(api::sparse("attempt", &S::attempt));
  }
};

/// The plan has nothing to do.
struct NoStep : WithoutFields {
  static constexpr StepTraits traits{"none", Asks::Nothing, Effect::AtOnce};
  std::string words() const { return traits.word; }
};

/// At most one is carried out per pass; the next pass observes its effect.
template <CompleteStep... S>
using OneStepOf = std::variant<NoStep, S...>;

/// For std::visit of a step: a function for each type. A step without one does not compile.
template <class... F>
struct Overloads : F... {
  using F::operator()...;
};

/// The result of a planner: the status as it should be, and the next step.
template <class Status, class Step>
struct PlanOf {
  Status status;
  Step step;
  std::chrono::milliseconds again{0};  ///< 0: only when something changes.
  bool operator==(const PlanOf&) const = default;

  template <class S = PlanOf>
  static auto describe() {
    return api::value(api::required("status", &S::status), api::sparse("step", &S::step),
                      api::sparse("again", &S::again));
  }
};

template <class... S>
std::string to_string(const std::variant<NoStep, S...>& step) {
  return std::visit([](const auto& one) { return one.words(); }, step);
}
template <class... S>
std::string word_of(const std::variant<NoStep, S...>& step) {
  return std::visit([](const auto& one) { return std::string(one.traits.word); }, step);
}
template <class... S>
bool acts(const std::variant<NoStep, S...>& step) {
  return !std::holds_alternative<NoStep>(step);
}
template <class... S>
bool asks_etcd(const std::variant<NoStep, S...>& step) {
  return std::visit([](const auto& one) { return one.traits.asks == Asks::Etcd; }, step);
}
template <class... S>
bool is_seen_later(const std::variant<NoStep, S...>& step) {
  return std::visit([](const auto& one) { return one.traits.effect == Effect::Later; }, step);
}
template <class... S>
std::string concerned_by(const std::variant<NoStep, S...>& step) {
  return std::visit([](const auto& one) { return std::string(one.concerns()); }, step);
}

}  // namespace etcdop
