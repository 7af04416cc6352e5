package realtime

import (
	"context"
	"time"

	"github.com/dogwooddb/dogwood/server/auth"
	dsync "github.com/dogwooddb/dogwood/sync"
)

// signIn is called by the session: it remembers the credential, to look at it again.
// The session calls it from Handle, so c.in is held.
func (c *conn) signIn(_ context.Context, cred dsync.Credential) (dsync.Caller, dsync.SignInInfo, error) {
	in, err := c.rt.opts.Host.SignIn(c.ns, cred)
	if err != nil {
		return dsync.Caller{}, dsync.SignInInfo{}, err
	}
	c.present(in.Credential)
	c.scheduleCheck()
	return in.Caller, in.Info, nil
}

// present makes a credential the one that the client is signed in with. c.in is held.
func (c *conn) present(id auth.Identity) {
	c.credential = id
	if !id.CanEnd() {
		c.presented.Store(nil)
		return
	}
	c.presented.Store(&id)
	if c.rt.opts.Auth.Ended(c.ns, id) != nil { // it was revoked before the watch could see it here
		go c.checkCredential()
	}
}

// scheduleCheck is called with c.in held.
func (c *conn) scheduleCheck() {
	if c.check != nil {
		c.check.Stop()
		c.check = nil
	}
	if wait, ok := c.credential.UntilCheck(c.rt.opts.Now()); ok {
		c.check = time.AfterFunc(wait, c.checkCredential)
	}
}

// checkCredential signs the client out if its credential has ended.
func (c *conn) checkCredential() { c.endCredential(auth.Recheck) }

// endCredential signs the client out if its credential has ended. A client whose request
// does not end for so long, because it does not read, is disconnected. It waits for the
// request under way, since an answer that was begun with the old identity must not come
// after the sign-out.
func (c *conn) endCredential(patience time.Duration) {
	stuck := time.AfterFunc(patience, func() { c.close(expired) })
	c.in.Lock()
	defer c.in.Unlock()
	stuck.Stop()
	if c.closed {
		return
	}
	if err := c.rt.opts.Auth.Ended(c.ns, c.credential); err != nil {
		c.session.Expire(c.rt.opts.Host.TokenError(err))
		c.present(auth.Identity{})
	}
	c.scheduleCheck()
}

// revocationTimeout is how long a request that is under way may take to end when the
// client's credential was revoked.
const revocationTimeout = time.Second

// DismissRevoked signs out the clients whose credential was revoked. Those that cannot
// have been revoked are no suspects.
func (rt *Server) DismissRevoked(suspect func(auth.Identity) bool) {
	for _, c := range rt.all() {
		id := c.presented.Load()
		if id != nil && suspect(*id) && rt.opts.Auth.Ended(c.ns, *id) != nil {
			go c.endCredential(revocationTimeout)
		}
	}
}
