package server

import (
	"bytes"
	"log/slog"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestRefusedAddressIsLogged: the log names the addresses that limits refused,
// and the one that did not send headers.
func TestRefusedAddressIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, nil))
		tn := townOf(t, Options{Dev: true, Log: log, Limits: Limits{PerAddress: AddressLimits{RequestRate: 1, RequestBurst: 1}}})
		defer tn.shutdown()
		for _, status := range []int{200, 429} {
			if r := tn.at("2001:db8::7").do(call{"GET", "/a.json", nil, noBody}); r.StatusCode != status {
				t.Errorf("status %d, want %d", r.StatusCode, status)
			}
		}
		silent, err := tn.dialFrom(t.Context(), "192.0.2.9")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(headerTimeout)
		synctest.Wait()
		silent.Close()
		got := regexp.MustCompile(`WARN msg="came up against a limit".*`).FindAllString(b.String(), -1)
		want := []string{
			`WARN msg="came up against a limit" reason=address_request_rate count=1 remote=2001:db8::/64`,
			`WARN msg="came up against a limit" reason=slow_headers count=1 remote=192.0.2.9:4711`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("log has %q, want %q", got, want)
		}
	})
}
