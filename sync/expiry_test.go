package sync

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestExpiryAfterFailure: nodes whose removal could not be stored go when commits work again, and
// not with the nodes that are due next.
func TestExpiryAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(faultyLog)
		db := openTest(t, Options{Change: log})
		deploy(t, db, `"gone": {"expire": "/x/$k", "at": "= data.val()"}`)
		now := time.Now()
		soon, late := now.Add(5*time.Second).UnixMilli(), now.Add(30*24*time.Hour).UnixMilli()
		set(t, db, "/x", fmt.Sprintf(`{"late":%d,"soon":%d}`, late, soon))
		synctest.Wait()
		log.set(true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		want(t, db, "/x/soon", fmt.Sprint(soon))
		log.set(false)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		want(t, db, "/x", fmt.Sprintf(`{"late":%d}`, late))
	})
}
