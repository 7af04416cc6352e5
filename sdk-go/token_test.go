package dogwood_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	dogwood "github.com/dogwooddb/dogwood/sdk-go"
)

// Close does not wait for a token source that does not mind its context, and
// leaves nothing behind when the source minds it, or returns at last.
func TestCloseWhileTokenIsAsked(t *testing.T) {
	for name, minds := range map[string]bool{"minds its context": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, release := make(chan struct{}), make(chan struct{})
				source := func(ctx context.Context, _ bool) (string, error) {
					close(asked)
					if minds {
						<-ctx.Done()
						return "", ctx.Err()
					}
					<-release
					return "late", nil
				}
				c, err := dogwood.New(t.Context(), newScript(t), dogwood.Options{Lazy: true, Token: source})
				want(t, err)
				reading := result(func() error { return c.Ref("a").Get(t.Context(), new(int)) })
				<-asked
				want(t, c.Close())
				if err := <-reading; !errors.Is(err, dogwood.ErrClosed) {
					t.Errorf("err = %v, want ErrClosed", err)
				}
				close(release)
			})
		})
	}
}

// Nor does New, when its context ends.
func TestNewWhileTokenIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		source := func(context.Context, bool) (string, error) { <-release; return "late", nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := dogwood.New(ctx, newScript(t), dogwood.Options{Token: source}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v, want the end of the context", err)
		}
		close(release)
	})
}
