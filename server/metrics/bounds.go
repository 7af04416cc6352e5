package metrics

import dsync "github.com/dogwooddb/dogwood/sync"

// Bounds are the bounds of the engine by the reasons under which they are counted.
var Bounds = map[dsync.Bound]Reason{
	dsync.BoundListens:      SessionListens,
	dsync.BoundWindows:      SessionWindows,
	dsync.BoundPending:      SessionDisconnects,
	dsync.BoundWrites:       SessionWrites,
	dsync.BoundQuotaListens: AddressListens,
	dsync.BoundQuotaWindows: AddressWindows,
	dsync.BoundQuotaPending: AddressDisconnects,
	dsync.BoundPathWindows:  PathWindows,
	dsync.BoundValues:       WriteValues,
	dsync.BoundPaths:        WritePaths,
	dsync.BoundMemory:       WriteMemory,

	dsync.BoundCommonPending: Disconnects,
}
