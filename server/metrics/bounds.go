package metrics

import (
	"github.com/dogwooddb/dogwood/sync/fault"
)

// Bounds are the bounds of the engine by the reasons under which they are counted.
var Bounds = map[fault.Bound]Reason{
	fault.BoundListens:      SessionListens,
	fault.BoundWindows:      SessionWindows,
	fault.BoundPending:      SessionDisconnects,
	fault.BoundWrites:       SessionWrites,
	fault.BoundQuotaListens: AddressListens,
	fault.BoundQuotaWindows: AddressWindows,
	fault.BoundQuotaPending: AddressDisconnects,
	fault.BoundPathWindows:  PathWindows,
	fault.BoundValues:       WriteValues,
	fault.BoundPaths:        WritePaths,
	fault.BoundMemory:       WriteMemory,

	fault.BoundCommonPending: Disconnects,
	fault.BoundCommonListens: Listens,
	fault.BoundQuotaKept:     AddressListens,
}
