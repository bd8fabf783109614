package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"etcdop.test/standin/proxy"
)

func TestARefusedWriteIsATryToo(t *testing.T) {
	pod := proxy.Write{Side: proxy.API, Verb: "POST", Target: "pods/c-1", Nth: 1, Code: 403}
	status := proxy.Write{Side: proxy.API, Verb: "PATCH", Target: "etcdmembers/c-1/status", Nth: 1, Code: 200}
	unanswered := proxy.Write{Side: proxy.API, Verb: "POST", Target: "pods/c-1", Nth: 1, Code: -1}
	for _, c := range []struct {
		writes  []proxy.Write
		want    string
		because string
	}{
		{nil, "", "nothing was tried"},
		{[]proxy.Write{pod, status}, "", "two objects, once each"},
		{[]proxy.Write{pod, status, pod}, "2 times POST pods/c-1 (answer 403)", "one object twice, refused"},
		{[]proxy.Write{status, pod, status}, "2 times PATCH etcdmembers/c-1/status (answer 200)", "one object twice, accepted"},
		{[]proxy.Write{pod, unanswered}, "2 times POST pods/c-1", "a try without an answer is one"},
	} {
		got := fmt.Sprint(restless(c.writes))
		if (c.want == "") != (got == "<nil>") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.because, got)
		}
	}
}

func TestAWaitOfTenSecondsForEtcdIsNeedless(t *testing.T) {
	at := func(seconds, code int) proxy.Write {
		return proxy.Write{
			Side: proxy.Etcd, Verb: "MemberAdd", Target: "Cluster", Nth: 1, Code: code, At: time.Unix(int64(seconds), 0),
		}
	}
	for _, c := range []struct {
		writes   []proxy.Write
		needless bool
		because  string
	}{
		{[]proxy.Write{at(0, 0), at(20, 0)}, false, "nothing was refused"},
		{[]proxy.Write{at(0, 14), at(1, 14), at(5, 0)}, false, "etcd itself refuses for five seconds"},
		{[]proxy.Write{at(0, 14), at(10, 0)}, true, "asked again too late"},
		{[]proxy.Write{at(0, 14), at(5, 14), at(10, 0)}, true, "refused for longer than etcd has reason to"},
		{[]proxy.Write{at(0, 14), at(5, 0), at(20, 14), at(25, 0)}, false, "two waits, each short"},
	} {
		if err := needlessWait(c.writes); (err != nil) != c.needless {
			t.Errorf("%s: %v", c.because, err)
		}
	}
}

func TestAFlowSaysAtWhichWritesTheOperatorIsKilled(t *testing.T) {
	write := func(side proxy.Side, verb, target string) proxy.Write {
		return proxy.Write{Side: side, Verb: verb, Target: target, Nth: 1,
			Code: map[proxy.Side]int{proxy.API: 200}[side]}
	}
	writes := []proxy.Write{
		write(proxy.API, "POST", "pods/c-1"), write(proxy.Etcd, "MemberAdd", "Cluster"),
		write(proxy.API, "PATCH", "secrets/c-operator-auth"),
		write(proxy.Etcd, "UserChangePassword", "Auth"), write(proxy.Etcd, "AuthEnable", "Auth"),
		write(proxy.API, "POST", "jobs/s-snapshot"), write(proxy.API, "PATCH", "etcdsnapshots/s/status"),
		write(proxy.API, "POST", "events/s.*"),
	}
	for flow, want := range map[string]int{
		"create": 8, "tls": 0, "tls and auth": 2, "own authority": 1, "password changed": 2, "snapshot": 2,
	} {
		r := Recorder{writes: map[string][]proxy.Write{flow: writes}}
		kills := r.Kills(proxy.Fates)
		if len(kills) != want*len(proxy.Fates) {
			t.Errorf("%s: %d kills", flow, len(kills))
		}
		if last := len(kills) - 1; flow == "tls and auth" &&
			!strings.HasPrefix(kills[last].Name, flow+": AuthEnable Auth #1: ") {
			t.Errorf("the last kill: %s", kills[last].Name)
		}
	}
}

func TestAPlanThatMissedItsWriteFailsUnlessSomeMay(t *testing.T) {
	for allowed, want := range []string{
		"FAILED its write did not come: a; FAILED its write did not come: b; 2 failed",
		"FAILED its write did not come: a; FAILED its write did not come: b; 2 failed",
		"missed its write did not come: a; missed its write did not come: b; 0 failed",
	} {
		got := ""
		r := Runner{Missed: []string{"a", "b"}, Print: func(format string, arguments ...any) {
			got += fmt.Sprintf(format, arguments...) + "; "
		}}
		r.Judge(allowed)
		if got += fmt.Sprintf("%d failed", r.Failed); got != want {
			t.Errorf("%d allowed: %s", allowed, got)
		}
	}
}

func TestOnlyAKillPlanMayMissItsWrite(t *testing.T) {
	again := func(context.Context, *Env) error { return errMissed }
	for _, c := range []struct {
		ifMissed       func(context.Context, *Env) error
		failed, missed int
	}{{nil, 1, 0}, {again, 0, 1}} {
		r := Runner{Print: func(string, ...any) {}}
		r.count(t.Context(), Case{Name: "c", IfMissed: c.ifMissed}, time.Now(), "", fmt.Errorf("before: %w", errMissed))
		if r.Failed != c.failed || len(r.Missed) != c.missed || r.Passed != 0 {
			t.Errorf("failed %d, missed %v, passed %d", r.Failed, r.Missed, r.Passed)
		}
	}
	r := Runner{Print: func(string, ...any) {}}
	r.count(t.Context(), Case{}, time.Now(), "", nil)
	r.count(t.Context(), Case{}, time.Now(), "", errors.New("any"))
	if r.Passed != 1 || r.Failed != 1 {
		t.Errorf("passed %d, failed %d", r.Passed, r.Failed)
	}
}

func TestAWriteThatDoesNotComeIsWaitedForInTurns(t *testing.T) {
	missing := func(context.Context, *Env) error { return fmt.Errorf("before: %w", errMissed) }
	for _, c := range []struct {
		comes, tried int // the try in which the write comes; 0: in none
		twoWays      bool
	}{{1, 1, true}, {2, 2, true}, {4, 4, true}, {0, 4, true}, {0, 1, false}} {
		tried := 0
		plan := Case{Run: missing}
		if c.twoWays {
			plan.IfMissed = missing
		}
		_, err := inTurns(plan, func(now Case) (string, error) {
			if tried++; tried == c.comes {
				return "", nil
			}
			return "", now.Run(t.Context(), nil)
		})
		if tried != c.tried || errors.Is(err, errMissed) != (c.comes == 0) {
			t.Errorf("%+v: tried %d times: %v", c, tried, err)
		}
	}
}

func TestAlternatelyTakesOneOfEachInTurn(t *testing.T) {
	named := func(names ...string) (out []Case) {
		for _, name := range names {
			out = append(out, Case{Name: name})
		}
		return out
	}
	var got []string
	for _, c := range Alternately(named("a", "b"), named("1", "2", "3")) {
		got = append(got, c.Name)
	}
	if want := []string{"a", "1", "b", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
