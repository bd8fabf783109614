//go:build ignore

// cron_vectors: when random schedules run by robfig/cron, which Kubernetes' CronJob uses, in zones where it handles all clock
// changes correctly: those that skip neither midnight nor a part of an hour. From the tree's root:
//
//	go run -C tools/cluster/mods/k8s "$PWD/test/process/cron_vectors.go" >test/process/cron_vectors.json
//
// The result is committed, so that tests need neither Go nor a module.
package main

import (
	"fmt"
	"math/rand"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Europe/Dublin", "Asia/Kathmandu", "Africa/Casablanca",
	"America/Nuuk", "Australia/Adelaide", "America/St_Johns"}

// Around each change of the clocks: 02:30 in the skipped hour, 01:30 in the repeated one, and others.
var byHand = []string{"30 2 * * *", "30 1 * * *", "0 3 * * *", "*/30 * * * *", "0 */2 * * *", "59 23 * * *", "@hourly", "@daily",
	"@midnight", "@weekly", "@monthly", "@yearly", "@annually", "0 0 29 2 *", "0 0 13 * 5", "0 0 */2 * 1", "0 0 ? * MON-FRI",
	"0 0 13 * */1", "0 0 1-7 * ?", "5/20 22/1 * Mar,OCT sun", "0 0 *,13 * 5"}

var wrong = []string{"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 0 *", "* * * 13 *",
	"* * * * 7", "* * * * sunday", "* * * foo *", "5-1 * * * *", "*/0 * * * *", "1/2/3 * * * *", "1-2-3 * * * *", "a * * * *",
	"-1 * * * *", "1.5 * * * *", "@never", "* * L * *", "* * * * 1#2", "*/-1 * * * *", "@Daily", "1-60 * * * *"}

func item(dice *rand.Rand, low, high int) string {
	a, b := low+dice.Intn(high-low+1), low+dice.Intn(high-low+1)
	if a > b {
		a, b = b, a
	}
	texts := []string{fmt.Sprint(a), fmt.Sprint(a), fmt.Sprintf("%d-%d", a, b), fmt.Sprintf("%d-%d/3", a, b),
		fmt.Sprintf("%d/%d", a, 1+dice.Intn(9)), fmt.Sprintf("*/%d", 1+dice.Intn(9)), "?"}
	return texts[dice.Intn(len(texts))]
}

func field(dice *rand.Rand, low, high int) string {
	if dice.Intn(3) == 0 {
		return "*"
	}
	items := []string{item(dice, low, high)}
	for dice.Intn(3) == 0 {
		items = append(items, item(dice, low, high))
	}
	return strings.Join(items, ",")
}

func line(zone, text string, after int64) string {
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		panic(err)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	var runs []string
	at := time.Unix(after, 0).In(location)
	for range 6 {
		if at = schedule.Next(at); at.IsZero() {
			break
		}
		runs = append(runs, fmt.Sprint(at.Unix()))
	}
	return fmt.Sprintf(`{"zone":%q,"cron":%q,"after":%d,"runs":[%s]}`, zone, text, after, strings.Join(runs, ","))
}

// changes: the hours of 2027 in which the clocks change; an arbitrary one if they never do.
func changes(zone string) []int64 {
	location, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	var found []int64
	hour := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).In(location)
	for ; hour.UTC().Year() == 2027; hour = hour.Add(time.Hour) {
		_, now := hour.Zone()
		if _, before := hour.Add(-time.Hour).Zone(); now != before {
			found = append(found, hour.Unix())
		}
	}
	if len(found) == 0 {
		return []int64{hour.Unix()}
	}
	return found
}

func main() {
	dice := rand.New(rand.NewSource(20261123))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	var lines []string
	for _, zone := range zones {
		for _, change := range changes(zone) {
			for _, text := range byHand {
				lines = append(lines, line(zone, text, change-60*dice.Int63n([]int64{240, 4000}[dice.Intn(2)])))
			}
		}
		for range 30 {
			text := strings.Join([]string{field(dice, 0, 59), field(dice, 0, 23), field(dice, 1, 28), field(dice, 1, 12), field(dice, 0, 6)}, " ")
			lines = append(lines, line(zone, text, start+dice.Int63n(8*366*86400)))
		}
	}
	for i, text := range wrong {
		if _, err := cron.ParseStandard(text); err == nil {
			panic(text)
		}
		wrong[i] = fmt.Sprintf("%q", text)
	}
	fmt.Printf("{\"wrong\":[%s],\n\"right\":[\n%s]}\n", strings.Join(wrong, ","), strings.Join(lines, ",\n"))
}
