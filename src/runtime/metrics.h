// Counters, gauges and histograms, and their Prometheus text.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fiber.h"
#include "kube/api.h"
#include "runtime/controller.h"

namespace etcdop::runtime {

/// All metrics of one process. The references that it returns live as long as it does.
class Metrics {
 public:
  using Labels = std::map<std::string, std::string>;
  class Number {
   public:
    void add(double by = 1) { value_ += by; }
    void set(double to) { value_ = to; }
    double value() const { return value_; }

   private:
    double value_ = 0;
  };
  class Histogram {
   public:
    explicit Histogram(std::vector<double> bounds)
        : bounds_(std::move(bounds)), counts_(bounds_.size()) {}
    void observe(double value);

   private:
    friend class Metrics;
    std::vector<double> bounds_;         // Upper, inclusive, ascending.
    std::vector<std::uint64_t> counts_;  // Count of each bucket, not cumulative.
    std::uint64_t count_ = 0;
    double sum_ = 0;
  };

  Metrics() = default;
  Metrics(const Metrics&) = delete;
  /// The same name and labels return the same number. A name has one type and one help text; a
  /// counter's name ends in _total. Labels must have few values: each creates a series until
  /// forget().
  Number& counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Number& gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram& histogram(const std::string& name, const std::string& help,
                       const std::vector<double>& bounds, const Labels& labels = {});
  /// Takes one series of a gauge.
  using Line = std::function<void(const Labels&, double)>;
  /// A gauge with one series for each of many things: `each` supplies them at each scrape. No value
  /// is kept, so series of deleted things disappear.
  void gauges(const std::string& name, const std::string& help,
              std::function<void(const Line&)> each);
  /// Drops every series that has all of `labels`; references to them become invalid.
  void forget(const Labels& labels);
  /// Called before each text(), to set values that must be queried.
  void on_scrape(std::function<void()> refresh) { refresh_.push_back(std::move(refresh)); }
  /// In the text format 0.0.4, ordered by name and labels.
  std::string text();

 private:
  using Cell = std::variant<Number, Histogram>;
  struct Family {
    std::string type, help;
    std::map<Labels, Cell> cells;
    std::function<void(const Line&)> each = {};  // Instead of cells.
  };
  Cell& cell(const std::string& name, const std::string& type, const std::string& help,
             const Labels&, Cell fresh);
  std::map<std::string, Family> families_;
  std::vector<std::function<void()>> refresh_;
};

/// The Content-Type of Metrics::text().
constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/// The same options; also counts passes under controller-runtime's names.
Controller::Options measured(Metrics&, Controller::Options);

/// Queue and workers of a controller, under the names of client-go and controller-runtime. Read at
/// every scrape.
void measure(Metrics&, Controller&);

/// Counts requests to the API server as client-go does (rest_client_requests_total); pass it to the
/// client. `http_status` 0: no answer came.
std::function<void(kube::Verb, const api::Resource&, int http_status)> count_requests(
    Metrics&, std::string host);

}  // namespace etcdop::runtime
