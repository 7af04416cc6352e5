#!/bin/sh
# After a removal. The data in /var/lib/private/dogwood stay, even after a purge: only you
# delete them.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
