package server

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestReadContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		defer cancel()
		q := &request{r: httptest.NewRequest("GET", "/a.json", nil).WithContext(parent)}
		q.form.timeout = time.Minute

		ctx, end := newReadContext(q.r.Context(), nil, q.form.timeout)
		if d, ok := ctx.Deadline(); !ok || time.Until(d) != time.Minute {
			t.Errorf("it ends in %v, want a minute", time.Until(d))
		}
		if err := ctx.Err(); err != nil {
			t.Errorf("Err() = %v before its time", err)
		}
		began := time.Now()
		<-ctx.Done()
		if time.Since(began) != time.Minute || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("done after %v with %v, want a minute and %v", time.Since(began), ctx.Err(), context.DeadlineExceeded)
		}
		end()

		ctx, end = newReadContext(q.r.Context(), nil, q.form.timeout)
		end()
		<-ctx.Done() // a call after the end does not wait, and leaves no timer

		ctx, end = newReadContext(q.r.Context(), nil, q.form.timeout)
		defer end()
		first := q.readContext()
		first.end()
		if second := q.readContext(); second == first || second.Err() != nil {
			t.Errorf("the context of the second read is the first one, or has ended: %v", second.Err())
		}
		<-first.Done()

		cancel()
		<-ctx.Done()
		if err := ctx.Err(); err != context.Canceled {
			t.Errorf("Err() = %v after the request has ended, want %v", err, context.Canceled)
		}
	})
}
